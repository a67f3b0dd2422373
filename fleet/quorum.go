package fleet

import "slices"

// QuorumWithout says why e would not have a quorum of healthy voting members
// for certain once member gone is removed; empty when it would.
// Source: Cluster API, KubeadmControlPlane remediation and scale down.
func (e *Etcd) QuorumWithout(gone uint64) string {
	voting, healthy := 0, 0
	for _, m := range e.Members {
		switch {
		case m.ID == gone:
		case m.Learner || m.Name == "":
			return "an etcd member is still joining"
		default:
			voting++
			if m.Healthy {
				healthy++
			}
		}
	}
	switch {
	case voting == 0:
		return "it is the last member of etcd"
	case healthy < voting/2+1:
		return "etcd would lose its quorum"
	}
	return ""
}

// BearsAnother reports whether e keeps its quorum for certain once one more member
// is added, which may never start. A single member has to bear that.
// Source: Cluster API, KubeadmControlPlane, targetEtcdClusterHealthy.
func (e *Etcd) BearsAnother() bool {
	return e.BearsLostJoin() || len(e.Members) == 1 && e.Members[0].Healthy && e.joined()
}

// BearsLostJoin reports whether e keeps its quorum for certain if a machine that is
// joining becomes a voting member and is deleted then. A single member does not bear that.
func (e *Etcd) BearsLostJoin() bool {
	healthy := 0
	for _, m := range e.Members {
		if m.Healthy {
			healthy++
		}
	}
	return e.joined() && healthy >= (len(e.Members)+1)/2+1
}

// Spares reports whether e keeps its quorum for certain if the machine of member gone ends
// and the member stays.
func (e *Etcd) Spares(gone uint64) bool {
	voting, healthy := 0, 0
	for _, m := range e.Members {
		if m.Learner {
			continue
		}
		voting++
		if m.Healthy && m.ID != gone {
			healthy++
		}
	}
	return healthy >= voting/2+1
}

// joined reports whether all members vote.
func (e *Etcd) joined() bool {
	return !slices.ContainsFunc(e.Members, func(m Member) bool { return m.Learner || m.Name == "" })
}

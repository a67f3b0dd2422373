package simulation

import (
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// joins checks that nothing else of the control plane is on its way.
func (j *judgement) joins(facts inmemory.Facts, vm inmemory.VM) {
	if j.upset() {
		return
	}
	for _, e := range facts.Etcd[vm.Network].Members {
		if e.Learner {
			j.violates("NoAddWhileLearner", "member %s is one", e.Name)
		}
	}
	for _, m := range ours(facts, j.key) {
		if m.ID == vm.ID || m.Tags[fleet.TagRole] != string(fleet.RoleControlPlane) {
			continue
		}
		if !m.Deleted && !m.Failed && !m.Stopped && m.Member == 0 {
			j.violates("OneControlPlaneChangeAtATime", "%s is still on its way", m.Name)
		}
	}
}

// takesControlPlane checks that machine m of the control plane may be taken away.
func (j *judgement) takesControlPlane(facts inmemory.Facts, m inmemory.MachineFacts, forGood bool) {
	for _, o := range ours(facts, j.key) {
		if o.ID == m.ID || o.Tags[fleet.TagRole] != string(fleet.RoleControlPlane) {
			continue
		}
		if !o.Deleted && !o.Failed && !o.Stopped && o.Member == 0 && !m.Failed && !m.Stopped && m.Member != 0 {
			j.violates("OneControlPlaneChangeAtATime", "%s is still on its way", o.Name)
		}
	}
	etcd := facts.Etcd[m.Network]
	voter := slices.ContainsFunc(etcd.Members, func(e fleet.Member) bool { return e.ID == m.Member && !e.Learner && e.Healthy })
	if forGood && voter && etcd.Quorum && !j.neverAnswered(ours(facts, j.key)) {
		j.violates("EtcdQuorumKept", "%s is a member of etcd", m.Name)
	}
}

// neverAnswered reports whether there is only one machine of a cluster that had never
// answered an agent when the change was decided on: for all that could be known it never
// was one, and it is replaced where it is outdated. A cluster that answered before that
// landed is lost.
func (j *judgement) neverAnswered(machines []inmemory.MachineFacts) bool {
	j.life.mu.Lock()
	defer j.life.mu.Unlock()
	heard := j.life.heard[j.key]
	machines = slices.DeleteFunc(machines, func(m inmemory.MachineFacts) bool { return m.Created.After(j.turn.began) })
	if len(machines) != 1 || !heard.IsZero() && !heard.After(j.turn.began) {
		return false
	}
	j.life.ended[j.key] = j.life.ended[j.key] || !heard.IsZero()
	return true
}

// forget has the next cluster of the same name be new, once the last machine of this one is gone.
func (j *judgement) forget() {
	facts := j.life.truth()
	j.life.mu.Lock()
	defer j.life.mu.Unlock()
	if len(ours(facts, j.key)) == 0 {
		delete(j.life.heard, j.key)
	}
}

// removesMemberOn checks that etcd can do without the members on a Node that is deleted,
// where these go with it: K3s and RKE2 call them as the Node and 8 digits.
func (j *judgement) removesMemberOn(node string) {
	if !j.life.others {
		return
	}
	for _, etcd := range j.life.etcd(j.key) {
		for _, e := range etcd.Members {
			if i := strings.LastIndexByte(e.Name, '-'); i > 0 && e.Name[:i] == node {
				j.removesMember(e.ID)
			}
		}
	}
}

// removesMember checks that etcd can do without a member.
func (j *judgement) removesMember(id uint64) {
	for _, m := range ours(j.life.cloud.Facts(), j.key) {
		if m.Member == id && !m.Deleted {
			j.leavesHeld(m.ID)
		}
	}
	if j.deleting() || j.upset() {
		return
	}
	j.leavesMemberOf(id)
	for _, etcd := range j.life.etcd(j.key) {
		voters, healthy := 0, 0
		for _, e := range etcd.Members {
			if !e.Learner && e.ID != id {
				voters++
				if e.Healthy {
					healthy++
				}
			}
		}
		if etcd.Quorum && healthy < voters/2+1 {
			j.violates("EtcdQuorumKept", "it leaves %d healthy members of %d", healthy, voters)
		}
	}
}

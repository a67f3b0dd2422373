package hosts

import (
	"fmt"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// A host that does not answer may carry a machine. To call it free would make the
// machine a second time; to give up would leave a whole fleet alone for one broken
// host. So other hosts take notes of claims:
//
// Before a host of a pool of N hosts is claimed, at least N/2 of the other hosts take a
// note of the claim. As long as (N+1)/2 hosts answer, at most N/2 are silent. The one
// that was claimed is among the silent ones, so at most N/2-1 of those that have the
// note are: at least one host that answers has it. With fewer answers nothing is
// known, and a look fails.

// An observedHost is what one look at a host gave.
type observedHost struct {
	host  *machineHost
	state *host.State // nil: it did not answer, err says why, or it is lost
	err   error
}

func (s *observedHost) answers() bool { return s.state != nil }

// silent reports whether the host should have answered and did not.
func (s *observedHost) silent() bool { return s.state == nil && !s.host.Lost }

// holds reports whether a note of claim is on the host.
func (s *observedHost) holds(claim *host.Claim) bool {
	return s.answers() && slices.ContainsFunc(s.state.Notes, func(n host.Claim) bool { return n.NoteName() == claim.NoteName() })
}

// notes reports whether a note on the host, which answers, says what k does.
func (s *observedHost) notes(k *host.Claim) bool {
	return slices.ContainsFunc(s.state.Notes, func(n host.Claim) bool { return n.Same(k) })
}

// A roster is the list of all hosts of a namespace, with what was seen of each.
type roster []*observedHost

// pool returns those of one pool that are not lost.
func (r roster) pool(name string) roster {
	var out roster
	for _, s := range r {
		if s.host.Pool == name && !s.host.Lost {
			out = append(out, s)
		}
	}
	return out
}

func (r roster) find(pool, name string) *observedHost {
	for _, s := range r {
		if s.host.Pool == pool && s.host.Name == name {
			return s
		}
	}
	return nil
}

// answering returns those that answered.
func (r roster) answering() roster {
	return slices.DeleteFunc(slices.Clone(r), func(s *observedHost) bool { return !s.answers() })
}

// witnesses returns those hosts of the pool that may hold notes of the host called
// name, and how many of them have to.
func (r roster) witnesses(pool, name string) (others roster, enough int) {
	all := r.pool(pool)
	others = slices.DeleteFunc(slices.Clone(all), func(s *observedHost) bool { return s.host.Name == name })
	return others, (len(others) + 1) / 2
}

// checkQuorum returns an error unless enough hosts of each pool answered. A pool that is
// nothing but the host of the cluster's load balancer carries no machine that could be
// forgotten.
func (r roster) checkQuorum(spec *api.HostClusterSpec) error {
	for i, s := range r {
		if i > 0 && s.host.Pool == r[i-1].host.Pool {
			continue
		}
		all := r.pool(s.host.Pool)
		if l := spec.LoadBalancer; l != nil && len(all) == 1 && l.PoolName == s.host.Pool && l.HostName == all[0].host.Name {
			continue
		}
		var first *observedHost
		silent := 0
		for _, o := range all {
			if o.silent() {
				silent++
				// A problem that a person can fix is reported before one that may pass.
				if first == nil || fleet.KindOf(first.err) != fleet.Unauthorized && fleet.KindOf(o.err) == fleet.Unauthorized {
					first = o
				}
			}
		}
		if first != nil && len(all)-silent < (len(all)+1)/2 {
			kind := fleet.Unavailable
			if fleet.KindOf(first.err) == fleet.Unauthorized {
				kind = fleet.Unauthorized
			}
			return fleet.Errorf(kind, "know what is on the hosts of HostPool "+s.host.Pool,
				"%d of %d do not answer, and the others cannot tell for so many: %w (bring them back, or set lost: true for those that are switched off or gone permanently)",
				silent, len(all), first.err)
		}
	}
	return nil
}

// A hostMachine is a machine of a cluster: a claim on a host, or what others note of it.
type hostMachine struct {
	claim     host.Claim
	host      *machineHost // nil: Git does not have it any more
	state     *host.State  // nil: it does not answer, and others note the claim
	err       error        // why it does not
	releasing bool         // notes say that the machine is to be removed
	forged    string       // why the claim may be false; nothing is done because of it
}

// machines returns those of c, in the order of hosts.
func (r roster) machines(c *fleet.Cluster) []hostMachine {
	var out []hostMachine
	there := make(map[string]bool) // by id of the claim; two names may lead to one host
	for _, s := range r.answering() {
		if k := s.state.Claim; k != nil && c.Owns(k.Tags) && r.ofMachine(s) && !there[k.ID] {
			there[k.ID] = true
			f := hostMachine{claim: *k, host: s.host, state: s.state}
			f.forged, f.releasing = r.doubt(s), r.toRelease(k)
			out = append(out, f)
		}
	}
	for _, n := range r.notes(c) {
		target := r.find(n.claim.Pool, n.claim.Host)
		switch {
		case there[n.claim.ID]:
			continue
		case target == nil && n.claim.Releasing:
			continue // it was removed, then the host left the pool
		case target != nil && (target.answers() || target.host.Lost):
			continue // the host tells itself, or a person did
		}
		others, enough := r.witnesses(n.claim.Pool, n.claim.Host)
		silent := 0
		for _, o := range others {
			if o.silent() {
				silent++
			}
		}
		if n.held+silent < enough {
			continue // so few took the note that no claim followed
		}
		f := hostMachine{claim: n.claim, releasing: n.claim.Releasing, forged: n.doubt}
		if target != nil {
			f.host, f.err = target.host, target.err
		}
		out = append(out, f)
	}
	return out
}

// fresh is how long a note may wait for the claim that it announces.
const announceTimeout = 10 * time.Minute

// staleNotes returns the names of notes of c's machines that tell nothing any more.
func (r roster) staleNotes(c *fleet.Cluster, now time.Time) []string {
	var out []string
	for _, n := range r.notes(c) {
		target := r.find(n.claim.Pool, n.claim.Host)
		over := now.Sub(n.claim.Created) > announceTimeout
		switch {
		case slices.ContainsFunc(r, func(s *observedHost) bool {
			return s.answers() && s.state.Claim != nil && s.state.Claim.ID == n.claim.ID
		}):
			over = false
		case target == nil:
			over = n.claim.Releasing
		case target.host.Lost:
			over = true
		case !target.answers():
			over = false
		}
		if over {
			out = append(out, n.claim.NoteName())
		}
	}
	slices.Sort(out)
	return out
}

// missingNotes returns the machines of c that too few of the hosts which answer hold a
// note of.
func (r roster) missingNotes(c *fleet.Cluster) []hostMachine {
	return slices.DeleteFunc(r.machines(c), func(f hostMachine) bool {
		others, enough := r.witnesses(f.claim.Pool, f.claim.Host)
		answering := others.answering()
		held := len(slices.DeleteFunc(slices.Clone(answering), func(s *observedHost) bool { return !s.holds(&f.claim) }))
		return f.state == nil || f.forged != "" || held >= min(enough, len(answering))
	})
}

// shared returns the hosts that hold the note of what c's machines share.
func (r roster) shared(c *fleet.Cluster) roster {
	note := sharedNote(c, "")
	return slices.DeleteFunc(r.answering(), func(s *observedHost) bool { return !s.holds(&note) })
}

// sharedNote is the note that the infrastructure of c was made.
func sharedNote(c *fleet.Cluster, op fleet.OperationID) host.Claim {
	tags := c.Tags()
	tags[fleet.TagOperation] = string(op)
	return host.Claim{Tags: tags}
}

// machine returns what the planner knows of f.
func (f *hostMachine) machine() fleet.Machine {
	m := fleet.MachineFromTags(f.claim.Tags)
	m.ProviderID, m.FailureDomain, m.Created = f.claim.ProviderID(), f.claim.Domain, f.claim.Created
	if f.forged != "" && m.Damaged == "" {
		m.Damaged = "the claim may be forged: " + f.forged
	}
	if f.host != nil {
		m.Addresses = []string{f.host.Address}
	}
	if f.state == nil {
		m.State, m.Silent = fleet.MachineRunning, true
		if f.releasing {
			m.State = fleet.MachineDeleting
		}
		if f.host == nil {
			m.Message = fmt.Sprintf("its host %s is in no HostPool any more (put it back until the machine is deleted, with lost: true if it is gone)", f.claim.Host)
		} else {
			m.Message = fmt.Sprintf("its host does not answer: %v (if it is switched off or gone permanently, set lost: true for it)", f.err)
		}
		return m
	}
	for _, a := range f.state.Addresses {
		if !slices.Contains(m.Addresses, a) {
			m.Addresses = append(m.Addresses, a)
		}
	}
	switch f.state.Progress {
	case host.Waiting:
		m.State, m.Message = fleet.MachinePending, "the host is claimed, and the user data is not being run yet"
	case host.Running, host.Done:
		m.State = fleet.MachineRunning
	case host.Failed, host.Interrupted:
		m.State, m.Message = fleet.MachineFailed, f.state.Result+quoteLog(f.state.Log)
	case host.Releasing, host.Stalled:
		m.State = fleet.MachineDeleting
		if f.state.Progress == host.Stalled {
			m.Message = "cleaning the host did not come to its end" + quoteLog(f.state.Log)
		}
	}
	if f.releasing {
		m.State = fleet.MachineDeleting
	}
	m.Interrupted = f.interrupted()
	return m
}

package hosts

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// Root of one host writes what it likes into its own claim and into its notes of
// others. So no single host is believed about another: what a claim is, and that its
// machine is to go, is what most of those say that may know it.

// A noteCount is a note of a machine of a cluster, and how many hosts hold it.
type noteCount struct {
	claim host.Claim
	held  int
	doubt string // why it may be false
}

// notes returns those of machines of c, in the order in which hosts hold them; of
// those with one id, what most hosts say.
func (r roster) notes(c *fleet.Cluster) []noteCount {
	var ids []string
	variants := make(map[string][]noteCount)
	for _, s := range r.answering() {
		said := make(map[string]bool) // a host has one say of each claim, however many notes it keeps
		for i := range s.state.Notes {
			n := s.state.Notes[i]
			if !c.Owns(n.Tags) || n.Host == "" || !r.mayNote(s, &n) {
				continue
			}
			if said[n.ID] {
				continue
			}
			said[n.ID] = true
			if _, known := variants[n.ID]; !known {
				ids = append(ids, n.ID)
			}
			list := variants[n.ID]
			at := slices.IndexFunc(list, func(o noteCount) bool { return o.claim.Same(&n) })
			if at < 0 {
				n.Releasing = false
				at, list = len(list), append(list, noteCount{claim: n})
			}
			list[at].held++
			variants[n.ID] = list
		}
	}
	out := make([]noteCount, 0, len(ids))
	for _, id := range ids {
		list := variants[id]
		slices.SortStableFunc(list, func(a, b noteCount) int { return b.held - a.held })
		best := list[0]
		best.claim.Releasing = r.toRelease(&best.claim)
		best.doubt = best.claim.Damage()
		if best.doubt == "" && len(list) > 1 && list[1].held == best.held {
			best.doubt = "the other hosts note it in different ways"
		}
		out = append(out, best)
	}
	return out
}

// toRelease reports whether the machine of k is to be removed, as most of the hosts say
// that note it in its pool. One whose removal too few noted is removed when that is
// decided again.
func (r roster) toRelease(k *host.Claim) bool {
	others, _ := r.witnesses(k.Pool, k.Host)
	answering, say := others.answering(), 0
	for _, o := range answering {
		if slices.ContainsFunc(o.state.Notes, func(n host.Claim) bool { return n.Same(k) && n.Releasing }) {
			say++
		}
	}
	return 2*say > len(answering)
}

// mayNote reports whether the note n on s counts: Fairlead has hosts of its pool alone
// take it. Of a pool that left Git the hosts that went over to others may tell.
func (r roster) mayNote(s *observedHost, n *host.Claim) bool {
	return s.host.Pool == n.Pool || len(r.pool(n.Pool)) == 0
}

// agreeing returns how many of the other hosts that may note the claim of s note it
// unchanged, and how many note another one with its id.
func (r roster) agreeing(s *observedHost) (agree, differ int) {
	k := s.state.Claim
	for _, o := range r.electors(k, s) {
		switch {
		case o.notes(k):
			agree++
		case slices.ContainsFunc(o.state.Notes, func(n host.Claim) bool { return n.ID == k.ID }):
			differ++
		}
	}
	return agree, differ
}

// electors returns the hosts that answer and may note k, which is on s; s is nil where
// only notes tell of it. Those are the others of the pool that k names, which is another
// one than that of s where the host went over to it; k may name any that Git does not
// have. A host has no say about itself, by whatever name.
func (r roster) electors(k *host.Claim, s *observedHost) roster {
	of := func(pool string) roster {
		others, _ := r.witnesses(pool, k.Host)
		return slices.DeleteFunc(others.answering(), func(o *observedHost) bool {
			return s != nil && o.state.Claim != nil && o.state.Claim.ID == k.ID
		})
	}
	if list := of(k.Pool); len(list) > 0 || s == nil {
		return list
	}
	return of(s.host.Pool)
}

// doubt returns why the claim on s may be false, or "".
func (r roster) doubt(s *observedHost) string {
	k := s.state.Claim
	if d := k.Damage(); d != "" {
		return d
	}
	if agree, differ := r.agreeing(s); differ > agree {
		return "the other hosts of its pool note another claim with that id"
	}
	// The claim names a host that has another one: it was copied, or made up.
	named := r.find(k.Pool, k.Host)
	if named != nil && named != s && named.answers() && (named.state.Claim == nil || named.state.Claim.ID != k.ID) {
		return "it is that of host " + named.host.String()
	}
	return ""
}

// ofMachine reports whether the claim on s is that of a machine, by what it says or by
// what other hosts note of it. Where a load balancer runs, it is that of one: a note
// that says otherwise would have the load balancer stand still.
func (r roster) ofMachine(s *observedHost) bool {
	k := s.state.Claim
	return k.OfMachine() || s.state.Balanced == "" && slices.ContainsFunc(r.answering(), func(o *observedHost) bool {
		return slices.ContainsFunc(o.state.Notes, func(n host.Claim) bool { return n.ID == k.ID && n.OfMachine() })
	})
}

// noted returns the claim on the host of f as most of the other hosts of its pool note
// it; nil where they do not agree, or note another host. The host itself has no say.
func (r roster) noted(f *hostMachine) *host.Claim {
	if f.state == nil || f.host == nil {
		return nil
	}
	others, _ := r.witnesses(f.host.Pool, f.host.Name)
	answering := others.answering()
	for _, o := range answering {
		for i := range o.state.Notes {
			n := &o.state.Notes[i]
			if n.ID != f.claim.ID || n.Pool != f.host.Pool || n.Host != f.host.Name || n.Damage() != "" {
				continue
			}
			agree := slices.DeleteFunc(slices.Clone(answering), func(o *observedHost) bool { return !o.notes(n) })
			if 2*len(agree) > len(answering) {
				return n
			}
		}
	}
	return nil
}

// vouched reports whether as many other hosts note the claim of f as Fairlead has note
// one before it is made, or whether there is none that could. Hosts that came to the
// pool since, and note nothing of c yet, are not asked. Where the host does not answer,
// or is of another pool by now, its own word is not among them: more than half have to.
func (r roster) vouched(c *fleet.Cluster, f *hostMachine) bool {
	var on *observedHost
	if f.state != nil {
		on = r.find(f.host.Pool, f.host.Name)
	}
	electors := r.electors(&f.claim, on)
	if len(electors) == 0 {
		return true
	}
	pool, shared := electors[0].host.Pool, sharedNote(c, "")
	know, held := 0, 0
	for _, o := range electors {
		notes := o.notes(&f.claim)
		if notes {
			held++
		}
		if notes || o.holds(&shared) {
			know++
		}
	}
	enough := max(1, min(len(r.pool(pool))/2, know))
	return held >= enough && (2*held > know || on != nil && on.host.Pool == pool)
}

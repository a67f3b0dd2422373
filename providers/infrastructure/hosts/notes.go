package hosts

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/host"
)

// Root of one host writes what it likes into its own claim and into its notes of
// others. So no single host is believed about another: what a claim is, and that its
// machine is to go, is what most of those say that may know it.

// noted is a note of a machine of a cluster, and how many hosts hold it.
type noted struct {
	claim host.Claim
	held  int
	doubt string // why it may not be what it says
}

// notes returns those of machines of c, in the order in which hosts hold them; of
// those with one id, what most hosts say.
func (r roster) notes(c *fleet.Cluster) []noted {
	var ids []string
	variants := make(map[string][]noted)
	for _, s := range r.answering() {
		for i := range s.state.Notes {
			n := s.state.Notes[i]
			if !c.Owns(n.Tags) || n.Host == "" {
				continue
			}
			if _, known := variants[n.ID]; !known {
				ids = append(ids, n.ID)
			}
			list := variants[n.ID]
			at := slices.IndexFunc(list, func(o noted) bool { return o.claim.Same(&n) })
			if at < 0 {
				n.Releasing = false
				at, list = len(list), append(list, noted{claim: n})
			}
			list[at].held++
			variants[n.ID] = list
		}
	}
	out := make([]noted, 0, len(ids))
	for _, id := range ids {
		list := variants[id]
		slices.SortStableFunc(list, func(a, b noted) int { return b.held - a.held })
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

// agreeing returns how many of the other hosts note the claim of s as it is, and how
// many note another one with its id.
func (r roster) agreeing(s *seen) (agree, differ int) {
	k := s.state.Claim
	for _, o := range r.answering() {
		for i := range o.state.Notes {
			switch n := &o.state.Notes[i]; {
			case o == s || n.ID != k.ID:
			case n.Same(k):
				agree++
			default:
				differ++
			}
		}
	}
	return agree, differ
}

// doubt says why the claim on s may not be what it says, or "".
func (r roster) doubt(s *seen) string {
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

// ofMachine reports whether k is the claim of a machine, by what it says or by what
// other hosts note of it.
func (r roster) ofMachine(k *host.Claim) bool {
	return k.OfMachine() || slices.ContainsFunc(r.answering(), func(s *seen) bool {
		return slices.ContainsFunc(s.state.Notes, func(n host.Claim) bool { return n.ID == k.ID && n.OfMachine() })
	})
}

// noted returns the claim on the host of f as most of the other hosts of its pool note
// it; nil where they do not agree, or note another host. The host itself has no say.
func (r roster) noted(f *found) *host.Claim {
	if f.state == nil || f.host == nil {
		return nil
	}
	others, _ := r.witnesses(f.host.Pool, f.host.Name)
	answering := others.answering()
	var first *host.Claim
	agree := 0
	for _, o := range answering {
		for i := range o.state.Notes {
			n := &o.state.Notes[i]
			if n.ID != f.claim.ID || n.Pool != f.host.Pool || n.Host != f.host.Name || n.Damage() != "" {
				continue
			}
			if first == nil {
				first = n
			}
			if n.Same(first) {
				agree++
			}
		}
	}
	if 2*agree <= len(answering) {
		return nil
	}
	return first
}

// vouched reports whether another host notes the claim of f, which it did before the
// claim was made, or whether there is none that could.
func (r roster) vouched(f *found) bool {
	others, _ := r.witnesses(f.claim.Pool, f.claim.Host)
	answering := others.answering()
	return len(answering) == 0 || slices.ContainsFunc(answering, func(o *seen) bool {
		return slices.ContainsFunc(o.state.Notes, func(n host.Claim) bool { return n.Same(&f.claim) })
	})
}

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/text"
)

// A site is one provider that the cluster has machines on: the first site, whose provider
// is empty as in Pool.Provider, or a guest.
type site struct {
	provider string
	seen     fleet.Infrastructure // without machines, where it is a guest
	// away says why nothing is known of what is there; empty: all of it is. Nothing that
	// depends on it is done then, and absence proves nothing.
	away   string
	known  fleet.GuestMemory // of a guest
	inUse  bool              // Git has pools there
	settle time.Duration
}

// findSites tells the sites apart, the first site first.
func (f *facts) findSites() {
	f.sites = []*site{{seen: f.Observed.Infrastructure, away: f.Observed.Silence, inUse: true, settle: f.Settle}}
	f.sites[0].seen.Machines = nil
	add := func(provider string) *site {
		s := &site{provider: provider, inUse: f.Desired.InUse(provider), settle: f.settleOf(provider)}
		s.known, _ = f.Memory.Residence.Guest(provider)
		f.sites = append(f.sites, s)
		return s
	}
	for i := range f.Observed.Guests {
		o := &f.Observed.Guests[i]
		s := add(o.Provider)
		s.seen, s.away = o.Infrastructure, o.Silence
		if home := firstPlace(s.known.Places); s.away == "" && home != "" && len(s.seen.Places) > 0 && s.seen.Places[0].ID != home {
			s.away = fmt.Sprintf("the cluster's machines on %s are in %s, and the credentials lead to %s: put back the credentials, or, if the former is gone permanently, annotate the Cluster with %s: %s",
				o.Provider, home, s.seen.Places[0].ID, fleet.ForgetPlaceAnnotation, home)
		}
	}
	for _, provider := range f.Desired.GuestProviders() {
		if f.site(provider) == nil {
			add(provider).away = "it was not observed"
		}
	}
}

func firstPlace(places []fleet.Place) string {
	if len(places) == 0 {
		return ""
	}
	return places[0].ID
}

// site returns the site of a provider; nil: there is none.
func (f *facts) site(provider string) *site {
	i := slices.IndexFunc(f.sites, func(s *site) bool { return s.provider == provider })
	if i < 0 {
		return nil
	}
	return f.sites[i]
}

// guests returns all sites but the first.
func (f *facts) guests() []*site { return f.sites[1:] }

// away says why nothing is known of the machines of g; empty: all of them are seen.
func (f *facts) away(g *group) string {
	if g.pool == nil {
		return ""
	}
	if s := f.site(g.pool.Provider); s != nil {
		return s.away
	}
	return "it was not observed"
}

// unseen returns a site that is away and may have machines of the cluster, or nil. One that
// nothing was asked of yet has none.
func (f *facts) unseen() *site {
	for _, s := range f.sites {
		_, known := f.Memory.Residence.Guest(s.provider)
		asked := slices.ContainsFunc(f.Attempts, func(a fleet.Attempt) bool { return a.Action.Provider == s.provider })
		if s.away != "" && (s.provider == "" || known || asked || f.Memory.Residence.IsZero()) {
			return s
		}
	}
	return nil
}

// title is what people call s.
func (f *facts) title(s *site) string { return "site " + cmp.Or(s.provider, f.Desired.Provider) }

// poolsOn names the pools that Git has on s.
func (f *facts) poolsOn(s *site) string {
	var names []string
	for _, p := range f.Desired.Pools() {
		if p.Provider == s.provider {
			names = append(names, string(p.Name))
		}
	}
	if s.provider == "" {
		for _, p := range f.Desired.KeptPools {
			names = append(names, string(p.Name))
		}
	}
	return text.Some(names)
}

// sitesProblem says which sites are away or not ready, and why; empty where all are well.
func (f *facts) sitesProblem() (reason, message string) {
	var away, unready []string
	for _, s := range f.sites {
		switch {
		case s.away != "":
			away = append(away, f.title(s)+": "+s.away)
		case s.provider != "" && s.inUse && !s.seen.Ready:
			unready = append(unready, f.title(s)+" is not ready"+because(s.seen.Message))
		}
	}
	if len(away) > 0 {
		return "SiteAway", strings.Join(append(away, unready...), "; ")
	}
	return "SiteNotReady", strings.Join(unready, "; ")
}

// sitesCondition tells which sites are away or not ready. It is there while one is.
func (f *facts) sitesCondition(l *ledger) {
	if len(f.sites) == 1 {
		return
	}
	if reason, message := f.sitesProblem(); message != "" {
		l.set("SitesReady", false, "", reason, message)
	}
}

// noteAway says which sites are away, and what stays unchanged for that.
func (d *draft) noteAway() {
	for _, s := range d.sites {
		if s.away == "" {
			continue
		}
		stays := "what is there stays"
		if pools := d.poolsOn(s); pools != "" {
			stays = "its pools do not change: " + pools
		}
		d.note("%s is away, and %s (%s)", d.title(s), stays, s.away)
	}
}

// keepSites makes what workers share on guests that have pools, and removes what is left
// on those that have none. Machines reach the API server from there, so that nothing is
// made before it is known where that is.
func (d *draft) keepSites() {
	e := d.Observed.Infrastructure.Endpoint
	if e.IsZero() {
		e = d.residence.Endpoint
	}
	for _, s := range d.guests() {
		switch {
		case s.away != "":
		case !s.inUse:
			d.leaveSite(s)
		case e.IsZero():
			d.wait("%s waits until it is known where the API server is", d.title(s))
		case !s.seen.Ready:
			reason := "the cluster has pools on " + s.provider
			if s.seen.Exists {
				reason = d.title(s) + " is not ready"
				d.wait("%s is not ready%s", d.title(s), because(s.seen.Message))
			}
			d.request(fleet.Action{Kind: fleet.EnsureInfrastructure, Provider: s.provider, Reason: reason})
		default:
			d.mendDrift(s)
		}
	}
}

// leaveSite removes what is shared on a guest once nothing is on it.
func (d *draft) leaveSite(s *site) {
	if !s.seen.Exists {
		d.wakeToForget(s)
		return
	}
	if !d.emptied(s) {
		return
	}
	d.request(fleet.Action{Kind: fleet.DeleteInfrastructure, Provider: s.provider, Reason: "no pool is on " + s.provider + " any more, and its machines are gone"})
}

// wakeToForget asks for a look when nothing that was asked of s can show any more: what
// is remembered of a site that left is forgotten then, and the next look may be far away.
func (d *draft) wakeToForget(s *site) {
	for _, a := range d.Attempts {
		if left := s.settle - d.Now.Sub(a.At); a.Action.Provider == s.provider && left > 0 {
			d.wake(left)
		}
	}
}

// emptied reports whether no machine is on s, and none may still appear there.
func (d *draft) emptied(s *site) bool {
	if slices.ContainsFunc(d.machines, func(m *machine) bool { return m.Provider == s.provider }) || d.unsettledOn(s.provider) {
		return false
	}
	return !slices.ContainsFunc(d.Attempts, func(a fleet.Attempt) bool {
		return a.Action.Kind == fleet.CreateMachine && a.Action.Provider == s.provider && d.recent(a, s.settle)
	})
}

// deleteGuests deletes what machines shared on guests, and reports whether there is any.
func (d *draft) deleteGuests() bool {
	found := false
	for _, s := range d.guests() {
		if s.seen.Exists {
			found = true
			d.request(fleet.Action{Kind: fleet.DeleteInfrastructure, Provider: s.provider, Reason: "the cluster is to be deleted, and its machines are gone"})
		}
	}
	return found
}

// awaitSites reports whether a deletion waits for a site that may have machines, and that
// cannot be observed.
func (d *draft) awaitSites() bool {
	s := d.unseen()
	switch {
	case s == nil:
		return false
	case s.provider == "":
		d.wait("the deletion waits for %s, where machines of the cluster may be", d.title(s))
	default:
		d.wait("the deletion waits for %s, where machines of the cluster may be; if it is gone permanently, annotate the Cluster with %s: %s and take its objects out of Git",
			d.title(s), fleet.ForgetPlaceAnnotation, s.provider)
	}
	return true
}

// sitesDone reports whether all guests are in their desired state.
func (f *facts) sitesDone() bool {
	for _, s := range f.guests() {
		if s.inUse && !s.seen.Ready || !s.inUse && s.seen.Exists {
			return false
		}
	}
	return f.unseen() == nil
}

// rememberGuests notes which guests have something of the cluster, or may, and what leads
// there. What was noted of one that is away stays.
func (f *facts) rememberGuests() {
	var out []fleet.GuestMemory
	for _, s := range f.guests() {
		old, known := f.Memory.Residence.Guest(s.provider)
		there := slices.ContainsFunc(f.machines, func(m *machine) bool { return m.Provider == s.provider })
		asked := slices.ContainsFunc(f.Attempts, func(a fleet.Attempt) bool {
			return a.Action.Provider == s.provider && f.recent(a, s.settle)
		})
		switch {
		case s.away != "":
			if known {
				out = append(out, old)
			}
		case s.inUse && !f.deleting(), there, asked, s.seen.Exists, known && !f.settled():
			g := old
			if i := slices.IndexFunc(f.Desired.Guests, func(o fleet.Site) bool { return o.Provider == s.provider }); i >= 0 {
				g = f.Desired.Guests[i].Remembered()
				g.Fingerprint = old.Fingerprint
			}
			if len(s.seen.Places) > 0 {
				g.Places = f.places(s)
			}
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b fleet.GuestMemory) int { return strings.Compare(a.Provider, b.Provider) })
	f.residence.Guests = out
}

// versionsUnseen returns the oldest version that a Node has which no machine is known for:
// pools of a site that is away may have such machines. It is empty where there is none.
func (f *facts) versionsUnseen() string {
	oldest := ""
	for _, n := range f.orphanNodes {
		if oldest == "" || NewerMinor(oldest, n.KubeletVersion) {
			oldest = n.KubeletVersion
		}
	}
	return oldest
}

// knownInitialized reports whether there is a control plane though its machines cannot be
// observed: it answers, and is remembered.
func (f *facts) knownInitialized() bool {
	return f.sites[0].away != "" && f.Observed.Workload.Reachable && f.residence.ControlPlane == fleet.InitializedOnce
}

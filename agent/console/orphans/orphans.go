package orphans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/loop/desired"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/sources/status"
)

// Options say what to scan. All are required.
type Options struct {
	Fleet  fleet.Fleet   // all of it, rendered
	Status status.Status // what the status branch says
	// Open returns the provider of that name.
	Open func(name string) (providers.Infrastructure, error)
}

// A Scan is a look for orphans over all providers of a fleet.
type Scan struct {
	id        fleet.ID
	revision  string
	clusters  map[string][]*fleet.Cluster // by provider
	providers []string                    // sorted
	open      func(string) (providers.Infrastructure, error)

	recorded bool               // whether the status branch says anything
	settled  map[fleet.Key]bool // clusters in Git that nothing is being made for
	gone     map[fleet.Key]bool // clusters on the status branch that are not in Git
	vanished []fleet.Key        // those of them that are not deleted, sorted

	orphans []fleet.Orphan
	passed  int // orphans that were passed over: too young, or of a cluster in change
	notes   []string
}

// New returns a scan of a fleet that is known in full: a fleet with problems is an error.
func New(o Options) (*Scan, error) {
	want := desired.Of(o.Status, o.Fleet, time.Now())
	problems := slices.Concat(o.Fleet.Problems, want.Problems)
	if len(problems) > 0 {
		return nil, fmt.Errorf("cannot tell orphans from resources of unreadable clusters: the fleet has %s: %s. Run 'fairlead validate' to list all problems", output.Count(len(problems), "problem"), problems[0])
	}
	s := &Scan{
		id: o.Fleet.ID, revision: o.Fleet.Revision.String(), open: o.Open, recorded: o.Status.Owner.Agent != "",
		clusters: map[string][]*fleet.Cluster{}, settled: map[fleet.Key]bool{}, gone: map[fleet.Key]bool{},
	}
	s.classify(o.Fleet.Clusters, o.Status.Clusters, want.Pruned)
	// What the owner lives in is no leftover, even if it was forgotten by Git, or by a status
	// branch that was written again.
	if home, ok := ownership.HomeOf(o.Status.Owner.Agent); ok && !s.gone[home] {
		if _, inGit := s.settled[home]; !inGit {
			s.gone[home] = true
			s.vanished = append(s.vanished, home)
		}
	}
	slices.Sort(s.providers)
	slices.SortFunc(s.vanished, fleet.Key.Compare)
	return s, nil
}

// Recorded reports whether the status branch says anything: without it, a cluster that
// was removed from Git cannot be told from leftovers.
func (s *Scan) Recorded() bool { return s.recorded }

// Vanished returns the clusters that are not in Git any more and that no request asks to
// delete. They are never removed.
func (s *Scan) Vanished() []fleet.Key { return s.vanished }

// classify tells clusters in Git, with where they live, from those that the status
// branch alone has, of which those of pruned are to be deleted.
func (s *Scan) classify(clusters []fleet.Cluster, recorded []status.Cluster, pruned []fleet.Report) {
	lives := make(map[fleet.Key]fleet.Residence, len(recorded))
	for _, c := range recorded {
		lives[c.Report.Cluster] = c.Report.Residence
	}
	for i := range clusters {
		c := clusters[i].WithResidence(lives[clusters[i].Key])
		s.settled[c.Key] = false
		s.clusters[c.Provider] = append(s.clusters[c.Provider], c.At(""))
		for _, guest := range c.GuestProviders() {
			s.clusters[guest] = append(s.clusters[guest], c.At(guest))
		}
		s.ask(c.Providers()...)
	}
	for _, c := range recorded {
		k := c.Report.Cluster
		if _, inGit := s.settled[k]; inGit {
			s.settled[k] = c.Report.Phase == fleet.PhaseProvisioned || c.Report.Phase == fleet.PhaseDeleted
			continue
		}
		if c.Report.Phase == fleet.PhaseDeleted {
			continue
		}
		s.gone[k] = true
		if len(c.Report.Residence.Places) > 0 {
			s.notes = append(s.notes, wasIn(c.Report))
		}
		if !slices.ContainsFunc(pruned, func(r fleet.Report) bool { return r.Cluster == k }) {
			s.vanished = append(s.vanished, k)
		}
		s.ask(c.Report.Provider)
		for _, g := range c.Report.Residence.Guests {
			s.ask(g.Provider)
		}
	}
}

// ask has providers asked for orphans.
func (s *Scan) ask(names ...string) {
	for _, name := range names {
		if name != "" && !slices.Contains(s.providers, name) {
			s.providers = append(s.providers, name)
		}
	}
}

// wasIn tells where a cluster was that is not in Git any more: Git does not lead
// there for it.
func wasIn(r fleet.Report) string {
	places := make([]string, 0, len(r.Residence.Places))
	for _, p := range r.Residence.Places {
		places = append(places, p.ID)
	}
	return fmt.Sprintf("cluster %s, which is not in Git, was in %s: what is there shows where clusters in Git lead there", r.Cluster, strings.Join(places, ", "))
}

// Look asks each provider. An error says what could not be looked at; what was found
// elsewhere stands.
func (s *Scan) Look(ctx context.Context, now time.Time) error {
	var errs []error
	for _, name := range s.providers {
		p, err := s.open(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		remover := providers.AbilitiesOf(p).OrphanRemover
		if remover == nil {
			s.notes = append(s.notes, "the provider "+name+" cannot look for orphans")
			continue
		}
		found, err := remover.Orphans(ctx, s.id, s.clusters[name])
		errs = append(errs, err)
		for _, o := range found {
			if s.early(o, now, p.Settle()) {
				s.passed++
				continue
			}
			s.orphans = append(s.orphans, o)
		}
	}
	if s.passed > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s passed over: too young, or of a cluster that is being made or changed; look again later", output.Count(s.passed, "thing")))
	}
	return errors.Join(errs...)
}

// early reports whether o may still become a part of something.
func (s *Scan) early(o fleet.Orphan, now time.Time, settle time.Duration) bool {
	if settled, inGit := s.settled[o.Cluster]; inGit && !settled {
		return true
	}
	return !o.Created.IsZero() && now.Sub(o.Created) < settle
}

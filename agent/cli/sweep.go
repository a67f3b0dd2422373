package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/assembly"
	"fairlead.dev/agent/pivot"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/sources/status"
)

// A sweep is a look for orphans over all providers of a fleet.
type sweep struct {
	id        fleet.ID
	revision  string
	clusters  map[string][]*fleet.Cluster // by provider
	providers []string                    // sorted
	open      func(string) (providers.Infrastructure, error)

	recorded bool               // whether the status branch says anything
	settled  map[fleet.Key]bool // clusters in Git that nothing is being made for
	gone     map[fleet.Key]bool // clusters on the status branch that are not in Git
	vanished []fleet.Key        // those of them that nobody deletes, sorted

	orphans []fleet.Orphan
	passed  int // what was passed over: too young, or of a cluster in change
	notes   []string
}

// newSweep reads the fleet and its status branch. What cannot be read in full is
// an error.
func newSweep(ctx context.Context, p part, f *sourceFlags, open func(string) (providers.Infrastructure, error)) (*sweep, error) {
	loaded, err := p.load(ctx, assembly.RenderOptions{})
	if err != nil {
		return nil, err
	}
	recorded, err := p.status(ctx, cmp.Or(f.branch, loaded.Config.StatusBranch))
	if err != nil {
		return nil, fmt.Errorf("cannot read the status branch: %w", err)
	}
	outlook := agent.Foresee(recorded, loaded)
	problems := slices.Concat(loaded.Problems, outlook.Problems)
	if len(problems) > 0 {
		return nil, fmt.Errorf("the fleet has %s, so what belongs to it is not known: %s; fairlead validate tells all", count(len(problems), "problem"), problems[0])
	}
	if len(loaded.Clusters) == 0 {
		return nil, p.empty()
	}
	s := &sweep{
		id: loaded.ID, revision: loaded.Revision.String(), open: open, recorded: recorded.Owner.Agent != "",
		clusters: map[string][]*fleet.Cluster{}, settled: map[fleet.Key]bool{}, gone: map[fleet.Key]bool{},
	}
	s.know(loaded.Clusters, recorded.Clusters, outlook.Pruned)
	// What the owner lives in is no leftover, whoever forgot it: Git, or a status
	// branch that was written anew.
	if home, ok := pivot.HomeOf(recorded.Owner.Agent); ok && !s.gone[home] {
		if _, inGit := s.settled[home]; !inGit {
			s.gone[home] = true
			s.vanished = append(s.vanished, home)
		}
	}
	slices.Sort(s.providers)
	slices.SortFunc(s.vanished, fleet.Key.Compare)
	return s, nil
}

// know tells clusters in Git, with where they live, from those that the status
// branch alone has, of which those of pruned are to be deleted.
func (s *sweep) know(clusters []fleet.Cluster, recorded []status.Cluster, pruned []fleet.Report) {
	lives := make(map[fleet.Key]fleet.Residence, len(recorded))
	for _, c := range recorded {
		lives[c.Report.Cluster] = c.Report.Residence
	}
	for i := range clusters {
		c := clusters[i].WithResidence(lives[clusters[i].Key])
		s.clusters[c.Provider] = append(s.clusters[c.Provider], c)
		s.settled[c.Key] = false
		if !slices.Contains(s.providers, c.Provider) {
			s.providers = append(s.providers, c.Provider)
		}
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
		if c.Report.Provider != "" && !slices.Contains(s.providers, c.Report.Provider) {
			s.providers = append(s.providers, c.Report.Provider)
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

// look asks each provider. An error says what could not be looked at; what was found
// elsewhere stands.
func (s *sweep) look(ctx context.Context, now time.Time) error {
	var errs []error
	for _, name := range s.providers {
		p, err := s.open(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sweeper, ok := providers.As[providers.Sweeper](p)
		if !ok {
			s.notes = append(s.notes, "the provider "+name+" cannot look for orphans")
			continue
		}
		found, err := sweeper.Orphans(ctx, s.id, s.clusters[name])
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
		s.notes = append(s.notes, fmt.Sprintf("%s passed over: too young, or of a cluster that is being made or changed; look again later", count(s.passed, "thing")))
	}
	return errors.Join(errs...)
}

// early reports whether o may still become a part of something.
func (s *sweep) early(o fleet.Orphan, now time.Time, settle time.Duration) bool {
	if settled, inGit := s.settled[o.Cluster]; inGit && !settled {
		return true
	}
	return !o.Created.IsZero() && now.Sub(o.Created) < settle
}

// removable returns what --delete removes: not what belongs to a cluster that
// vanished.
func (s *sweep) removable() []fleet.Orphan {
	return slices.DeleteFunc(slices.Clone(s.orphans), func(o fleet.Orphan) bool { return s.gone[o.Cluster] })
}

// remove removes what is removable. What could not be, since something else was
// in its way, is tried again once that is gone.
func (s *sweep) remove(ctx context.Context, log io.Writer) []error {
	todo := s.removable()
	for {
		var failed []fleet.Orphan
		var errs []error
		for _, o := range todo {
			err := s.removeOne(ctx, o)
			if err != nil {
				failed, errs = append(failed, o), append(errs, err)
				continue
			}
			fmt.Fprintf(log, "removed %s %s\n", o.Kind, cmp.Or(o.Name, o.ID))
		}
		if len(failed) == 0 || len(failed) == len(todo) || ctx.Err() != nil {
			return errs
		}
		todo = failed
	}
}

func (s *sweep) removeOne(ctx context.Context, o fleet.Orphan) error {
	p, err := s.open(o.Provider)
	if err != nil {
		return err
	}
	sweeper, ok := providers.As[providers.Sweeper](p)
	if !ok {
		return fleet.Errorf(fleet.Invalid, "remove "+o.Kind+" "+o.Name, "the provider %s does not remove orphans", o.Provider)
	}
	return sweeper.RemoveOrphan(ctx, s.id, s.clusters[o.Provider], o)
}

// swept is what orphans shows as JSON and YAML.
type swept struct {
	Revision string        `json:"revision"`
	Orphans  []sweptOrphan `json:"orphans"`
	Vanished []string      `json:"vanished"` // clusters that are not in Git any more
	Notes    []string      `json:"notes,omitempty"`
}

type sweptOrphan struct {
	Provider string     `json:"provider"`
	Place    string     `json:"place"`
	Kind     string     `json:"kind"`
	ID       string     `json:"id"`
	Name     string     `json:"name,omitempty"`
	Cluster  string     `json:"cluster,omitempty"`
	Created  *time.Time `json:"created,omitempty"`
	Reason   string     `json:"reason"`
	Vanished bool       `json:"vanished,omitempty"` // its cluster did: it is not removed
}

func (s *sweep) show(out io.Writer, form format) error {
	v := swept{Revision: s.revision, Orphans: []sweptOrphan{}, Vanished: []string{}, Notes: s.notes}
	t := table{header: []string{"PROVIDER", "PLACE", "KIND", "NAME", "ID", "CLUSTER", "CREATED", "REASON"}}
	for _, k := range s.vanished {
		v.Vanished = append(v.Vanished, k.String())
		t.add("", "", "cluster", k.Name, "", k.String(), "", "it vanished from Git and nobody asked to delete it: not removed")
	}
	for _, o := range s.orphans {
		so := sweptOrphan{Provider: o.Provider, Place: o.Place, Kind: o.Kind, ID: o.ID, Name: o.Name, Reason: o.Reason, Vanished: s.gone[o.Cluster]}
		created := ""
		if !o.Created.IsZero() {
			at := o.Created.UTC().Truncate(time.Second)
			so.Created, created = &at, at.Format(time.RFC3339)
		}
		if o.Cluster != (fleet.Key{}) {
			so.Cluster = o.Cluster.String()
		}
		if so.Vanished {
			so.Reason = "its cluster vanished from Git: left to the agent"
		}
		v.Orphans = append(v.Orphans, so)
		t.add(so.Provider, so.Place, so.Kind, so.Name, so.ID, so.Cluster, created, so.Reason)
	}
	if form == formatTable && len(t.rows) == 0 {
		fmt.Fprintln(out, "no orphans")
	} else if err := t.write(out, form, v); err != nil {
		return err
	}
	if form == formatTable || form == formatMarkdown {
		for _, note := range s.notes {
			fmt.Fprintln(out, "\n"+note)
		}
	}
	return nil
}

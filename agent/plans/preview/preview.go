package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/loop/desired"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/scope"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
	"fairlead.dev/sources/status"
)

// Options say what is previewed. Fleet, Status and Scope are required.
type Options struct {
	Fleet  fleet.Fleet   // all of it, as the revision renders it
	Status status.Status // what the status branch says of all of it
	Scope  scope.Scope   // what the plan is about
	// Folder says that the fleet is read from a folder, which no agent of another place
	// can read: the fleet moves nowhere from there.
	Folder bool
	// Recreate is a cluster that is planned as one to be recreated, by the request
	// RecreateAs; zero: none.
	Recreate   fleet.Key
	RecreateAs string
	// Skip, if not nil, reports that the plan is not about a cluster, though its fleet is:
	// it is not looked at.
	Skip func(c *fleet.Cluster) bool
}

// A Looker looks at clusters, and has nothing to change them with.
type Looker interface {
	Look(ctx context.Context, c *fleet.Cluster) (fleet.Observed, error)
}

// A Plan is what a revision would change.
type Plan struct {
	Revision string           `json:"revision"`
	Clusters int              `json:"clusters"`
	Changes  []Change         `json:"changes"`
	Rollouts []Rollout        `json:"rolls,omitempty"` // what differs from the base
	Turns    []Turn           `json:"turns,omitempty"` // when clusters have their turn, where what changes comes in waves
	Problems []output.Problem `json:"problems,omitempty"`
	Orphans  []string         `json:"orphans,omitempty"`
	Notes    []string         `json:"notes,omitempty"`  // what was not looked at
	Errors   []string         `json:"errors,omitempty"` // what could not be looked at
	Unseen   []Unseen         `json:"-"`                // the same

	o       Options       // narrowed to the scope
	desired desired.Fleet // what an agent would hold to
	at      string        // the revision, short
	locked  []fleet.Key   // clusters with machines whose secrets are not here
}

// Unseen is a cluster that could not be looked at.
type Unseen struct {
	Cluster fleet.Key
	Err     error
}

// A Change is one recorded forecast.Change. Clusters of a namespace share hosts: what is done to one is
// reported for the first of them.
type Change = status.PlannedChange

func changeOf(c forecast.Change) Change {
	return Change{
		Change: string(c.Kind), Cluster: c.Cluster.String(), Pool: string(c.Pool),
		Machine: string(c.Machine), By: string(c.By), Addon: c.Addon, Host: c.Host, Reason: c.Reason,
	}
}

// New returns a plan of what an agent would hold to. It has no changes before Look.
func New(o Options) *Plan {
	o.Fleet = o.Scope.Fleet(desired.RefuseIncluders(o.Status, o.Fleet))
	o.Status = o.Scope.Status(o.Status)
	p := &Plan{o: o, desired: desired.Of(o.Status, o.Fleet, time.Now()), Changes: []Change{}}
	for i, c := range p.desired.Clusters {
		if c.Key == o.Recreate {
			p.desired.Clusters[i] = c.WithRecreate(o.RecreateAs)
		}
	}
	p.at = o.Fleet.Revision.Ref + "@" + o.Fleet.Revision.Short()
	p.Revision, p.Clusters = o.Fleet.Revision.String(), len(p.desired.Clusters)
	p.Problems = output.Problems(p.desired.Problems)
	for _, t := range p.desired.Turns {
		p.Turns = append(p.Turns, turnOf(t))
	}
	return p
}

// Followed returns the ref that the agent follows, as the status branch has it; empty: no agent has told.
func (p *Plan) Followed() string { return p.o.Status.Fleet.Revision.Ref }

// Empty reports whether there is nothing in the scope, which may be the wrong one.
func (p *Plan) Empty() bool {
	return len(p.desired.Clusters)+len(p.desired.Problems)+len(p.desired.Pruned)+len(p.desired.Orphans) == 0
}

// Desired returns the clusters that an agent would hold to Git, as it would.
func (p *Plan) Desired() []*fleet.Cluster { return p.desired.Clusters }

// Requested counts the requests and the numbers of machines on the status branch that the
// plan uses.
func (p *Plan) Requested() (n int) {
	planned := func(k fleet.Key) bool {
		return slices.ContainsFunc(p.desired.Clusters, func(c *fleet.Cluster) bool { return c.Key == k })
	}
	for _, r := range p.o.Status.Requests {
		if r.InEffect() && planned(r.Cluster) {
			n++
		}
	}
	for _, d := range p.o.Status.Scales {
		if planned(d.Cluster) {
			n++
		}
	}
	return n
}

// atOnce bounds the clusters that are looked at at the same time.
const atOnce = 16

// mostForecast bounds the machines that all plans of the forecast of one cluster look at. A pool of 5,000
// machines that are replaced takes half a million.
const mostForecast = 20_000_000

// Look compares each cluster with what is, and adds what would change. The error is that
// of ctx: what could not be looked at is in p.Errors.
func (p *Plan) Look(ctx context.Context, looker Looker) error {
	results := make([]result, len(p.desired.Clusters))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, c := range p.desired.Clusters {
		if p.o.Skip != nil && p.o.Skip(c) {
			continue
		}
		g.Go(func() error {
			results[i] = compare(ctx, looker, c, p.desired.Memory[c.Key])
			return nil
		})
	}
	_ = g.Wait()
	for i, res := range results {
		c := p.desired.Clusters[i]
		n := len(p.Changes)
		p.add(c.Key, res)
		for j := range p.Changes[n:] {
			p.Changes[n+j].Waits, p.Changes[n+j].To = p.waits(c.Key), identityOf(p.Changes[n+j], c)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, r := range p.desired.Pruned {
		p.prune(r)
	}
	p.move()
	for _, k := range p.desired.Orphans {
		p.Orphans = append(p.Orphans, k.String())
		if !slices.Contains(p.o.Status.Fleet.Orphans, k) {
			p.Changes = append(p.Changes, Change{Change: document.LeaveCluster, Cluster: k.String(), Reason: "the cluster was removed from Git: it stays, and Fairlead does not manage it"})
		}
	}
	p.care()
	document.Sort(p.Changes)
	return nil
}

// care adds the clusters that Fairlead forgets, and those that it looks after again.
func (p *Plan) care() {
	for _, c := range p.desired.Clusters {
		if slices.Contains(p.o.Status.Fleet.Orphans, c.Key) {
			p.Changes = append(p.Changes, Change{Change: document.ChangeSetting, Cluster: c.Key.String(), Reason: "the cluster is in Git again: Fairlead looks after it"})
		}
		last, known := p.o.Status.Cluster(c.Key)
		if c.Abandon && known && last.Report.Phase != fleet.PhaseAbandoned {
			p.Changes = append(p.Changes, Change{Change: document.AbandonCluster, Cluster: c.Key.String(), Reason: "Git says so: the cluster stays, and Fairlead does not manage it"})
		}
	}
}

// A result is what one cluster differs in from what is.
type result struct {
	changes   []forecast.Change
	obstacles []string
	locked    bool // its secrets are not here
	err       error
}

func compare(ctx context.Context, looker Looker, c *fleet.Cluster, m fleet.Memory) (r result) {
	seen, err := looker.Look(ctx, c)
	if err != nil {
		return result{err: err}
	}
	if len(seen.Infrastructure.Machines) > 0 && len(seen.Secrets.Missing) > 0 {
		r.locked = true
		seen.Secrets.Missing = nil
	}
	in := plan.Input{Desired: c, Memory: m, Observed: seen, Now: seen.At}
	f, err := forecast.Within(mostForecast, ctx.Err, in)
	r.changes, r.obstacles, r.err = f.Changes, f.Notes, err
	return r
}

// add takes in what cluster k differs in.
func (p *Plan) add(k fleet.Key, r result) {
	for _, c := range r.changes {
		if c.Host != "" && slices.ContainsFunc(p.Changes, func(o Change) bool { return o.Host == c.Host && o.Reason == c.Reason }) {
			continue
		}
		p.Changes = append(p.Changes, changeOf(c))
	}
	for _, why := range r.obstacles {
		p.Notes = append(p.Notes, k.String()+": "+why)
	}
	if r.locked {
		p.locked = append(p.locked, k)
		p.Notes = append(p.Notes, fmt.Sprintf("the secrets of %s are not here, so its API server was not asked: name the agent's with --secrets", k))
	}
	if r.err != nil {
		p.Errors, p.Unseen = append(p.Errors, r.err.Error()), append(p.Unseen, Unseen{k, r.err})
	}
}

// move adds the way of the fleet to the home that fleet.yaml names.
func (p *Plan) move() {
	home, now := p.o.Fleet.Config.Home, p.o.Status.Owner
	to := ownership.AgentOf(home.Cluster)
	switch {
	case !home.Declared(), now.Agent == to, p.o.Scope != scope.All:
		return
	case now.Agent == "" && p.o.Folder:
		p.Notes = append(p.Notes, fmt.Sprintf("the fleet moves to its home %s once an agent follows it from a repository", home.Cluster))
		return
	}
	from := cmp.Or(now.Agent, "the agent that claims the fleet")
	p.Changes = append(p.Changes, Change{
		Change: document.MoveFleet, Cluster: home.Cluster.String(),
		Reason: fmt.Sprintf("fleet.yaml names it as home: %s hands the fleet over to %s once the cluster is provisioned; no machine changes", from, to),
	})
}

// prune adds the deletion of a cluster that vanished.
func (p *Plan) prune(r fleet.Report) {
	const reason = "the cluster was removed from Git and fleet.yaml prunes"
	if r.Phase == fleet.PhaseDeleted {
		return
	}
	p.Changes = append(p.Changes, changeOf(forecast.Change{Kind: forecast.DeleteCluster, Cluster: r.Cluster, Reason: reason}))
	for _, m := range r.Machines {
		p.Changes = append(p.Changes, changeOf(forecast.Change{
			Kind: forecast.DeleteMachine, Cluster: r.Cluster, Pool: m.Machine.Pool, Machine: m.Machine.Name, Reason: reason,
		}))
	}
	for _, pool := range r.Pools {
		if pool.Kept() && pool.Phase != fleet.KeptPhasePending {
			p.Changes = append(p.Changes, changeOf(forecast.Change{Kind: forecast.DeletePool, Cluster: r.Cluster, Pool: pool.Name, Reason: reason}))
		}
	}
}

// Besides says what the plan holds of clusters other than k, or could not tell of them;
// nothing where it is empty but for k.
func (p *Plan) Besides(k fleet.Key) []string {
	var why []string
	add := func(text string) {
		if !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	for _, c := range p.Changes {
		if c.Cluster != k.String() {
			add(c.Cluster + " would be changed")
		}
	}
	for _, l := range p.locked {
		add("the secrets of " + l.String() + " are not in escrow")
	}
	for _, e := range p.Errors {
		add(oneLine(e))
	}
	return why
}

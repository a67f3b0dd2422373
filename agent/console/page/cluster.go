package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// How much of a cluster is shown.
const (
	mostMachines = 100 // in the list of those that are not as they should be
	mostDone     = 12
)

// A Cluster is the view of one.
type Cluster struct {
	Row
	Revision     fleet.Revision     `json:"-"`
	RevisionText string             `json:"revision"`
	RevisionURL  string             `json:"revisionURL,omitempty"`
	Overlay      string             `json:"overlay"`
	OverlayURL   string             `json:"overlayURL,omitempty"`
	Endpoint     string             `json:"endpoint,omitempty"`
	Damage       string             `json:"damage,omitempty"`
	Failure      string             `json:"failure,omitempty"`
	Problems     []ProblemRow       `json:"problems,omitempty"`
	Now          *Done              `json:"now,omitempty"` // what was begun last, while it is not at rest
	Waiting      []string           `json:"waiting,omitempty"`
	Proposed     []PlanRow          `json:"pullRequests,omitempty"`
	Turn         string             `json:"waitsForItsTurn,omitempty"`
	Behind       bool               `json:"behind,omitempty"` // no look has found it as the newest revision says
	Orphan       bool               `json:"orphan,omitempty"`
	Began        *time.Time         `json:"began,omitempty"` // when it began to be made
	Ladder       []Rung             `json:"ladder"`
	Pools        []Pool             `json:"pools"`
	Tally        []Count            `json:"machineCounts"`
	Machines     []Machine          `json:"machines"` // those that are not as they should be
	More         int                `json:"moreMachines,omitempty"`
	Conditions   []metav1.Condition `json:"conditions"` // those that are not as they should be
	Good         []metav1.Condition `json:"goodConditions"`
	Certificates []Certificate      `json:"certificates,omitempty"`
	Addons       []Addon            `json:"addons,omitempty"`
	Upgrade      *Upgrade           `json:"upgrade,omitempty"` // the last one
	Done         []Done             `json:"done"`
	Ask          []Ask              `json:"ask"`
}

// A Pool is the machines of a pool, by failure domain.
type Pool struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Ready   int    `json:"ready"`
	Desired int    `json:"desired"`
	Zones   []Zone `json:"zones"`
}

// A Zone is a failure domain.
type Zone struct {
	Name     string    `json:"name"`
	Machines []Machine `json:"machines"`
}

// A Machine is one machine.
type Machine struct {
	Name       string             `json:"name"`
	Sign       Sign               `json:"sign"`
	Phase      string             `json:"phase"`
	ID         string             `json:"providerID,omitempty"`
	Version    string             `json:"version,omitempty"`
	Node       string             `json:"node,omitempty"`
	Since      *time.Time         `json:"since,omitempty"`
	Words      string             `json:"words,omitempty"` // the provider's own
	State      string             `json:"state,omitempty"` // the provider's own
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// An Upgrade is a change of the Kubernetes version.
type Upgrade struct {
	From    string     `json:"from"`
	To      string     `json:"to"`
	Began   time.Time  `json:"began"`
	Ended   *time.Time `json:"ended,omitempty"`
	Minutes int        `json:"minutes,omitempty"` // that it took
}

func upgradeOf(u status.Upgrade) *Upgrade {
	if u.Began.IsZero() {
		return nil
	}
	out := &Upgrade{From: u.From, To: u.To, Began: u.Began}
	if !u.Ended.IsZero() {
		out.Ended, out.Minutes = &u.Ended, int(u.Took().Round(time.Minute).Minutes())
	}
	return out
}

// A Certificate ends.
type Certificate struct {
	Name     string    `json:"name"`
	NotAfter time.Time `json:"notAfter"`
}

func clusterView() view { return view{name: "cluster", path: "c", build: clusterOf} }

// clusterOf returns the view of the cluster that q asks for.
func clusterOf(s *state, q query) (any, bool) {
	c := s.byKey[q.key]
	if c == nil {
		return nil, false
	}
	r := c.Report
	out := Cluster{
		Row: c.row, Revision: r.Revision, RevisionText: r.Revision.String(), RevisionURL: q.options.Forge.Commit(r.Revision.Hash()),
		Overlay: r.Overlay, OverlayURL: q.options.Forge.Folder(r.Revision.Hash(), q.options.Path, r.Overlay),
		Damage: c.damage, Failure: r.Failure, Waiting: r.Waiting, Behind: c.behind, Turn: c.waits, Orphan: c.orphan,
		Ladder: ladderOf(r, c.row.Sign), Pools: []Pool{}, Machines: []Machine{}, Done: doneTo(s, r.Cluster, mostDone, q.options),
		Upgrade: upgradeOf(c.Cluster.Upgrade), Proposed: proposed(s, r.Cluster, q.options),
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, problemRow(p, s.Status.Fleet.Revision, q.options))
	}
	if !r.Endpoint.IsZero() {
		out.Endpoint = statusview.URL(r.Endpoint)
	}
	out.Conditions, out.Good = parted(c.Cluster.Cluster.Status.Conditions)
	out.machines(c)
	for name, at := range r.Certificates {
		out.Certificates = append(out.Certificates, Certificate{name, at})
	}
	slices.SortFunc(out.Certificates, func(a, b Certificate) int { return cmp.Or(a.NotAfter.Compare(b.NotAfter), cmp.Compare(a.Name, b.Name)) })
	out.timeLine(r.Milestones)
	out.Now = underWay(out.Done, c.row.Sign)
	out.Addons = addonsOf(c.Cluster, q.options)
	out.Ask = asks(out, r.Cluster, s.Requests, q.options)
	if w, waits := s.Status.Fleet.Rollout.Wait(r.Cluster); waits {
		out.Ask = append(out.Ask, newAsker(s.Requests, q.options).ofWait(w))
	}
	return out, true
}

// AllConditions returns the number of conditions.
func (v Cluster) AllConditions() int { return len(v.Conditions) + len(v.Good) }

// parted returns the conditions that are not as they should be, and the others.
func parted(list []metav1.Condition) (bad, good []metav1.Condition) {
	bad, good = []metav1.Condition{}, []metav1.Condition{}
	for _, c := range list {
		if statusview.Good(c) {
			good = append(good, c)
			continue
		}
		bad = append(bad, c)
	}
	return bad, good
}

// machines fills in pools and machines.
func (v *Cluster) machines(c *cluster) {
	counts := make(map[Sign]int)
	at := make(map[fleet.PoolName]int)
	for _, p := range c.Report.Pools {
		at[p.Name] = len(v.Pools)
		v.Pools = append(v.Pools, Pool{Name: string(p.Name), Kind: fleet.ObjectKind(p.Role, p.Kind), Version: p.Version, Ready: p.Ready, Desired: p.Desired, Zones: []Zone{}})
	}
	for i, m := range c.Report.Machines {
		one := Machine{
			Name: string(m.Machine.Name), Sign: machineSign(m), Phase: string(m.Phase), ID: string(m.Machine.ProviderID), Version: m.Machine.Version,
			Node: m.Node, Words: fleet.PlainText(m.Machine.Message), State: string(m.Machine.State),
		}
		if i < len(c.Machines) {
			one.Conditions, _ = parted(c.Machines[i].Status.Conditions)
			one.Since = changedAt(c.Machines[i].Status.Conditions)
		}
		if one.Sign == OK && len(one.Conditions) > 0 {
			one.Sign = Problem
			if !slices.ContainsFunc(one.Conditions, func(c metav1.Condition) bool { return c.Type != clusterv1.PausedCondition }) {
				one.Sign = Suspended
			}
		}
		counts[one.Sign]++
		pool, ok := at[m.Machine.Pool]
		if !ok { // of a pool that left Git
			pool, at[m.Machine.Pool] = len(v.Pools), len(v.Pools)
			v.Pools = append(v.Pools, Pool{Name: string(m.Machine.Pool), Kind: "leaving", Zones: []Zone{}})
		}
		v.Pools[pool].add(m.Machine.FailureDomain, one)
		if one.Sign != OK && one.Sign != Outdated && one.Sign != Suspended {
			v.Machines = append(v.Machines, one)
		}
	}
	v.Tally = bar(counts, len(c.Report.Machines))
	slices.SortStableFunc(v.Machines, func(a, b Machine) int {
		return cmp.Compare(slices.Index(Signs(), a.Sign), slices.Index(Signs(), b.Sign))
	})
	v.More = max(0, len(v.Machines)-mostMachines)
	v.Machines = v.Machines[:len(v.Machines)-v.More]
}

func (p *Pool) add(zone string, m Machine) {
	i, ok := slices.BinarySearchFunc(p.Zones, zone, func(z Zone, name string) int { return strings.Compare(z.Name, name) })
	if !ok {
		p.Zones = slices.Insert(p.Zones, i, Zone{Name: zone})
	}
	p.Zones[i].Machines = append(p.Zones[i].Machines, m)
}

// Total returns how many machines there are.
func (v Cluster) Total() string {
	n := 0
	for _, c := range v.Tally {
		n += c.N
	}
	return output.Count(n, "machine")
}

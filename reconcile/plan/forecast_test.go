package plan_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
)

// A foretold is a world in which nothing breaks from the time of a forecast on: what
// is done is held against the forecast.
type foretold struct {
	*world
	t    *rapid.T
	made map[fleet.MachineName]string // versions
	why  map[fleet.MachineName]string // removals began
}

// drawForetold draws a cluster at rest, with a class or without one.
func drawForetold(t *rapid.T) *foretold {
	d := drawCluster(t)
	for i := range d.Workers {
		drawKind(t, &d.Workers[i])
	}
	if rapid.IntRange(0, 2).Draw(t, "health check with a limit") == 0 {
		most := rapid.SampledFrom([]intstr.IntOrString{intstr.FromString("20%"), intstr.FromString("40%"), intstr.FromInt32(1), intstr.FromInt32(2)}).Draw(t, "limit")
		d.HealthChecks[0].Spec.Remediation.TriggerIf.UnhealthyLessThanOrEqualTo = &most
	}
	if rapid.IntRange(0, 2).Draw(t, "class") == 0 {
		classy(d, rapid.IntRange(1, 2).Draw(t, "concurrency"), classVersions(33)...)
	}
	f := &foretold{world: newWorld(d), t: t, made: map[fleet.MachineName]string{}, why: map[fleet.MachineName]string{}}
	f.naming = drawNaming(t)
	f.settle, f.lag, f.boot, f.leave = time.Minute, 10*time.Second, 20*time.Second, 10*time.Second
	for range 2000 {
		if f.done(f.act()) {
			return f
		}
	}
	t.Fatalf("not at rest\n%s", strings.Join(tail(f.log, 60), "\n"))
	return nil
}

// drawKind draws what kind of pool p is, and who says how many machines it has.
func drawKind(t *rapid.T, p *fleet.Pool) {
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		p.Kind, p.Strategy, p.Replicas = fleet.LoneMachine, fleet.OnDelete, 1
	case 1:
		p.Kind, p.Strategy = fleet.LoneMachineSet, fleet.OnDelete
	case 2, 3:
		p.Strategy = fleet.OnDelete
	}
	if p.Kind == "" && rapid.IntRange(0, 3).Draw(t, "scaled") == 0 {
		p.Scaling = &fleet.Scaling{Min: 0, Max: 6, Decided: true, Reason: "asked for by the autoscaler"}
	}
}

// act is one look, and all that it brings.
func (f *foretold) act() plan.Plan {
	git := f.desired
	_, p := f.plan()
	f.desired = p.Desired
	for _, a := range p.Actions {
		f.remember(a, true)
		f.carryOut(a)
		if m := f.find(a.Machine); a.Kind == fleet.CreateMachine && m != nil {
			f.made[m.Name] = m.Version
		}
	}
	f.desired = git
	f.advance(10 * time.Second)
	return p
}

// push changes what Git asks for.
func (f *foretold) push() {
	topology := f.desired.Topology
	f.desired = mutate(f.t, f.desired)
	if topology != nil {
		d := change(f.desired, func(*fleet.Cluster) {})
		classy(d, topology.Concurrency, append(classVersions(35), "v1.34.2")...)
		f.desired = d
	}
	if n := len(f.desired.Workers); n > 0 && rapid.IntRange(0, 3).Draw(f.t, "pauses") == 0 {
		i := rapid.IntRange(0, n-1).Draw(f.t, "paused")
		f.desired = change(f.desired, func(c *fleet.Cluster) { c.Workers[i].Paused = !c.Workers[i].Paused })
	}
	if rapid.IntRange(0, 9).Draw(f.t, "pauses control plane") == 0 {
		f.desired = change(f.desired, func(c *fleet.Cluster) { c.ControlPlane.Paused = !c.ControlPlane.Paused })
	}
	for i := range f.desired.Workers {
		if f.desired.Workers[i].Kind == fleet.LoneMachine && f.desired.Workers[i].Replicas != 1 {
			f.desired = change(f.desired, func(c *fleet.Cluster) { c.Workers[i].Replicas = 1 })
		}
	}
	f.logf("push")
}

// spoil has machines break that etcd can spare, and people mark others.
func (f *foretold) spoil() {
	c := &chaos{world: f.world, t: f.t}
	for range rapid.IntRange(0, 2).Draw(f.t, "breaks") {
		m := f.machines[rapid.IntRange(0, len(f.machines)-1).Draw(f.t, "victim")]
		if m.joined && !m.dead && m.goneAt.IsZero() && (m.Role == fleet.RoleWorker || c.sparesVoter(m)) {
			f.kill(m)
		}
	}
	for range rapid.IntRange(0, 2).Draw(f.t, "marks") {
		m := f.machines[rapid.IntRange(0, len(f.machines)-1).Draw(f.t, "marked")]
		mark := rapid.SampledFrom([]string{clusterv1.RemediateMachineAnnotation, clusterv1.DeleteMachineAnnotation}).Draw(f.t, "mark")
		if n := f.nodes[f.nodeName(m)]; n != nil {
			n.Annotations[mark] = ""
			f.logf("%s on %s", mark, m.Name)
		}
	}
}

// watch lets time pass in which an agent looks and does nothing, so that it knows
// what is unhealthy, and another one then knows no attempts.
func (f *foretold) watch() {
	for range 20 {
		f.plan()
		f.advance(20 * time.Second)
	}
	f.plan()
	f.attempts = nil
	f.logf("preview")
}

// A deed is a machine that is created or deleted.
type deed struct {
	kind    fleet.ActionKind
	pool    fleet.PoolName
	machine fleet.MachineName
	reason  string
}

// String leaves out the name of a machine that is created: one that is gone long
// enough has a name that may be given again.
func (d deed) String() string {
	if d.kind == fleet.CreateMachine {
		return "create one of " + string(d.pool)
	}
	return "delete " + string(d.machine)
}

// told is what the forecast tells of machines.
func (f *foretold) told() (out []deed) {
	for _, ch := range forecast.Of(f.input(true)).Changes {
		gone := deed{fleet.DeleteMachine, ch.Pool, ch.Machine, ch.Reason}
		switch ch.Kind {
		case forecast.CreateMachine:
			out = append(out, deed{fleet.CreateMachine, ch.Pool, ch.Machine, ch.Reason})
		case forecast.DeleteMachine:
			out = append(out, gone)
		case forecast.ReplaceMachine:
			out = append(out, gone, deed{fleet.CreateMachine, ch.Pool, ch.By, ch.Reason})
		}
	}
	return out
}

// run goes on until nothing has happened for ten minutes, and returns what was done,
// but for the steps of a way through versions: machines that were made of a version
// in between, and went again.
func (f *foretold) run() (out []deed) {
	for quiet := 0; quiet < 60; quiet++ {
		for _, a := range f.act().Actions {
			d := deed{a.Kind, a.Pool, a.Machine, a.Reason}
			if a.Kind == fleet.DrainNode || a.Kind == fleet.RemoveMember {
				if _, known := f.why[a.Machine]; !known {
					f.why[a.Machine] = a.Reason
				}
			}
			if why, known := f.why[a.Machine]; known && a.Kind == fleet.DeleteMachine {
				d.reason = why
				delete(f.why, a.Machine)
			}
			made := slices.IndexFunc(out, func(o deed) bool { return o.kind == fleet.CreateMachine && o.machine == a.Machine })
			switch {
			case a.Kind == fleet.DeleteMachine && made >= 0 && f.desired.Topology != nil && f.made[a.Machine] != f.desired.ControlPlane.Version:
				out = slices.Delete(out, made, made+1)
			case a.Kind == fleet.CreateMachine, a.Kind == fleet.DeleteMachine:
				out = append(out, d)
			default:
				continue
			}
			quiet = 0
		}
	}
	return out
}

// lacks returns those of all that are not in others, each as often as it is missing.
func lacks(all, others []deed) (out []string) {
	has := map[string]int{}
	for _, d := range others {
		has[d.String()]++
	}
	for _, d := range all {
		if has[d.String()]--; has[d.String()] < 0 {
			out = append(out, fmt.Sprintf("%s (%s)", d, d.reason))
		}
	}
	return out
}

var timesInAll = regexp.MustCompile(`, [0-9]+ times in all$`)

// otherReasons returns the removals that were told with another reason than they had. A
// version may be the next one on the way.
func otherReasons(told, done []deed) (out []string) {
	why := map[string]string{}
	for _, d := range done {
		why[d.String()] = d.reason
	}
	for _, d := range told {
		was, ok := why[d.String()]
		if !ok || d.kind != fleet.DeleteMachine || strings.Contains(d.reason, " → ") && strings.Contains(was, " → ") {
			continue
		}
		if reason := timesInAll.ReplaceAllString(d.reason, ""); was != reason {
			out = append(out, fmt.Sprintf("%s: told %q, was %q", d, d.reason, was))
		}
	}
	return out
}

// TestPreviewOfAnyWorld takes clusters that are at rest or on their way somewhere, of
// which machines are broken or marked, and lets them go on without faults: what is
// created and deleted is what the forecast told, for the reasons that it told.
func TestPreviewOfAnyWorld(t *testing.T) {
	few(t, 60)
	rapid.Check(t, func(t *rapid.T) {
		f := drawForetold(t)
		if rapid.Bool().Draw(t, "under way") {
			f.push()
			for range rapid.IntRange(0, 60).Draw(t, "passes") {
				f.act()
			}
		}
		if rapid.Bool().Draw(t, "spoiled") {
			f.spoil()
		}
		f.watch()
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			f.push()
		}
		told, done := f.told(), f.run()
		notDone, notTold, other := lacks(told, done), lacks(done, told), otherReasons(told, done)
		if len(notDone)+len(notTold)+len(other) > 0 {
			t.Fatalf("PreviewIsWhatHappens: told and not done\n%s\ndone and not told\n%s\nfor other reasons\n%s\n%s",
				strings.Join(notDone, "\n"), strings.Join(notTold, "\n"), strings.Join(other, "\n"), strings.Join(tail(f.log, 150), "\n"))
		}
	})
}

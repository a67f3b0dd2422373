package plan_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
)

// A climb is a cluster of a class on its way from version to version.
type climb struct {
	*world
	t   *rapid.T
	git *fleet.Cluster
}

// classVersions are those of the class, two of each minor.
func classVersions(upTo int) (out []string) {
	for minor := 31; minor <= upTo; minor++ {
		out = append(out, fmt.Sprintf("v1.%d.1", minor), fmt.Sprintf("v1.%d.4", minor))
	}
	return out
}

func (c *climb) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(tail(c.log, 60), "\n"))
}

// step is one look at what Git asks for, and all that it brings.
func (c *climb) step() plan.Plan {
	c.desired = c.git
	in, p := c.plan()
	c.judge(in, p)
	c.desired = p.Desired
	for _, a := range p.Actions {
		c.remember(a, true)
		c.carryOut(a)
	}
	c.desired = c.git
	c.advance(20 * time.Second)
	return p
}

// judge checks what is created against what is there: NoMinorSkipped,
// NoKubeletNewerThanAnAPIServer, NoKubeletTooOld, DeferredStays and
// PoolsOneAfterTheOther.
func (c *climb) judge(in plan.Input, p plan.Plan) {
	minor := func(v string) int { return int(version.MustParseSemantic(v).Minor()) }
	kinds := map[fleet.PoolName]map[string]bool{}
	oldest, oldestWorker := 99, 99
	for _, m := range c.machines {
		if kinds[m.Pool] == nil {
			kinds[m.Pool] = map[string]bool{}
		}
		kinds[m.Pool][m.Version] = true
		if m.Role == fleet.RoleControlPlane {
			oldest = min(oldest, minor(m.Version))
		} else {
			oldestWorker = min(oldestWorker, minor(m.Version))
		}
	}
	for _, a := range p.Actions {
		if a.Kind != fleet.CreateMachine {
			continue
		}
		pool, _ := p.Desired.Pool(a.Pool)
		have := kinds[a.Pool]
		if pool.Role == fleet.RoleControlPlane {
			if len(have) > 0 && minor(pool.Version) > oldest+1 {
				c.fail("NoMinorSkipped: %s of %s beside one of minor %d", a, pool.Version, oldest)
			}
			if oldestWorker < 99 && minor(pool.Version) > oldestWorker+3 {
				c.fail("NoKubeletTooOld: %s of %s beside a worker of minor %d", a, pool.Version, oldestWorker)
			}
			continue
		}
		if minor(pool.Version) > oldest {
			c.fail("NoKubeletNewerThanAnAPIServer: %s of %s beside an API server of minor %d", a, pool.Version, oldest)
		}
		if len(have) == 0 || have[pool.Version] {
			continue
		}
		if c.git.Topology.Deferred[a.Pool] != "" {
			c.fail("DeferredStays: %s of %s", a, pool.Version)
		}
		kinds[a.Pool][pool.Version] = true
	}
	rolling := 0
	for _, name := range c.git.Topology.Order {
		if pool, _ := p.Desired.Pool(name); len(kinds[name]) > 1 && pool.Strategy != fleet.OnDelete {
			rolling++
		}
	}
	if rolling > c.git.Topology.Concurrency {
		c.fail("PoolsOneAfterTheOther: %d pools are of two versions, %d may be: %v", rolling, c.git.Topology.Concurrency, in.Desired.Topology.Order)
	}
}

// rise goes on until nothing is left to do, for people neither.
func (c *climb) rise() {
	for range 6000 {
		if p := c.step(); c.done(p) && !c.replaceOnDelete(p) {
			return
		}
	}
	_, p := c.plan()
	c.fail("ConvergesToDesired: actions %v, waiting %q", p.Actions, p.Waiting)
}

// replaceOnDelete has people replace a machine of a pool that waits for that, and
// reports whether there was one.
func (c *climb) replaceOnDelete(p plan.Plan) bool {
	for _, m := range c.machines {
		pool, _ := p.Desired.Pool(m.Pool)
		if pool.Strategy == fleet.OnDelete && m.Template != pool.Template {
			c.nodes[c.nodeName(m)].Annotations[clusterv1.RemediateMachineAnnotation] = ""
			c.logf("marked %s", m.Name)
			return true
		}
	}
	return false
}

// few has rapid draw n times in t, unless somebody asks for a number of his own: a
// life of several upgrades is long.
func few(t *testing.T, n int) {
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

// TestClimb takes clusters of a class over several minors, with pools deferred and
// machines breaking on the way: no rule about versions is ever broken, the forecast
// told what comes of it, and in the end Git has its way.
func TestClimb(t *testing.T) {
	few(t, 25)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(31, 35).Draw(t, "from")
		to := rapid.IntRange(from, 36).Draw(t, "to")
		git := drawCluster(t)
		git.ControlPlane.Replicas = min(git.ControlPlane.Replicas, 3)
		for i := range git.Workers {
			git.Workers[i].Replicas = rapid.IntRange(0, 3).Draw(t, "replicas")
			git.Workers[i].Strategy = rapid.SampledFrom([]fleet.Strategy{fleet.RollingUpdate, fleet.RollingUpdate, fleet.OnDelete}).Draw(t, "strategy")
		}
		git = change(git, upgrade(fmt.Sprintf("v1.%d.1", from)))
		classy(git, rapid.IntRange(1, 2).Draw(t, "concurrency"), classVersions(from-1)...)
		c := &climb{world: newWorld(git), t: t, git: git}
		c.lag, c.boot, c.leave = 10*time.Second, 20*time.Second, 10*time.Second
		c.rise()

		git = change(git, upgrade(fmt.Sprintf("v1.%d.4", to)))
		classy(git, git.Topology.Concurrency, append(classVersions(to-1), fmt.Sprintf("v1.%d.1", to))...)
		deferred := map[fleet.PoolName]string{}
		for _, p := range git.Workers {
			if rapid.IntRange(0, 2).Draw(t, "defer") == 0 {
				deferred[p.Name] = "an annotation"
			}
		}
		git.Topology.Deferred = deferred
		c.git, c.desired = git, git
		told := map[fleet.PoolName]string{}
		f := forecast.Of(c.input(true))
		for _, ch := range f.Changes {
			if _, version, ok := strings.Cut(ch.Reason, " → "); ok && ch.Kind == forecast.ReplaceMachine {
				told[ch.Pool], _, _ = strings.Cut(version, " ")
			}
		}
		obstacles := f.Notes
		for range rapid.IntRange(0, 2).Draw(t, "breaks") {
			for range rapid.IntRange(1, 200).Draw(t, "passes before") {
				c.step()
			}
			var up []*simMachine
			for _, m := range c.machines {
				if m.joined && !m.dead && m.Role == fleet.RoleWorker {
					up = append(up, m)
				}
			}
			if len(up) > 0 {
				c.kill(up[rapid.IntRange(0, len(up)-1).Draw(t, "break")])
			}
		}
		c.rise()
		c.settled(deferred, told, obstacles)
		git = change(git, func(*fleet.Cluster) {})
		topology := *git.Topology
		topology.Deferred, git.Topology = nil, &topology
		c.git = git
		c.rise()
		c.settled(nil, nil, nil)
	})
}

// settled checks what came of it.
func (c *climb) settled(deferred, told map[fleet.PoolName]string, obstacles []string) {
	kept := slices.DeleteFunc(c.git.Pools(), func(p fleet.Pool) bool { return p.Replicas == 0 || deferred[p.Name] == "" })
	if told != nil && len(obstacles) == 0 && len(kept) > 0 {
		c.fail("obstacles %q with %d pools deferred", obstacles, len(kept))
	}
	for _, m := range c.machines {
		p, _ := c.git.Pool(m.Pool)
		if len(deferred) == 0 && (m.Version != p.Version || m.Template != p.Template) {
			c.fail("ConvergesToDesired: machine %s of pool %s is of %s", m.Name, m.Pool, m.Version)
		}
		waits := slices.ContainsFunc(obstacles, func(o string) bool { return strings.Contains(o, "waits at "+told[m.Pool]) }) // for people, who do what it waits for
		if version := told[m.Pool]; version != "" && m.Version != version && !waits {
			c.fail("PreviewIsWhatHappens: told %q, machine %s is of %s, obstacles %q", told[m.Pool], m.Name, m.Version, obstacles)
		}
	}
}

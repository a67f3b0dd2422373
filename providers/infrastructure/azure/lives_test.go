package azure_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
	"fairlead.dev/test/run/short"
)

// A history is a life of clusters in one subscription. What VMs really run is compared with what was requested.
type history struct {
	*world

	clusters []*fleet.Cluster

	mu     sync.Mutex
	wanted map[string]bool // by cluster and machine, whether it is to be there
	failed map[string]bool // by the id of a VM, whether it failed
	said   []string
	broken []string // what was seen that may never be
}

func newHistory(t *testing.T, clusters int) *history {
	h := &history{world: newWorld(t, slowly()), wanted: map[string]bool{}, failed: map[string]bool{}}
	for i := range clusters {
		c := h.cluster(clusterSpec, machineSpec)
		c.Key.Name = fmt.Sprintf("eu-%d", i+1)
		h.clusters = append(h.clusters, &c)
	}
	h.Watch(h.judge)
	return h
}

func (h *history) sayf(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, time.Now().Format("04:05.000 ")+fmt.Sprintf(format, args...))
}

func keyOf(cluster string, name string) string { return cluster + "/" + name }

func (h *history) wants(i int, name fleet.MachineName, want bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted[keyOf(h.clusters[i].Key.Name, string(name))] = want
}

func (h *history) isWanted(c *fleet.Cluster, name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wanted[keyOf(c.Key.Name, name)]
}

// judge looks at a change before it is made.
func (h *history) judge(c azuretest.Call) {
	if !c.Changes() {
		return
	}
	h.sayf("  %s %s", c.Method, c.ID[strings.LastIndexByte(c.ID, '/')+1:])
	r, ok := h.Resource(c.ID)
	if c.Method != "DELETE virtualmachines" || !ok {
		if strings.HasPrefix(c.Method, "DELETE ") && ok && len(r.Tags) == 0 && r.Kind != "virtualnetworklinks" && r.Kind != "subnets" {
			h.breaks("OnlyOurs: %s of %s, which has no tags", c.Method, c.ID)
		}
		return
	}
	_, name, _ := strings.Cut(r.Tags["fairlead.dev_cluster"], "/")
	h.mu.Lock()
	wanted := h.wanted[keyOf(name, r.Name)]
	h.mu.Unlock()
	if wanted && r.State != "Failed" && r.State != "Deleting" && r.Runs != "" {
		h.breaks("WhatIsRequestedStays: %s of %s, which is %s", c.Method, c.ID, r.State)
	}
}

func (h *history) breaks(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = append(h.broken, fmt.Sprintf(format, args...))
}

// check compares what is there with what may be.
func (h *history) check() {
	h.Helper()
	vms := map[string]bool{}
	for _, r := range h.Resources("virtualmachines") {
		vms[strings.ToLower(r.Name)+" "+strings.ToLower(groupOf(r.ID))] = true
	}
	for _, nic := range h.Resources("networkinterfaces") {
		name := strings.TrimSuffix(strings.ToLower(nic.Name), "-nic")
		if !vms[name+" "+strings.ToLower(groupOf(nic.ID))] && strings.Contains(fmt.Sprint(nic.Body), "/backendAddressPools/") {
			h.breaks("NoInterfaceOutlivesItsVM: %s is behind a load balancer", nic.ID)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.broken) > 0 {
		h.Fatalf("%s\nafter\n%s", strings.Join(h.broken, "\n"), strings.Join(h.said, "\n"))
	}
}

// tend does for cluster i what its planner does, by an agent.
func (h *history) tend(p *azure.Provider, i int) (rest bool) {
	c, ctx := h.clusters[i], h.Context()
	got, err := p.Observe(ctx, c)
	if err != nil {
		h.sayf("Observe %s: %v", c.Key.Name, err)
		return false
	}
	if !got.Ready || len(got.Upkeep) > 0 {
		if err := p.EnsureInfrastructure(ctx, "op-infra", c); err != nil { // the next observation tells
			h.sayf("EnsureInfrastructure %s: %v", c.Key.Name, err)
		}
	}
	rest = got.Ready && len(got.Upkeep) == 0
	for _, name := range names() {
		m, wanted := machineOf(got, name), h.isWanted(c, string(name))
		there := m.Name != ""
		switch {
		case there && m.State == fleet.MachineDeleting:
			rest = false
		case there && (!wanted || m.State == fleet.MachineFailed):
			rest = false
			if m.Role == fleet.RoleControlPlane && m.State == fleet.MachineRunning && p.LeaveEndpoint(ctx, c, name, m.ProviderID) != nil {
				continue
			}
			if h.isWanted(c, string(name)) && m.State != fleet.MachineFailed {
				continue // it is wanted again
			}
			if err := p.DeleteMachine(ctx, "op-delete", c, name, m.ProviderID); err != nil { // asked for again
				h.sayf("DeleteMachine %s: %v", name, err)
			}
		case wanted && !there && got.Ready:
			rest = false
			r := request(c, name)
			r.UserData.Content = fleet.NewSecret([]byte("#cloud-config\n# " + c.Key.Name + "/" + string(name) + "\n"))
			if err := p.CreateMachine(ctx, fleet.OperationID("op-"+name), r); err != nil { // asked for again
				h.sayf("CreateMachine %s: %v", name, err)
			}
		case wanted && m.State != fleet.MachineRunning:
			rest = false
		}
	}
	return rest
}

func names() []fleet.MachineName { return []fleet.MachineName{"cp-0", "cp-1", "cp-2", "m-0"} }

// dismantled deletes what clusters share, and checks that nothing is left.
func (h *history) dismantled(p *azure.Provider) {
	h.Helper()
	for _, c := range h.clusters {
		gone := *c
		gone.Delete = true
		for n := 0; ; n++ {
			if err := p.DeleteInfrastructure(h.Context(), "op-delete", &gone); err != nil {
				h.sayf("DeleteInfrastructure: %v", err)
			}
			time.Sleep(settle)
			got, err := p.Observe(h.Context(), &gone)
			if err == nil && !got.Exists {
				break
			}
			if n > 60 {
				h.Fatalf("%s is there: %+v, %v\nafter\n%s", c.Key, got, err, strings.Join(h.said, "\n"))
			}
		}
	}
	for _, r := range h.Resources("") {
		h.Errorf("NothingIsLeft: %s", r.ID)
	}
}

// A swept is the life of one cluster whose agent ends at a change.
type swept struct {
	*history
	agent *azure.Provider
	dead  atomic.Bool
	died  bool
	cut   func() int
}

// TestSweep: at whatever change an agent ends, before Azure has it or when the answer is on its way, one that knows
// nothing goes on to where a life without trouble ends. What is requested stays, no interface outlives its VM, and
// nothing is left.
func TestSweep(t *testing.T) {
	t.Parallel()
	changes := 0
	synctest.Test(t, func(t *testing.T) {
		s := newSwept(t)
		s.live()
		for _, c := range s.Calls() {
			if c.Changes() {
				changes++
			}
		}
	})
	if changes < 25 {
		t.Fatalf("a life has %d changes: too few to be one", changes)
	}
	for n := 1; n <= changes; n++ {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d %s", n, map[bool]string{true: "before", false: "after"}[before]), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newSwept(t)
					s.dieAt(n, before)
					s.live()
					if !s.died && n < changes/2 {
						t.Errorf("this life had fewer than %d changes", n)
					}
				})
			})
		}
	}
	t.Logf("a life asks Azure for %d changes; agents end at each, before and after", changes)
}

func newSwept(t *testing.T) *swept {
	s := &swept{history: newHistory(t, 1)}
	s.agent = s.provider()
	return s
}

// dieAt ends the agent at its nth change. Nothing of it reaches Azure after that.
func (s *swept) dieAt(n int, before bool) {
	s.Inject(azuretest.Fault{Changes: true, Skip: n - 1, Times: 1, Cut: before, Lose: !before, Do: func(c azuretest.Call) {
		s.sayf("the agent ends at %s", c.Method)
		s.cut = s.Inject(azuretest.Fault{Cut: true})
		s.dead.Store(true)
	}})
}

// reborn replaces an agent that ended.
func (s *swept) reborn() bool {
	if !s.dead.CompareAndSwap(true, false) {
		return false
	}
	s.died = true
	s.cut()
	s.agent = s.provider()
	time.Sleep(settle)
	return true
}

// reach tends the cluster until it is as requested.
func (s *swept) reach(what string) {
	s.Helper()
	for range 200 {
		rest := s.tend(s.agent, 0)
		s.check()
		if !s.reborn() && rest {
			return
		}
		time.Sleep(tick)
	}
	s.Fatalf("not %s: after\n%s", what, strings.Join(s.said, "\n"))
}

// live: two servers and a worker are made, a server is replaced, all go.
func (s *swept) live() {
	s.Helper()
	for _, name := range []fleet.MachineName{"cp-0", "cp-1", "m-0"} {
		s.wants(0, name, true)
	}
	s.reach("made")
	s.wants(0, "cp-2", true)
	s.reach("one more")
	s.wants(0, "cp-0", false)
	s.reach("one replaced")
	if got := s.served(s.clusters[0], "rg-2"); !slices.Equal(got, []fleet.MachineName{"cp-1", "cp-2"}) {
		s.Errorf("the endpoint leads to %v, want cp-1 and cp-2", got)
	}
	for _, name := range names() {
		s.wants(0, name, false)
	}
	s.reach("empty")
	c := *s.clusters[0]
	c.Delete = true
	for n := 0; ; n++ {
		_ = s.agent.DeleteInfrastructure(s.Context(), "op-delete", &c) // asked for again
		time.Sleep(settle)
		got, err := s.agent.Observe(s.Context(), &c)
		if !s.reborn() && err == nil && !got.Exists {
			break
		}
		if n > 60 {
			s.Fatalf("it is there: %+v, %v\nafter\n%s", got, err, strings.Join(s.said, "\n"))
		}
	}
	for _, r := range s.Resources("") {
		s.Errorf("NothingIsLeft: %s", r.ID)
	}
}

// TestHistories: two agents tend two clusters at one time, each of them both, while answers are lost, Azure is busy,
// zones have no room and people are at VMs. What is requested stays, no interface outlives its VM, and in the end all
// is as requested, and then nothing is left.
func TestHistories(t *testing.T) {
	t.Parallel()
	seeds := short.Number(t, 4, 30)
	if n, err := strconv.Atoi(os.Getenv("FAIRLEAD_HISTORIES")); err == nil {
		seeds = n
	}
	var lives, made atomic.Int64
	t.Cleanup(func() { // when all lives have ended
		if got, n := made.Load(), lives.Load(); got < 4*n && !t.Failed() {
			t.Errorf("only %d VMs were made in %d lives", got, n)
		}
	})
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &lived{history: newHistory(t, 2), r: rand.New(rand.NewPCG(uint64(seed), 1))} //nolint:gosec // the same each time
				made.Add(int64(l.live()))
				lives.Add(1)
			})
		})
	}
}

// A lived is a random life.
type lived struct {
	*history
	r      *rand.Rand
	agents [2]*azure.Provider
	faults []func() int
}

// live returns how many VMs were made.
func (l *lived) live() int {
	l.Helper()
	l.agents = [2]*azure.Provider{l.provider(), l.provider()}
	var wait sync.Mutex
	l.Watch(func(c azuretest.Call) {
		wait.Lock()
		pause := time.Duration(l.r.IntN(400)) * time.Millisecond
		wait.Unlock()
		time.Sleep(pause) // agents overtake each other
		l.judge(c)
	})
	for range 60 {
		wait.Lock()
		l.event()
		wait.Unlock()
		l.both()
		l.check()
		time.Sleep(tick)
	}
	l.calm()
	for i := range l.clusters {
		for _, name := range names() {
			l.wants(i, name, l.r.IntN(2) == 0)
		}
	}
	l.settled("as requested")
	for i := range l.clusters {
		for _, name := range names() {
			l.wants(i, name, false)
		}
	}
	l.settled("empty")
	l.dismantled(l.agents[0])
	made := 0
	for _, c := range l.Calls() {
		if c.Method == "PUT virtualmachines" && c.Status == 201 {
			made++
		}
	}
	l.Logf("%d requests, %d VMs were made", len(l.Calls()), made)
	return made
}

// calm ends all trouble. Agents know nothing any more.
func (l *lived) calm() {
	for _, end := range l.faults {
		end()
	}
	l.FailVMs("")
	l.Jam(false)
	for _, zone := range []string{"1", "2", "3"} {
		l.Fill(size, zone, "", false)
	}
	l.agents = [2]*azure.Provider{l.provider(), l.provider()}
}

// both has each agent tend each cluster, at one time.
func (l *lived) both() bool {
	var all sync.WaitGroup
	var busy atomic.Bool
	for _, p := range l.agents {
		for i := range l.clusters {
			all.Go(func() {
				if !l.tend(p, i) {
					busy.Store(true)
				}
			})
		}
	}
	all.Wait()
	return !busy.Load()
}

func (l *lived) settled(what string) {
	l.Helper()
	for range 150 {
		rest := l.both()
		l.check()
		if rest {
			return
		}
		time.Sleep(tick)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Fatalf("not %s: %v\nafter\n%s", what, slices.Sorted(maps.Keys(l.wanted)), strings.Join(l.said[max(0, len(l.said)-80):], "\n"))
}

// event lets something happen.
func (l *lived) event() {
	yes := l.r.IntN(2) == 0
	inject := func(f azuretest.Fault) {
		f.Times, f.Skip = 1, l.r.IntN(3)
		l.sayf("fault %+v", f)
		l.faults = append(l.faults, l.Inject(f))
	}
	zone := strconv.Itoa(1 + l.r.IntN(3))
	switch l.r.IntN(13) {
	case 0, 1, 2, 3:
		i, name := l.r.IntN(2), names()[l.r.IntN(4)]
		l.sayf("machine %s of cluster %d is requested: %t", name, i, yes)
		l.wants(i, name, yes)
	case 4:
		inject(azuretest.Fault{Changes: true, Lose: true})
	case 5:
		inject(azuretest.Fault{Changes: true, Status: 500, Code: "InternalServerError"})
	case 6:
		inject(azuretest.Fault{Changes: true, Status: 409, Code: "AnotherOperationInProgress", Message: "Another operation is in progress."})
	case 7:
		inject(azuretest.Fault{Cut: true})
	case 8:
		inject(azuretest.Fault{Method: "LIST *", Status: 503, Code: "ServiceUnavailable"})
	case 9:
		l.sayf("zone %s is full: %t", zone, yes)
		if yes {
			l.Fill(size, zone, "ZonalAllocationFailed", l.r.IntN(2) == 0)
		} else {
			l.Fill(size, zone, "", false)
		}
	case 10:
		l.sayf("VMs fail: %t", yes)
		if l.FailVMs(""); yes {
			l.FailVMs("OSProvisioningInternalError")
		}
	case 11:
		l.agents[l.r.IntN(2)] = l.provider()
		l.sayf("another agent")
	case 12:
		l.sayf("the endpoint is jammed: %t", yes)
		l.Jam(yes)
	}
}

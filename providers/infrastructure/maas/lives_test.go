package maas_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
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
	"fairlead.dev/providers/infrastructure/maas"
	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/test/run/short"
)

// A history is a life of clusters in one region. What hosts really do is compared with what was wished for.
type history struct {
	*world

	clusters []*fleet.Cluster

	mu     sync.Mutex
	wishes map[string]*wish // by cluster and machine
	said   []string
	broken []string // what was seen that may never be
}

// A wish is for a machine of a cluster.
type wish struct {
	cluster int
	name    fleet.MachineName
	gone    bool   // it is to go
	host    string // where it runs; empty: it never did, or people ended it
}

func newHistory(t *testing.T, hosts, clusters int) *history {
	h := &history{world: newWorld(t, hosts), wishes: make(map[string]*wish)}
	for i := range clusters {
		c := h.cluster()
		c.Key.Name = fmt.Sprintf("eu-%d", i+1)
		h.clusters = append(h.clusters, &c)
	}
	h.Watch(h.judge)
	return h
}

func (h *history) sayf(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (h *history) wants(cluster int, name fleet.MachineName, want bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := fmt.Sprint(cluster, name)
	if h.wishes[k] == nil {
		h.wishes[k] = &wish{cluster: cluster, name: name}
	}
	h.wishes[k].gone = !want
}

// textOf is what the machine of w has as user data.
func (h *history) textOf(w *wish) string {
	return "#cloud-config\n# " + h.clusters[w.cluster].Key.Name + "/" + string(w.name) + "\n"
}

// living returns the wish whose machine runs on a host with that user data, and is to stay. The lock is held.
func (h *history) living(host, runs string) *wish {
	for _, w := range h.wishes {
		if w.host == host && !w.gone && h.textOf(w) == runs {
			return w
		}
	}
	return nil
}

// judge looks at a change before it is made.
func (h *history) judge(c maastest.Call) {
	if !c.Changes() {
		return
	}
	h.sayf("  %s %s", c.Method, c.Form.Get("system_id"))
	id, op, _ := strings.Cut(strings.TrimPrefix(c.Method, "POST machines/"), "/ ")
	if op != "release" && op != "deploy" {
		return
	}
	m, hw := h.Machine(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.living(id, string(hw.Runs)); w != nil && m.Status == maastest.Deployed && m.OSystem != "" {
		h.broken = append(h.broken, fmt.Sprintf("WhatIsWishedForStays: %s of host %s, which has machine %s", op, m.Hostname, w.name))
	}
}

// check compares what hosts do with what is wished for.
func (h *history) check() {
	h.Helper()
	all := h.Machines()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.wishes {
		var at []string
		for _, m := range all {
			h.mu.Unlock()
			_, hw := h.Machine(m.SystemID)
			h.mu.Lock()
			if string(hw.Runs) == h.textOf(w) {
				at = append(at, m.SystemID)
			}
		}
		if len(at) > 1 {
			h.broken = append(h.broken, fmt.Sprintf("OneHostPerMachine: %s runs on %v", w.name, at))
		}
		if len(at) == 1 && w.host == "" {
			w.host = at[0]
		}
		if len(at) == 0 && w.gone {
			w.host = ""
		}
	}
	if len(h.broken) > 0 {
		h.Fatalf("%s\nafter\n%s", strings.Join(h.broken, "\n"), strings.Join(h.said, "\n"))
	}
}

// tend does for cluster i what its planner does, by an agent.
func (h *history) tend(p *maas.Provider, i int) (rest bool) {
	c, ctx := h.clusters[i], h.Context()
	got, err := p.Observe(ctx, c)
	if err != nil {
		h.sayf("Observe %s: %v", c.Key.Name, err)
		return false
	}
	if !got.Ready || len(got.Upkeep) > 0 {
		_ = p.EnsureInfrastructure(ctx, "op-infra", c) // the next observation tells
	}
	h.mu.Lock()
	wishes := maps.Clone(h.wishes)
	h.mu.Unlock()
	rest = true
	for _, k := range slices.Sorted(maps.Keys(wishes)) {
		w := wishes[k]
		m := machineOf(got, w.name)
		for _, other := range got.Machines { // a claim that was given up stays beside the machine
			if w.cluster == i && other.Name == w.name && other.ProviderID != m.ProviderID && other.State == fleet.MachineFailed {
				if m.State == fleet.MachineFailed {
					continue
				}
				rest = false
				_ = p.DeleteMachine(ctx, "op-delete", c, w.name, other.ProviderID)
			}
		}
		there := m.Name != "" && m.State != fleet.MachineReleased
		h.mu.Lock()
		gone := w.gone
		h.mu.Unlock()
		switch {
		case w.cluster != i:
		case there && (gone || m.State == fleet.MachineFailed) || m.Interrupted:
			rest = false
			if m.State == fleet.MachineDeleting && !m.Interrupted {
				continue
			}
			if !gone { // it is replaced
				h.mu.Lock()
				w.host = ""
				h.mu.Unlock()
			}
			if m.Role == fleet.RoleControlPlane && m.State == fleet.MachineRunning && p.LeaveEndpoint(ctx, c, w.name, m.ProviderID) != nil {
				continue
			}
			_ = p.DeleteMachine(ctx, "op-delete", c, w.name, m.ProviderID) // asked for again
		case !gone && !there && got.Ready:
			rest = false
			r := request(c, w.name)
			if strings.HasPrefix(string(w.name), "cp-") {
				r.Pool = c.ControlPlane
			}
			r.UserData.Content = fleet.NewSecret([]byte(h.textOf(w)))
			if err := p.CreateMachine(ctx, fleet.OperationID("op-"+w.name), r); err != nil { // asked for again
				h.sayf("CreateMachine %s: %v", w.name, err)
			}
		case !gone && m.State != fleet.MachineRunning:
			rest = false
		}
	}
	return rest && got.Ready && len(got.Upkeep) == 0 && !slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.State == fleet.MachineReleased })
}

// ended checks that nothing is left: every host is off, erased and free, and no name is there.
func (h *history) ended() {
	h.Helper()
	for _, m := range h.Machines() {
		if _, hw := h.Machine(m.SystemID); hw.On || hw.OnDisk != nil || m.Owner != "" {
			h.Errorf("NothingIsLeft: host %+v, %+v", m, hw)
		}
	}
	if names := h.Names(); len(names) > 0 {
		h.Errorf("NothingIsLeft: names %v", names)
	}
}

// A swept is the life of one cluster whose agent ends at a change.
type swept struct {
	*history
	agent *maas.Provider
	dead  atomic.Bool
	died  bool
	cut   func() int
}

// TestSweep: at whatever change an agent ends, before MAAS has it or when the answer is on its way, one that knows
// nothing goes on to where a life without trouble ends. No machine is on two hosts at any time, what is wished for
// stays, and nothing is left.
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
	t.Logf("a life asks MAAS for %d changes; agents end at each, before and after", changes)
}

func newSwept(t *testing.T) *swept {
	s := &swept{history: newHistory(t, 4, 1)}
	s.agent = s.provider()
	return s
}

// dieAt ends the agent at its nth change. Nothing of it reaches MAAS after that.
func (s *swept) dieAt(n int, before bool) {
	s.Inject(maastest.Fault{Changes: true, Skip: n - 1, Times: 1, Cut: before, Lose: !before, Do: func(c maastest.Call) {
		s.sayf("the agent ends at %s", c.Method)
		s.cut = s.Inject(maastest.Fault{Cut: true})
		s.dead.Store(true)
	}})
}

// reach tends the cluster until it is as it is wished for, and as is says.
func (s *swept) reach(what string, is func(fleet.Infrastructure) bool) {
	s.Helper()
	for range 600 {
		rest := s.tend(s.agent, 0)
		if s.dead.CompareAndSwap(true, false) {
			s.died = true
			s.cut()
			s.agent = s.provider()
			continue
		}
		s.check()
		if rest {
			got, err := s.agent.Observe(s.Context(), s.clusters[0])
			if err == nil && is(got) {
				return
			}
		}
		time.Sleep(2 * tick)
	}
	s.Fatalf("not %s: after\n%s", what, strings.Join(s.said, "\n"))
}

// live: two servers and a worker are made, the worker is rebooted, a server is replaced, all go.
func (s *swept) live() {
	s.Helper()
	c := s.clusters[0]
	always := func(fleet.Infrastructure) bool { return true }
	for _, name := range []fleet.MachineName{"cp-0", "cp-1", "m-0"} {
		s.wants(0, name, true)
	}
	s.reach("made", always)
	for _, to := range []fleet.HostPower{fleet.HostOff, fleet.HostOn} {
		got, err := s.agent.Observe(s.Context(), c)
		if err != nil {
			s.Fatal(err)
		}
		id := machineOf(got, "m-0").ProviderID
		c.Rebooting = []fleet.Reboot{{Machine: "m-0", ProviderID: id, Off: to == fleet.HostOff}}
		s.reach(string(to), func(i fleet.Infrastructure) bool {
			if machineOf(i, "m-0").Power == to {
				return true
			}
			_ = s.agent.SwitchMachine(s.Context(), "op-switch", c, "m-0", id, to) // asked for again
			return false
		})
	}
	c.Rebooting = nil
	s.wants(0, "cp-2", true)
	s.wants(0, "cp-0", false)
	s.reach("one replaced", func(i fleet.Infrastructure) bool { return machineOf(i, "cp-0").Name == "" })
	if addresses, _, _ := s.Lookup(s.Names()[0]); len(addresses) != 2 {
		s.Errorf("the name leads to %v, want two servers", addresses)
	}
	for _, name := range []fleet.MachineName{"cp-1", "cp-2", "m-0"} {
		s.wants(0, name, false)
	}
	s.reach("empty", func(i fleet.Infrastructure) bool {
		if len(i.Machines) > 0 {
			return false
		}
		_ = s.agent.DeleteInfrastructure(s.Context(), "op-delete", c) // asked for again
		return len(s.Names()) == 0
	})
	s.ended()
}

// TestHistories: two agents tend two clusters at one time, each of them both, while answers are lost, MAAS is busy,
// hosts fail and people are at them. No machine is on two hosts, nothing that is wished for is released, and in
// the end all is as it is wished for.
func TestHistories(t *testing.T) {
	t.Parallel()
	seeds := short.Number(t, 8, 60)
	if n, err := strconv.Atoi(os.Getenv("FAIRLEAD_HISTORIES")); err == nil {
		seeds = n
	}
	var lives, deployed atomic.Int64
	t.Cleanup(func() { // when all lives have ended
		if got, n := deployed.Load(), lives.Load(); got < 4*n && !t.Failed() {
			t.Errorf("only %d machines were deployed in %d lives", got, n)
		}
	})
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &lived{history: newHistory(t, 7, 2), r: rand.New(rand.NewPCG(uint64(seed), 1))} //nolint:gosec // the same each time
				deployed.Add(int64(l.live()))
				lives.Add(1)
			})
		})
	}
}

// A lived is a random life.
type lived struct {
	*history
	r      *rand.Rand
	agents [2]*maas.Provider
	faults []func() int
}

// live returns how many machines were deployed.
func (l *lived) live() int {
	l.Helper()
	l.agents = [2]*maas.Provider{l.provider(), l.provider()}
	var wait sync.Mutex
	l.Watch(func(c maastest.Call) {
		wait.Lock()
		pause := time.Duration(l.r.IntN(40)) * time.Millisecond
		wait.Unlock()
		time.Sleep(pause) // agents overtake each other
		l.judge(c)
	})
	for range 120 {
		wait.Lock()
		l.event()
		wait.Unlock()
		l.both()
		l.check()
		time.Sleep(2 * tick)
	}
	l.calm()
	for i := range l.clusters {
		for _, name := range names() {
			l.wants(i, name, l.r.IntN(2) == 0)
		}
	}
	l.until("as it is wished for")
	for i := range l.clusters {
		for _, name := range names() {
			l.wants(i, name, false)
		}
	}
	l.until("empty")
	for _, c := range l.clusters {
		if err := l.agents[0].DeleteInfrastructure(l.Context(), "op-delete", c); err != nil {
			l.Error(err)
		}
	}
	l.ended()
	deployed := 0
	for _, c := range l.Calls() {
		if strings.HasSuffix(c.Method, " deploy") && c.Status == http.StatusOK {
			deployed++
		}
	}
	l.Logf("%d requests, %d machines were deployed", len(l.Calls()), deployed)
	return deployed
}

func names() []fleet.MachineName { return []fleet.MachineName{"cp-0", "cp-1", "m-0"} }

// calm ends all trouble. Agents know nothing any more.
func (l *lived) calm() {
	for _, end := range l.faults {
		end()
	}
	for _, m := range l.Machines() {
		l.Change(m.SystemID, func(m *maastest.Machine, h *maastest.Host) {
			m.Locked, h.NoBMC, h.BadDisk, h.NeverErases = false, false, false, false
		})
	}
	l.agents = [2]*maas.Provider{l.provider(), l.provider()}
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

func (l *lived) until(what string) {
	l.Helper()
	for range 300 {
		rest := l.both()
		l.check()
		if rest {
			return
		}
		time.Sleep(2 * tick)
	}
	var hosts strings.Builder
	for _, m := range l.Machines() {
		_, hw := l.Machine(m.SystemID)
		fmt.Fprintf(&hosts, "%s status %d power %s owner %q %s; %+v\n", m.SystemID, m.Status, m.Power, m.Owner, m.Annotations["fairlead"], hw)
	}
	l.Fatalf("not %s:\n%s\nafter\n%s", what, &hosts, strings.Join(l.said[max(0, len(l.said)-60):], "\n"))
}

// event lets something happen.
func (l *lived) event() {
	all := l.Machines()
	m := all[l.r.IntN(len(all))]
	change := func(what string, f func(m *maastest.Machine, h *maastest.Host)) {
		l.sayf("%s of %s", what, m.SystemID)
		l.Change(m.SystemID, f)
	}
	yes := l.r.IntN(2) == 0
	inject := func(f maastest.Fault) {
		f.Times, f.Skip = 1, l.r.IntN(3)
		l.sayf("fault %+v", f)
		l.faults = append(l.faults, l.Inject(f))
	}
	switch l.r.IntN(16) {
	case 0, 1, 2, 3:
		i, name := l.r.IntN(2), names()[l.r.IntN(3)]
		l.sayf("machine %s of cluster %d is wished for: %t", name, i, yes)
		l.wants(i, name, yes)
	case 4:
		inject(maastest.Fault{Changes: true, Lose: true})
	case 5:
		inject(maastest.Fault{Changes: true, Status: http.StatusServiceUnavailable, After: yes})
	case 6:
		inject(maastest.Fault{Changes: true, Status: http.StatusConflict, Header: http.Header{"Retry-After": {"5"}}})
	case 7:
		inject(maastest.Fault{Cut: true})
	case 8:
		inject(maastest.Fault{Method: "GET */*", Status: http.StatusInternalServerError})
	case 9:
		change(fmt.Sprintf("BMC is silent %t", yes), func(_ *maastest.Machine, h *maastest.Host) { h.NoBMC = yes })
	case 10:
		change(fmt.Sprintf("bad disk %t", yes), func(_ *maastest.Machine, h *maastest.Host) { h.BadDisk = yes })
	case 11:
		change(fmt.Sprintf("no erasure %t", yes), func(_ *maastest.Machine, h *maastest.Host) { h.NeverErases = yes })
	case 12:
		change(fmt.Sprintf("lock %t", yes), func(m *maastest.Machine, _ *maastest.Host) { m.Locked = yes })
	case 13:
		change("power failure", func(m *maastest.Machine, h *maastest.Host) {
			if m.Status == maastest.Deployed {
				h.On, h.Runs, m.Power = false, nil, "off"
			}
		})
	case 14:
		l.agents[l.r.IntN(2)] = l.provider()
		l.sayf("another agent")
	case 15:
		if m.Status == maastest.Deployed && !m.Locked {
			l.mu.Lock()
			for _, w := range l.wishes {
				if w.host == m.SystemID {
					w.host = ""
				}
			}
			l.mu.Unlock()
			change("people mark it broken", func(m *maastest.Machine, h *maastest.Host) {
				m.Status, m.ErrorText, m.Power, h.On, h.Runs = maastest.Broken, "smoke", "off", false, nil
			})
		}
	}
}

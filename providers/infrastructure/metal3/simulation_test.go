package metal3_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/run/short"
	"fairlead.dev/test/run/waits"
)

// A history is a random life of hosts: two clusters take machines from one inventory, each by an
// agent of its own, while agents die, BMCs are silent, answers are lost, people press buttons and
// Ironic loses its database. What hosts really do is compared with what was wished for.
type history struct {
	*world
	r        *rand.Rand
	clusters []*fleet.Cluster
	agents   []*metal3.Provider
	faults   map[string]*metal3test.Injected // of BMCs, by host
	said     []string
	git      map[string]string // what Git says of a setting of hosts' firmware, by host
	moved    string            // the host that has the address of another one's BMC in Git; empty: none has

	mu     sync.Mutex
	off    map[string]bool // hosts that people keep off
	wishes map[fleet.MachineName]*wish
	broken []string // what was seen that may never be
}

// A wish is for a machine.
type wish struct {
	cluster int
	gone    bool   // it is to go
	host    string // where it runs; empty: it never did
	disk    string // what its host was deployed with
}

// TestHistories: whatever happens, no machine is on two hosts, none that is wished for is released or
// loses its disk, no host is cleaned, inspected or deployed to while one runs on it, nor serviced but
// while people keep it off, agents that start anew know every machine, and free hosts are prepared as
// Git says in the end.
func TestHistories(t *testing.T) {
	t.Parallel()
	seeds := short.Number(t, 1, 4)
	if n, err := strconv.Atoi(os.Getenv("FAIRLEAD_HISTORIES")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			newHistory(t, uint64(seed)).live()
		})
	}
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{
		world: doubled(t, "m1", "m2", "m3", "m4"), r: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // the same each time
		faults: make(map[string]*metal3test.Injected), wishes: make(map[fleet.MachineName]*wish),
		git: make(map[string]string), off: make(map[string]bool),
	}
	for i := range 2 {
		c := h.c
		c.Key.Name = fmt.Sprintf("eu-%d", i+1)
		h.clusters = append(h.clusters, &c)
		h.agents = append(h.agents, h.agent())
	}
	h.Watch(h.judge)
	return h
}

// agent returns a provider that knows nothing yet. It tries again before others take a host that is new
// to Ironic for nobody's.
func (h *history) agent() *metal3.Provider {
	p := metal3.New(metal3.Options{Ironic: ironic.Options{Rate: 10_000}, Tick: tick, Settle: 2 * time.Second, Retry: retry / 2})
	h.Cleanup(p.Close)
	return p
}

func (h *history) sayf(format string, args ...any) {
	h.said = append(h.said, fmt.Sprintf(format, args...))
}

// violates notes what may never be.
func (h *history) violates(guard, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = append(h.broken, guard+": "+fmt.Sprintf(format, args...))
}

// judge looks at a change that an agent asks Ironic for, before it is made.
func (h *history) judge(call metal3test.Call) {
	method, rest, ok := strings.Cut(call.Method, " /v1/nodes/")
	id, what, _ := strings.Cut(rest, "/")
	if !ok || !call.Changes() {
		return
	}
	name := strings.TrimPrefix(h.NodeName(id), h.namespace+"~")
	w, machine := h.living(name)
	for _, verb := range []string{"deleted", "provide", "inspect", "active", "clean", "rebuild", "service", "manage", "adopt", "power on", "power off", "remove", "/instance_uuid"} {
		if call.Contains(`"` + verb + `"`) {
			what += " " + verb
		}
	}
	h.sayf("  %s of host %s: %s", method, name, what)
	verb, _ := strings.CutPrefix(what, "states/provision ")
	h.mu.Lock()
	off := h.off[name]
	h.mu.Unlock()
	if w != nil && !w.gone && verb == "service" && !off {
		h.violates("NobodyIsDisturbed", "host %s is serviced, which has machine %s", name, machine)
	}
	if w != nil && !w.gone && slices.Contains([]string{"deleted", "provide", "inspect", "active", "clean", "rebuild"}, verb) {
		h.violates("WhatIsWishedForStays", "%s of host %s, which has machine %s", verb, name, machine)
	}
}

func (h *history) names() []string { return slices.Sorted(maps.Keys(h.hosts)) }

// living returns the machine that has the host called name by what is on its disk, where that is one
// which runs there: off or on.
func (h *history) living(name string) (*wish, fleet.MachineName) {
	host := h.hosts[name]
	if host == nil {
		return nil, ""
	}
	d := host.State().Disk
	machine := machineOn(d)
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.wishes[machine]
	if w == nil || w.host != name || w.disk != d.ID {
		return nil, machine
	}
	return w, machine
}

// machineOn returns the machine that a disk was written for.
func machineOn(d *metal3test.Disk) fleet.MachineName {
	if d == nil {
		return ""
	}
	var meta map[string]string
	if json.Unmarshal([]byte(d.Drive["meta_data.json"]), &meta) != nil {
		return ""
	}
	id := meta["providerid"]
	return fleet.MachineName(id[strings.LastIndex(id, "/")+1:])
}

// check compares what hosts do with what is wished for.
func (h *history) check() {
	h.Helper()
	at := make(map[fleet.MachineName]string)
	for _, name := range h.names() {
		s := h.hosts[name].State()
		machine := machineOn(s.Disk)
		h.mu.Lock()
		w := h.wishes[machine]
		if w != nil && s.Running == metal3test.OnDisk {
			if w.host == "" {
				w.host, w.disk = name, s.Disk.ID
			}
			if at[machine] != "" && !w.gone {
				h.broken = append(h.broken, fmt.Sprintf("OneHostPerMachine: %s is on %s and %s", machine, at[machine], name))
			}
			at[machine] = name
		}
		h.mu.Unlock()
	}
	h.mu.Lock()
	for machine, w := range h.wishes {
		if d := (*metal3test.Disk)(nil); w.host != "" && !w.gone {
			if d = h.hosts[w.host].State().Disk; d == nil || d.ID != w.disk {
				h.broken = append(h.broken, fmt.Sprintf("WhatIsWishedForStays: the disk of %s, which has machine %s, is %+v", w.host, machine, d))
			}
		}
	}
	broken := h.broken
	h.mu.Unlock()
	if len(broken) > 0 {
		h.Fatalf("%s\nafter %s", strings.Join(broken, "\n"), strings.Join(h.said, "\n"))
	}
}

// tend does for cluster i what its planner does.
func (h *history) tend(i int) (fleet.Infrastructure, bool) {
	c, p := h.clusters[i], h.agents[i]
	got, err := p.Observe(h.Context(), c)
	if err != nil {
		return got, false
	}
	residence := fleet.Residence{Provider: "metal3"}
	for _, at := range got.Places {
		residence.Places = append(residence.Places, at.Place)
	}
	c.Residence = residence
	if !got.Ready || len(got.Upkeep) > 0 {
		_ = p.EnsureInfrastructure(h.Context(), "op-infra", c) // the next look tells
	}
	h.mu.Lock()
	wishes := maps.Clone(h.wishes)
	h.mu.Unlock()
	rest := true
	for _, name := range slices.Sorted(maps.Keys(wishes)) {
		w, m := wishes[name], machineOf(got, name)
		there := m.Name != "" && m.State != fleet.MachineReleased
		switch {
		case w.cluster != i:
		case w.gone && there && (m.State != fleet.MachineDeleting || m.Interrupted):
			_ = p.DeleteMachine(h.Context(), "op-delete", c, name, m.ProviderID) // asked for again
			rest = false
		case w.gone && there:
			rest = false
		case !w.gone && m.State == fleet.MachineFailed:
			h.mu.Lock()
			w.gone = true
			h.mu.Unlock()
			rest = false
		case !w.gone && !there && got.Ready:
			_ = p.CreateMachine(h.Context(), fleet.OperationID("op-"+string(name)), request(c, name)) // asked for again
			rest = false
		case !w.gone && m.State != fleet.MachineRunning:
			rest = false
		}
	}
	return got, rest && got.Ready && len(got.Upkeep) == 0
}

// both tends both clusters at one time.
func (h *history) both() bool {
	var all sync.WaitGroup
	rest := make([]bool, len(h.clusters))
	for i, c := range h.clusters { // from the status branch
		c.NeighborPlaces = h.clusters[1-i].Residence.Extras()
	}
	for i := range h.clusters {
		all.Go(func() { _, rest[i] = h.tend(i) })
	}
	all.Wait()
	return rest[0] && rest[1]
}

// live lets things happen, and then waits until all is as it is wished for.
func (h *history) live() {
	h.Helper()
	for range 90 {
		h.event()
		if h.r.IntN(3) > 0 {
			h.both()
		}
		h.check()
		h.pause()
	}
	for name := range h.faults {
		h.faults[name].End()
	}
	h.calm()
}

// calm waits until both clusters have what they wish for, by agents that know nothing yet. People
// switch off what runs and nobody wishes for: hosts that are on when they are enrolled are held.
func (h *history) calm() {
	h.Helper()
	for i := range h.agents {
		h.agents[i] = h.agent()
	}
	for name := range h.off {
		h.keepOff(name, false)
	}
	h.mistake("")
	for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline); h.pause() {
		for _, name := range h.names() {
			if w, _ := h.living(name); (w == nil || w.gone) && h.held(name) {
				h.hosts[name].Press(false)
			}
		}
		rest := h.both()
		h.check()
		if rest {
			h.shown()
			return
		}
	}
	seen, _ := h.tend(0)
	text, _ := json.MarshalIndent(seen, "", " ")
	h.Fatalf("it does not come to rest: %s\nwishes %s\nafter %s", text, h.wished(), strings.Join(h.said, "\n"))
}

// held reports whether something may run on a host, and nobody knows what.
func (h *history) held(name string) bool {
	got, err := h.agents[0].Observe(h.Context(), h.clusters[0])
	return err == nil && strings.Contains(hostOf(got, name).Held, "it is switched on")
}

// shown checks that agents that know nothing yet show each machine that is wished for.
func (h *history) shown() {
	h.Helper()
	for i := range h.clusters {
		h.agents[i] = h.agent()
		got, err := h.agents[i].Observe(h.Context(), h.clusters[i])
		if err != nil {
			h.Fatal(err)
		}
		for name, w := range h.wishes {
			if m := machineOf(got, name); w.cluster == i && !w.gone && (m.State != fleet.MachineRunning || m.Damaged != "") {
				h.Errorf("NothingIsLost: machine %s is shown as %+v", name, m)
			}
		}
	}
	last, _ := h.tend(0)
	for name, want := range h.git {
		if at := hostOf(last, name); at.Free() && h.hosts[name].State().Settings["ProcVirtualization"] != want {
			h.Errorf("Prepared: Git says %s of host %s, which has %v", want, name, h.hosts[name].State().Settings)
		}
	}
}

func (h *history) wished() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.wishes)) {
		fmt.Fprintf(&b, "%s %+v; ", name, *h.wishes[name])
	}
	return b.String()
}

package metal3_test

import (
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// event has something happen.
func (h *history) event() {
	name := h.names()[h.r.IntN(len(h.hosts))]
	switch n := h.r.IntN(24); {
	case n < 6:
		h.wishFor(h.r.IntN(len(h.clusters)))
	case n < 9:
		h.unwish()
	case n < 11:
		i := h.r.IntN(len(h.agents))
		h.sayf("agent %d is another one", i)
		h.agents[i] = h.agent()
	case n < 13:
		if f := h.faults[name]; f != nil {
			h.sayf("the BMC of %s answers again", name)
			f.End()
			delete(h.faults, name)
			return
		}
		h.sayf("the BMC of %s is silent", name)
		h.faults[name] = h.FailHosts(metal3test.HostFault{Host: h.hosts[name].Name(), At: metal3test.AtRequest})
	case n < 15:
		on := h.r.IntN(2) == 0
		h.sayf("somebody presses %s: on %t", name, on)
		h.hosts[name].Press(on)
	case n < 18:
		f := metal3test.CallFault{Changes: true, Times: 1 + h.r.IntN(3), Lose: h.r.IntN(2) == 0}
		f.Cut = !f.Lose
		h.sayf("answers are lost: %t, or requests", f.Lose)
		h.FailCalls(f)
	case n == 18 && len(h.faults) == 0:
		h.sayf("Ironic loses its database")
		h.both() // what runs is remembered
		h.check()
		if err := h.LoseDatabase(h.Context()); err != nil {
			h.Fatal(err)
		}
	case n == 19 || n == 20:
		h.git[name] = []string{"Enabled", "Disabled", "Auto"}[h.r.IntN(3)]
		h.sayf("Git says ProcVirtualization of %s: %s", name, h.git[name])
		for _, c := range h.clusters {
			h.settings(c, name, virtualization(h.git[name]))
		}
	case n == 21 || n == 22:
		h.keepOff(name, !h.off[name])
	case n == 23 && h.moved == "":
		h.mistake(name)
	case n == 23:
		h.mistake("")
	}
}

// mistake has Git give the host called name the address of another one's BMC, and that of the last mistake
// its own; empty: none has another's.
func (h *history) mistake(name string) {
	for _, c := range h.clusters {
		if h.moved != "" {
			h.readdress(c, h.moved, h.hosts[h.moved].BMC(), h.moved)
		}
		if name != "" {
			names := h.names()
			other := names[(slices.Index(names, name)+1)%len(names)]
			h.readdress(c, name, h.hosts[other].BMC(), other)
		}
	}
	if h.moved = name; name != "" {
		h.sayf("Git has the address of another BMC for %s", name)
	}
}

// keepOff has people keep a host off, or not any more.
func (h *history) keepOff(name string, off bool) {
	h.sayf("people keep %s off: %t", name, off)
	h.mu.Lock()
	h.off[name] = off
	h.mu.Unlock()
	key := "reboot.metal3.io/rack"
	if !off {
		key = "none"
	}
	for _, c := range h.clusters {
		h.annotate(c, name, key, "")
	}
}

func (h *history) wishFor(i int) {
	name := fleet.MachineName("")
	defer func() { h.sayf("machine %s is wished for", name) }()
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, w := range h.wishes {
		if !w.gone {
			n++
		}
	}
	if n == len(h.hosts) {
		return
	}
	name = fleet.MachineName(fmt.Sprintf("%s-%d", h.clusters[i].Key.Name, len(h.wishes)))
	h.wishes[name] = &wish{cluster: i}
}

func (h *history) unwish() {
	name := fleet.MachineName("none")
	defer func() { h.sayf("machine %s is to go", name) }()
	h.mu.Lock()
	defer h.mu.Unlock()
	names := slices.Sorted(maps.Keys(h.wishes))
	names = slices.DeleteFunc(names, func(n fleet.MachineName) bool { return h.wishes[n].gone })
	if len(names) > 0 {
		name = names[h.r.IntN(len(names))]
		h.wishes[name].gone = true
	}
}

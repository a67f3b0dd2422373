package driver_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
)

// A world is a Driver whose machines have names alone.
type world struct {
	machines []driver.Seen[string]
	exists   bool
	silent   error
	during   func() // what happens while something is requested
	refuses  map[string]error
	did      []string
}

func (w *world) Look(_ context.Context, _ *fleet.Cluster, o snapshot.Owner) (string, error) {
	w.did = append(w.did, "look for "+string(o.Machine))
	return "it", w.silent
}

func (w *world) Seen(*fleet.Cluster, string) []driver.Seen[string] { return w.machines }
func (w *world) Exists(*fleet.Cluster, string) bool                { return w.exists }
func (w *world) Wrap(what string, err error) error                 { return wrap(what, err) }

func (w *world) do(what string) error {
	w.did = append(w.did, what)
	if w.during != nil {
		w.during()
	}
	return w.refuses[what]
}

func (w *world) Create(_ context.Context, _ string, _ fleet.OperationID, r providers.MachineRequest, _ string) error {
	return w.do("create " + string(r.Name))
}

func (w *world) Remove(_ context.Context, _ string, _ *fleet.Cluster, _ string, m driver.Seen[string]) error {
	return w.do("remove " + m.Thing)
}

func (w *world) RemoveShared(context.Context, string, *fleet.Cluster, string) error {
	return w.do("remove what is shared")
}

func machine(name fleet.MachineName, id fleet.ProviderID) driver.Seen[string] {
	return driver.Seen[string]{Machine: fleet.Machine{Name: name, ProviderID: id, Template: "1-t", State: fleet.MachineRunning}, Thing: string(id)}
}

func TestMachines(t *testing.T) {
	silent, refused := errors.New("no answer"), errors.New("refused")
	all := []driver.Seen[string]{machine("m-0", "a"), machine("m-0", "b"), machine("m-1", "c")}
	parts := []driver.Seen[string]{{Machine: fleet.Machine{Name: "m-2"}, Thing: "parts of m-2", Parts: true}}
	c := &fleet.Cluster{Fleet: "acme", Key: key("eu-1")}
	create := func(m *driver.Machines[string, string]) error {
		return m.CreateMachine(t.Context(), "op", providers.MachineRequest{Cluster: c, Name: "m-2", Pool: fleet.Pool{Template: "1-t"}})
	}
	remove := func(name fleet.MachineName, id fleet.ProviderID) func(*driver.Machines[string, string]) error {
		return func(m *driver.Machines[string, string]) error { return m.DeleteMachine(t.Context(), "op", c, name, id) }
	}
	shared := func(m *driver.Machines[string, string]) error { return m.DeleteInfrastructure(t.Context(), "op", c) }
	for reason, tc := range map[string]struct {
		world world
		call  func(*driver.Machines[string, string]) error
		did   string
		err   string
	}{
		"a machine is created":        {world{exists: true, machines: all}, create, "look for m-2, create m-2", ""},
		"it is there":                 {world{exists: true, machines: append(slices.Clone(all), machine("m-2", "d"))}, create, "look for m-2", ""},
		"another one is there":        {world{exists: true, machines: []driver.Seen[string]{{Machine: fleet.Machine{Name: "m-2", Template: "1-old"}}}}, create, "look for m-2", "cannot create machine prod/m-2: it exists with another template, 1-old"},
		"parts of it are there":       {world{exists: true, machines: parts}, create, "look for m-2, create m-2", ""},
		"parts of one are gone":       {world{machines: parts}, remove("m-2", ""), "look for m-2, remove parts of m-2", ""},
		"parts are in nobody's way":   {world{machines: parts}, shared, "look for , remove what is shared", ""},
		"nothing is shared":           {world{}, create, "look for m-2", "cannot create machine prod/m-2: the infrastructure of the cluster is not there"},
		"nobody knows":                {world{silent: silent}, create, "look for m-2", "cannot create machine prod/m-2: no answer"},
		"machines of a name are gone": {world{machines: all, refuses: map[string]error{"remove a": refused}}, remove("m-0", ""), "look for m-0, remove a, remove b", "cannot delete machine prod/m-0: refused"},
		"the one with an id is":       {world{machines: all}, remove("m-0", "b"), "look for m-0, remove b", ""},
		"none is":                     {world{machines: all}, remove("m-1", "b"), "look for m-1", ""},
		"none is named":               {world{machines: all}, remove("", ""), "", "cannot delete machine prod/: no name was given"},
		"nobody knows what to delete": {world{silent: silent}, remove("m-0", ""), "look for m-0", "cannot delete machine prod/m-0: no answer"},
		"all is gone":                 {world{}, shared, "look for , remove what is shared", ""},
		"machines are in the way":     {world{machines: all}, shared, "look for ", "cannot delete infrastructure of prod/eu-1: there are still machines, m-0 is the first"},
		"what is shared stays":        {world{refuses: map[string]error{"remove what is shared": refused}}, shared, "look for , remove what is shared", "cannot delete infrastructure of prod/eu-1: refused"},
		"nobody knows what is in use": {world{silent: silent}, shared, "look for ", "cannot delete infrastructure of prod/eu-1: no answer"},
	} {
		t.Run(reason, func(t *testing.T) {
			err := tc.call(driver.New(&tc.world))
			if d := cmp.Diff(tc.did, strings.Join(tc.world.did, ", ")); d != "" {
				t.Errorf("did (-want +have): %s", d)
			}
			if (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("%v, want %q", err, tc.err)
			}
		})
	}
}

// TestOneAtATime: of one machine one thing is requested at a time; others do not wait for it.
func TestOneAtATime(t *testing.T) {
	c := &fleet.Cluster{Fleet: "acme", Key: key("eu-1")}
	w := &world{exists: true}
	m := driver.New(w)
	w.during = func() {
		w.during = nil
		if err := m.DeleteMachine(t.Context(), "op", c, "m-0", ""); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("it was deleted while it was created: %v", err)
		}
		if err := m.CreateMachine(t.Context(), "op", providers.MachineRequest{Cluster: c, Name: "m-0"}); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("it was created twice at one time: %v", err)
		}
		if err := m.DeleteMachine(t.Context(), "op", c, "m-1", ""); err != nil {
			t.Errorf("another one was not deleted: %v", err)
		}
		if !m.Locks().Locked(snapshot.OwnerOf(c).Part("m-0")) {
			t.Error("nobody knows that something is done to it")
		}
		_ = m.Try(snapshot.OwnerOf(c).Part("m-0"), func() error { t.Error("it was changed while it was created"); return nil })
	}
	if err := m.CreateMachine(t.Context(), "op", providers.MachineRequest{Cluster: c, Name: "m-0"}); err != nil {
		t.Fatal(err)
	}
	tried := false
	err := m.Try(snapshot.OwnerOf(c).Part("m-0"), func() error { tried = true; return errors.New("no") })
	if !tried || err == nil {
		t.Errorf("nothing was done to it: %v", err)
	}
}

package vspheretest_test

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

const template = "ubuntu-2204-kube-v1.34.0"

// A bench is a vCenter with a session.
type bench struct {
	*vspheretest.VCenter
	t *testing.T
	c *govmomi.Client
}

func newBench(t *testing.T, o vspheretest.Options) *bench {
	t.Helper()
	v := vspheretest.New(t, o)
	c, err := v.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{v, t, c}
}

// small is enough for most tests.
func small() vspheretest.Options {
	return vspheretest.Options{Datacenters: 1, Templates: []vspheretest.Template{
		{Name: template, Snapshot: "ready", ExtraConfig: map[string]string{"guestinfo.of": "the template"}}, {Name: "bare"},
	}}
}

// begin asks for a clone.
func (b *bench) begin(name string, edit ...func(*types.VirtualMachineCloneSpec)) *object.Task {
	b.t.Helper()
	task, err := b.ask(name, edit...)
	if err != nil {
		b.t.Fatal(err)
	}
	return task
}

func (b *bench) ask(name string, edit ...func(*types.VirtualMachineCloneSpec)) (*object.Task, error) {
	pool, store := b.Ref("/DC0/host/DC0_C1/Resources/DC0_C1_RP1"), b.Ref("/DC0/datastore/LocalDS_1")
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool, Datastore: &store}}
	for _, e := range edit {
		e(&spec)
	}
	return b.vm("/DC0/vm/templates/"+template).Clone(b.t.Context(), object.NewFolder(b.c.Client, b.Ref("/DC0/vm/fleet")), name, spec)
}

func (b *bench) vm(path string) *object.VirtualMachine {
	return object.NewVirtualMachine(b.c.Client, b.Ref(path))
}

// made asks for a clone and waits for it.
func (b *bench) made(name string, edit ...func(*types.VirtualMachineCloneSpec)) mo.VirtualMachine {
	b.t.Helper()
	info, err := b.begin(name, edit...).WaitForResult(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return b.look(info.Result.(types.ManagedObjectReference))
}

func (b *bench) look(ref types.ManagedObjectReference) (out mo.VirtualMachine) {
	b.t.Helper()
	if err := b.c.RetrieveOne(b.t.Context(), ref, nil, &out); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// fails waits for a task, and returns its words.
func fails[F types.BaseMethodFault](t *testing.T, task *object.Task, want F) string {
	t.Helper()
	_, err := task.WaitForResult(t.Context())
	if !fault.Is(err, want) {
		t.Fatalf("got %v, want %T", err, want)
	}
	return err.Error()
}

// patience is how long something may take that nobody tells of, before a test gives up.
const patience = 30 * time.Second

// await looks until something is so.
func await(t *testing.T, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it never came to it")
		}
	}
}

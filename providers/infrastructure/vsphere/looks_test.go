package vsphere_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// TestSharedLook: clusters of one vCenter and account share a look.
func TestSharedLook(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.p = newProvider(t, func(o *vsphere.Options) { o.VCenter.Tick = time.Hour })
	b.observe()
	b.w.ResetCalls()
	var all sync.WaitGroup
	for i := range 20 {
		c := *b.c
		c.Key.Name = strings.Repeat("x", i+1)
		all.Go(func() {
			if _, err := b.p.Observe(t.Context(), &c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if calls, _, _ := b.w.Count("*"); calls != 0 {
		t.Errorf("20 clusters asked %d times beside the look that there is", calls)
	}
}

// TestWrongPassword: it stops with a message, and the machines are not gone.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.p = newProvider(t, nil)
	b.w.SetPassword(vspheretest.Administrator, "another")
	_, err := b.p.Observe(t.Context(), b.c)
	wantKind(t, "Observe", err, fleet.Unauthorized)
}

// TestUnreachable: what vCenter does not reach is silent, and never gone, made anew or changed.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	ref := b.vms("m-0")[0].Ref
	for _, state := range []types.VirtualMachineConnectionState{"disconnected", "inaccessible", "orphaned"} {
		b.w.SetConnection(ref, state)
		i := b.until(string(state), func(i fleet.Infrastructure) bool {
			return len(i.Machines) == 1 && i.Machines[0].Silent && strings.Contains(i.Machines[0].Message, string(state))
		})
		if m := i.Machines[0]; m.Name != "m-0" || len(i.Upkeep) > 0 {
			t.Errorf("%s: %+v, upkeep %q", state, m, i.Upkeep)
		}
	}
	b.w.SetConnection(ref, types.VirtualMachineConnectionStateConnected)
	b.until("it is back", func(i fleet.Infrastructure) bool {
		return !i.Machines[0].Silent && i.Machines[0].State == fleet.MachineRunning
	})
}

// TestSuspended: a machine that people suspended is told, and held.
func TestSuspended(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.w.Edit(b.vms("m-0")[0].Ref, types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStateSuspended})
	i := b.until("it is suspended", func(i fleet.Infrastructure) bool { return i.Machines[0].Message != "" })
	if m := i.Machines[0]; m.State != fleet.MachineRunning || !strings.Contains(m.Message, "suspended") || len(i.Upkeep) > 0 {
		t.Errorf("machine = %+v, upkeep %q", m, i.Upkeep)
	}
}

// TestPoweredOff: a machine that somebody switched off is switched on.
func TestPoweredOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.w.Power(b.vms("m-0")[0].Ref, false)
	b.until("it is to be switched on", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
	b.ensure()
	b.until("it runs", func(i fleet.Infrastructure) bool { return i.Machines[0].State == fleet.MachineRunning })
}

// TestUserDataGoes: an hour after it was powered on, a machine has no user data any more.
func TestUserDataGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	ref := b.vms("m-0")[0].Ref
	b.w.Edit(ref, types.PropertyChange{Name: "runtime.bootTime", Val: time.Now().Add(-61 * time.Minute)})
	b.until("it is to go", func(i fleet.Infrastructure) bool {
		return len(i.Upkeep) == 1 && strings.Contains(i.Upkeep[0], "take the user data out")
	})
	b.ensure()
	i := b.until("nothing is to be done", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 0 })
	v := b.vms("m-0")[0]
	if v.ExtraConfig["guestinfo.userdata"] != "" || v.ExtraConfig["guestinfo.metadata"] == "" || i.Machines[0].Damaged != "" {
		t.Errorf("the VM has %v, machine %+v, want metadata and no user data", v.ExtraConfig, i.Machines[0])
	}
}

// A late is a vCenter whose clock is behind.
type late struct {
	http.RoundTripper
	by time.Duration
}

// RoundTrip implements http.RoundTripper.
func (l late) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	text = regexp.MustCompile(`<loginTime>[^<]*`).ReplaceAll(text, []byte("<loginTime>"+time.Now().Add(-l.by).Format(time.RFC3339Nano)))
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	res.Header.Del("Content-Length")
	return res, nil
}

// TestClockOfVCenter: times of a vCenter whose clock is behind are compared with its own.
func TestClockOfVCenter(t *testing.T) {
	b := newBench(t, nil)
	b.make("m-0")
	ref := b.vms("m-0")[0].Ref
	b.p = newProvider(t, func(o *vsphere.Options) {
		o.VCenter.Wrap = func(rt http.RoundTripper) http.RoundTripper { return late{rt, 2 * time.Hour} }
	})
	b.w.Edit(ref, types.PropertyChange{Name: "runtime.bootTime", Val: time.Now().Add(-2*time.Hour - 59*time.Minute)})
	if i := b.observe(); len(i.Upkeep) > 0 {
		t.Errorf("59 minutes after it was powered on: %q", i.Upkeep)
	}
	b.w.Edit(ref, types.PropertyChange{Name: "runtime.bootTime", Val: time.Now().Add(-2*time.Hour - 61*time.Minute)})
	b.until("61 minutes after it", func(i fleet.Infrastructure) bool { return len(i.Upkeep) == 1 })
}

// TestSecretIsReadOnce: a look asks the secret store once, for all pools and zones.
func TestSecretIsReadOnce(t *testing.T) {
	b := newBench(t, nil)
	var asked atomic.Int32
	b.p = newProvider(t, func(o *vsphere.Options) {
		o.Secret = func(ctx context.Context, k fleet.Key) (fleet.SecretData, error) {
			asked.Add(1)
			return secret(ctx, k)
		}
	})
	b.c.Infrastructure.Secrets = nil
	b.leadTo(b.w.alias(), b.w.Thumbprint())
	b.observe()
	if n := asked.Swap(0); n != 1 {
		t.Errorf("Observe asked the secret store %d times, want once", n)
	}
	if b.ensure(); asked.Load() != 1 {
		t.Errorf("EnsureInfrastructure asked the secret store %d times, want once", asked.Load())
	}
}

// TestCopy: a VM that people copied from a machine is not ours, and is never touched.
func TestCopy(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.w.Copy(b.vms("m-0")[0].Ref, "copy")
	if i := b.until("the copy", func(fleet.Infrastructure) bool { return len(b.vms("copy")) == 1 }); len(i.Machines) != 1 || i.Machines[0].Damaged != "" {
		t.Errorf("machines = %+v, want m-0", i.Machines)
	}
	b.remove("m-0")
	i := b.observe()
	if len(i.Machines) != 1 || i.Machines[0].Damaged == "" {
		t.Errorf("a copy of a machine that is gone: %+v, want it damaged", i.Machines)
	}
	wantKind(t, "DeleteMachine of it", b.p.DeleteMachine(t.Context(), "op", b.c, "m-0", ""), fleet.Conflict, "copy")
	if len(b.vms("copy")) != 1 {
		t.Error("the copy was deleted")
	}
	b.w.SetExtraConfig(b.vms("copy")[0].Ref, map[string]string{"fairlead.dev/tags": ""})
	b.until("without its tags it is nobody's", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 })
}

// remove deletes a machine, asking again as the planner does.
func (b *bench) remove(name fleet.MachineName) {
	b.t.Helper()
	b.until(string(name)+" is gone", func(i fleet.Infrastructure) bool {
		for _, m := range i.Machines {
			if m.Name == name && m.Damaged == "" {
				if m.State != fleet.MachineDeleting || m.Interrupted {
					if err := b.p.DeleteMachine(b.t.Context(), "op-delete", b.c, name, ""); err != nil {
						b.t.Fatalf("DeleteMachine = %v", err)
					}
				}
				return false
			}
		}
		return true
	})
}

// TestIdentityOfManyServers: a Secret may have an account for each vCenter.
func TestIdentityOfManyServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	w.AddUser("bob", "Secret-1!", vspheretest.Grant{})
	c := w.cluster(t, nil)
	s := fleet.SecretData{
		"username": fleet.NewSecret([]byte("nobody")), "password": fleet.NewSecret([]byte("x")),
		w.Server() + ".username": fleet.NewSecret([]byte(vspheretest.Administrator)), w.Server() + ".password": fleet.NewSecret([]byte(vspheretest.Password)),
	}
	c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{account: s}
	if err := newProvider(t, nil).EnsureInfrastructure(t.Context(), "op", &c); err != nil {
		t.Errorf("EnsureInfrastructure = %v, want the account of that server taken", err)
	}
}

// TestMissing: what machines need and is not there stops the cluster, with what there is.
func TestMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, vspheretest.Options{Datacenters: 1})
	for field, value := range map[string]string{
		"template": "no-such-template", "folder": "no-such-folder", "resourcePool": "no-such-pool", "datastore": "no-such-store", "datacenter": "DC9",
		"storagePolicyName": "no-such-policy",
	} {
		c := w.cluster(t, nil)
		var spec map[string]any
		if err := json.Unmarshal(c.Workers[0].Infrastructure.Spec, &spec); err != nil {
			t.Fatal(err)
		}
		spec[field] = value
		c.Workers[0].Infrastructure = newObject(t, "VSphereMachineTemplate", "md-0", spec)
		p := newProvider(t, nil)
		err := p.EnsureInfrastructure(t.Context(), "op", &c)
		if err == nil || !strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), "pool md-0") {
			t.Errorf("%s %s: %v, want an error that names it and the pool", field, value, err)
		}
		if i, err := p.Observe(t.Context(), &c); err != nil || i.Ready {
			t.Errorf("%s: ready %t, %v, want it not ready", field, i.Ready, err)
		}
	}
}

var _ providers.Infrastructure = upkeeper{}

// TestTagsRemoved: a VM whose tags somebody took away altogether is still there, by its UUID: it
// is shown as damaged, and nothing is done to it.
func TestTagsRemoved(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.make("m-0")
	b.w.SetExtraConfig(b.vms("m-0")[0].Ref, map[string]string{"fairlead.dev/tags": ""})
	for _, p := range []*vsphere.Provider{b.p, newProvider(t, nil)} { // also who never saw the tags
		b.p = p
		i := b.until("the damage", func(i fleet.Infrastructure) bool { return len(i.Machines) == 1 && i.Machines[0].Damaged != "" })
		if got := i.Machines[0].Damaged; !strings.Contains(got, "fairlead.dev/tags is missing") {
			t.Errorf("it says %q", got)
		}
	}
}

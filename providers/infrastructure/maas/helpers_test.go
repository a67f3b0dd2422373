package maas_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/maas"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/maastest"
)

// The rhythm of tests: their time is not real.
const tick, settle = 100 * time.Millisecond, time.Second

// A world is a region with hosts, and a cluster. Tests run in a bubble of synctest.
type world struct {
	testing.TB
	*maastest.Region

	user *maastest.User
	c    fleet.Cluster
	p    *maas.Provider
}

// newWorld returns a region with so many hosts, in the zones a and b by turns, and a cluster whose endpoint is
// a name.
func newWorld(t testing.TB, hosts int) *world {
	t.Helper()
	w := &world{TB: t, Region: maastest.NewRegion()}
	w.SetTimes(maastest.Times{Deploy: 1500 * time.Millisecond, PowerOff: 200 * time.Millisecond, Erase: 300 * time.Millisecond})
	w.user = w.AddUser("fleet", true)
	for i := range hosts {
		w.Add(maastest.Machine{Hostname: fmt.Sprintf("m%02d", i), Zone: []string{"a", "b"}[i%2]})
	}
	w.p = w.provider()
	w.c = w.cluster()
	return w
}

// provider returns a provider that knows nothing yet. It lists machines at each tick.
func (w *world) provider() *maas.Provider { return w.providerOf(maas.Options{Relist: 1}) }

func (w *world) providerOf(o maas.Options) *maas.Provider {
	if o.Region.Base == nil {
		o.Region.Base = w.Region
	}
	o.Region.Rate, o.Tick, o.Settle = 1e6, cmp.Or(o.Tick, tick), settle
	o.Secret = func(_ context.Context, k fleet.Key) (fleet.SecretData, error) {
		if k.Name != "maas" {
			return nil, fleet.Errorf(fleet.NotFound, "find Secret", "there is none")
		}
		return fleet.SecretData{
			"MAAS_ENDPOINT": fleet.NewSecret([]byte(maastest.URL)), "MAAS_API_KEY": fleet.NewSecret([]byte(w.user.Key())),
		}, nil
	}
	p := maas.New(o)
	w.Cleanup(p.Close)
	return p
}

// newObject returns an object with spec, which has all defaults.
func newObject(t testing.TB, kind, name string, spec any) fleet.Object {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	gvk := schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: kind}
	return fleet.Object{GVK: gvk, Namespace: "prod", Name: name, Spec: text}
}

// cluster returns one with a control plane and a pool of workers.
func (w *world) cluster() fleet.Cluster {
	w.Helper()
	c := fleet.Cluster{
		Fleet: "acme", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "maas",
		Infrastructure: newObject(w, "MaasCluster", "eu-1", &api.MaasClusterSpec{DNSDomain: "maas", ControlPlaneEndpoint: api.APIEndpoint{Port: 6443}}),
		ControlPlane:   fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: "v1.34.0", Template: "1-cp"},
		Workers:        []fleet.Pool{{Name: "md-0", Role: fleet.RoleWorker, Replicas: 1, Version: "v1.34.0", Template: "1-md"}},
	}
	c.ControlPlane.Infrastructure, c.Workers[0].Infrastructure = w.template("cp", nil), w.template("md-0", nil)
	return c
}

// shared changes what the machines of c share.
func (w *world) shared(c *fleet.Cluster, change func(*api.MaasClusterSpec)) {
	w.Helper()
	spec, err := api.ReadCluster(c.Infrastructure)
	if err != nil {
		w.Fatal(err)
	}
	change(spec)
	c.Infrastructure = newObject(w, "MaasCluster", c.Infrastructure.Name, spec)
}

// template returns a MaasMachineTemplate.
func (w *world) template(name string, change func(*api.MaasMachineSpec)) fleet.Object {
	w.Helper()
	s := &api.MaasMachineSpec{Image: "custom/u-2204-0-k-1341-0", MinCPU: new(int64(4)), MinMemoryInMB: new(int64(8192)), DeployInMemory: new(bool), EraseDisks: api.EraseQuick}
	if change != nil {
		change(s)
	}
	return newObject(w, "MaasMachineTemplate", name, s)
}

// request is for a worker.
func request(c *fleet.Cluster, name fleet.MachineName) providers.MachineRequest {
	return providers.MachineRequest{
		Cluster: c, Pool: c.Workers[0], Name: name, UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		Origin: fleet.Origin{Made: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
	}
}

// observe observes c, and keeps its places as the planner does.
func (w *world) observe(c *fleet.Cluster) fleet.Infrastructure {
	w.Helper()
	got, err := w.p.Observe(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	c.Residence = fleet.Residence{Provider: "maas"}
	for _, at := range got.Places {
		c.Residence.Places = append(c.Residence.Places, at.Place)
	}
	return got
}

// until does what the planner does, all Upkeep, until an observation is as it should be.
func (w *world) until(c *fleet.Cluster, what string, is func(fleet.Infrastructure) bool) fleet.Infrastructure {
	w.Helper()
	var got fleet.Infrastructure
	for range 600 {
		if got = w.observe(c); is(got) {
			return got
		}
		if !got.Ready || len(got.Upkeep) > 0 {
			if err := w.p.EnsureInfrastructure(w.Context(), "op-infra", c); err != nil {
				w.Logf("EnsureInfrastructure: %v", err)
			}
		}
		time.Sleep(2 * tick)
	}
	text, _ := json.MarshalIndent(got, "", " ")
	w.Fatalf("not %s: %s", what, text)
	return got
}

// ready makes the infrastructure of c.
func (w *world) ready(c *fleet.Cluster) fleet.Infrastructure {
	w.Helper()
	return w.until(c, "ready", func(i fleet.Infrastructure) bool { return i.Ready })
}

// create makes a worker, and waits until it runs.
func (w *world) create(c *fleet.Cluster, name fleet.MachineName) fleet.Machine {
	w.Helper()
	w.ready(c)
	if err := w.p.CreateMachine(w.Context(), "op-"+fleet.OperationID(name), request(c, name)); err != nil {
		w.Fatal(err)
	}
	return machineOf(w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, name).State == fleet.MachineRunning }), name)
}

// remove deletes a machine, and waits until it is gone.
func (w *world) remove(c *fleet.Cluster, name fleet.MachineName) {
	w.Helper()
	w.until(c, "deleted", func(i fleet.Infrastructure) bool {
		m := machineOf(i, name)
		if m.Name == "" {
			return true
		}
		if err := w.p.DeleteMachine(w.Context(), "op-delete", c, name, m.ProviderID); err != nil {
			w.Logf("DeleteMachine: %v", err)
		}
		return false
	})
}

// machineOf returns a machine of an observation.
func machineOf(i fleet.Infrastructure, name fleet.MachineName) fleet.Machine {
	for _, m := range i.Machines {
		if m.Name == name {
			return m
		}
	}
	return fleet.Machine{}
}

// wantKind fails if err has another kind.
func wantKind(t testing.TB, what string, err error, want fleet.ErrorKind) {
	t.Helper()
	if err == nil || fleet.KindOf(err) != want {
		t.Errorf("%s = %v (kind %s), want the kind %s", what, err, fleet.KindOf(err), want)
	}
}

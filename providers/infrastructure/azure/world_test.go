package azure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
	"fairlead.dev/test/run/kindstest"
)

// The rhythm of tests: their time is not real.
const (
	settle = 30 * time.Second
	tick   = 5 * time.Second
)

// The specs of most tests.
const (
	clusterSpec = `{location: westeurope, subscriptionID: ` + azuretest.Subscription + `, resourceGroup: GROUP, identityRef: {name: fleet}}`
	machineSpec = `{vmSize: Standard_D4s_v5, osDisk: {diskSizeGB: 64}, dataDisks: [{nameSuffix: etcd, diskSizeGB: 128, lun: 0}]}`
)

// A world is a subscription, and a cluster in it. Tests run in a bubble of synctest.
type world struct {
	testing.TB
	*azuretest.Cloud

	p *azure.Provider
	c fleet.Cluster
	n int
}

// slowly is a cloud in which everything takes its time.
func slowly() *azuretest.Cloud {
	return azuretest.New(azuretest.Options{Page: 3, Lag: 2 * time.Second, Make: 4 * time.Second, Start: 8 * time.Second, Delete: 4 * time.Second})
}

func newWorld(t testing.TB, cloud *azuretest.Cloud) *world {
	t.Helper()
	w := &world{TB: t, Cloud: cloud}
	w.p = w.provider()
	w.c = w.cluster(clusterSpec, machineSpec)
	return w
}

// provider returns a provider that knows nothing yet.
func (w *world) provider() *azure.Provider {
	p := azure.New(azure.Options{
		ARM: arm.Options{Base: w.Cloud}, Tick: tick, Settle: settle,
		Secret: func(_ context.Context, k fleet.Key) (fleet.SecretData, error) {
			if k.String() != "prod/principal" {
				return nil, fleet.Errorf(fleet.NotFound, "find Secret", "there is none")
			}
			return fleet.SecretData{"clientSecret": fleet.NewSecret([]byte(azuretest.Password))}, nil
		},
	})
	w.Cleanup(p.Close)
	return p
}

// object returns what the decoder makes of an object of kind with a spec in YAML.
func object(t testing.TB, kind, name, spec string) fleet.Object {
	t.Helper()
	normal, errs := kindstest.Normalised(t, kindstest.Kind(t, api.Kinds(), kind), "v1beta1", spec, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	data, err := json.Marshal(normal)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Object{
		GVK: schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: kind}, Name: name, Namespace: "prod", Spec: data,
	}
}

// cluster returns one with these specs, in a resource group of its own: VMs of one group have different names.
func (w *world) cluster(spec, machine string) fleet.Cluster {
	w.Helper()
	w.n++
	return newCluster(w, strings.Replace(spec, "GROUP", fmt.Sprint("rg-", w.n), 1), machine)
}

func newCluster(t testing.TB, spec, machine string) fleet.Cluster {
	t.Helper()
	template := object(t, "AzureMachineTemplate", "nodes", machine)
	return fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: api.ProviderName,
		Infrastructure: object(t, "AzureCluster", "eu-1", spec),
		Companions: []fleet.Object{object(t, "AzureClusterIdentity", "fleet",
			`{type: ServicePrincipal, tenantID: `+azuretest.Tenant+`, clientID: `+azuretest.ClientID+`, clientSecret: {name: principal, namespace: prod}, allowedNamespaces: {}}`)},
		ControlPlane: fleet.Pool{
			Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 3, Template: "1-cp", Version: "v1.34.1", Infrastructure: template,
		},
		Workers: []fleet.Pool{{
			Name: "eu-1-md-0", Role: fleet.RoleWorker, Replicas: 3, Template: "1-md", Version: "v1.34.1", Infrastructure: template,
		}},
	}
}

// request is for a worker, or for a server if its name says so.
func request(c *fleet.Cluster, name fleet.MachineName) providers.MachineRequest {
	r := providers.MachineRequest{
		Cluster: c, Pool: c.Workers[0], Name: name, UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
		Origin: fleet.Origin{Made: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
	}
	if strings.HasPrefix(string(name), "cp-") {
		r.Pool = c.ControlPlane
	}
	return r
}

func (w *world) observe(c *fleet.Cluster) fleet.Infrastructure {
	w.Helper()
	got, err := w.p.Observe(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	return got
}

// until does what the planner does for what machines share, until an observation is as it should be.
func (w *world) until(c *fleet.Cluster, what string, is func(fleet.Infrastructure) bool) fleet.Infrastructure {
	w.Helper()
	var got fleet.Infrastructure
	for range 100 {
		if got = w.observe(c); is(got) {
			return got
		}
		if !c.Delete && (!got.Ready || len(got.Upkeep) > 0) {
			if err := w.p.EnsureInfrastructure(w.Context(), "op-infra", c); err != nil {
				w.Logf("EnsureInfrastructure: %v", err)
			}
		}
		time.Sleep(tick)
	}
	text, _ := json.MarshalIndent(got, "", " ")
	w.Fatalf("not %s: %s", what, text)
	return got
}

func (w *world) ready(c *fleet.Cluster) fleet.Infrastructure {
	w.Helper()
	return w.until(c, "ready", func(i fleet.Infrastructure) bool { return i.Ready })
}

// create makes a machine, and waits until it runs.
func (w *world) create(c *fleet.Cluster, name fleet.MachineName) fleet.Machine {
	w.Helper()
	w.ready(c)
	if err := w.p.CreateMachine(w.Context(), "op-"+fleet.OperationID(name), request(c, name)); err != nil {
		w.Fatal(err)
	}
	return machineOf(w.until(c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, name).State == fleet.MachineRunning }), name)
}

// dismantle deletes what the machines of c share.
func (w *world) dismantle(c *fleet.Cluster) {
	w.Helper()
	gone := *c
	gone.Delete = true
	w.until(&gone, "gone", func(i fleet.Infrastructure) bool {
		if !i.Exists {
			return true
		}
		if err := w.p.DeleteInfrastructure(w.Context(), "op-delete", &gone); err != nil {
			w.Logf("DeleteInfrastructure: %v", err)
		}
		return false
	})
}

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

// vmID returns the id of the VM that a provider id is of.
func vmID(id fleet.ProviderID) string { return strings.TrimPrefix(string(id), "azure://") }

package openstack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/openstack/api"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A world is a cloud, and a provider that keeps one cluster in it.
type world struct {
	*testing.T
	cloud    *ost.Cloud
	client   *ost.Client
	provider *openstack.Provider
	cluster  fleet.Cluster
	secret   func(fleet.Key) (fleet.SecretData, error)
}

// inBubble runs f on a cloud in which everything takes its time.
func inBubble(t *testing.T, cluster *api.OpenStackClusterSpec, machine *api.OpenStackMachineSpec, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, cloud: ost.New(ost.Options{Delays: ost.Delays{
			Listing: 2 * time.Second, Server: 10 * time.Second, ServerDelete: 4 * time.Second, LoadBalancer: 3 * time.Second, Volume: 3 * time.Second,
		}})}
		w.cluster = newCluster(t, w.cloud.CloudsYAML(ost.URL, "alice"), cluster, machine)
		w.restart()
		f(w)
	})
}

// restart forgets all that the program knows.
func (w *world) restart() {
	w.client = w.cloud.Client()
	w.provider = newProvider(w.cloud, w.client)
}

func (w *world) observe() fleet.Infrastructure {
	w.Helper()
	time.Sleep(time.Second)
	got, err := w.provider.Observe(w.Context(), &w.cluster)
	if err != nil {
		w.Fatal(err)
	}
	return got
}

// settle does what a planner does for the infrastructure until all is in order.
func (w *world) settle() fleet.Infrastructure {
	w.Helper()
	var got fleet.Infrastructure
	var err error
	for range 60 {
		if got = w.observe(); got.Ready && len(got.Drift) == 0 {
			return got
		}
		err = w.provider.EnsureInfrastructure(w.Context(), "op", &w.cluster)
		time.Sleep(2 * time.Second)
	}
	w.Fatalf("not in order: %q, drift %q, %v", got.Message, got.Drift, err)
	return got
}

// name is that of the nth machine of the workers.
func (w *world) name(n int) fleet.MachineName {
	p := w.cluster.Workers[0]
	return fleet.NewMachineName(w.cluster.Key, p.Name, p.Template, n)
}

func (w *world) create(n int) error {
	w.Helper()
	return w.createWith(n, "#cloud-config\n{}\n", "")
}

func (w *world) createWith(n int, data, zone string) error {
	w.Helper()
	return w.provider.CreateMachine(w.Context(), fleet.OperationID(fmt.Sprintf("op-%d", n)), providers.MachineRequest{
		Cluster: &w.cluster, Pool: w.cluster.Workers[0], Name: w.name(n), FailureDomain: zone,
		UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte(data))},
	})
}

func (w *world) mustCreate(n int) {
	w.Helper()
	if err := w.create(n); err != nil {
		w.Fatal(err)
	}
}

// controlPlaneName is that of the nth machine of the control plane.
func (w *world) controlPlaneName(n int) fleet.MachineName {
	p := w.cluster.ControlPlane
	return fleet.NewMachineName(w.cluster.Key, p.Name, p.Template, n)
}

func (w *world) mustCreateControlPlane(n int) {
	w.Helper()
	if err := w.provider.CreateMachine(w.Context(), fleet.OperationID(fmt.Sprintf("op-cp-%d", n)), providers.MachineRequest{
		Cluster: &w.cluster, Pool: w.cluster.ControlPlane, Name: w.controlPlaneName(n),
		UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
	}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) delete(n int) {
	w.Helper()
	if err := w.provider.DeleteMachine(w.Context(), "op", &w.cluster, w.name(n), ""); err != nil {
		w.Fatal(err)
	}
}

// machine waits until the nth machine is in state.
func (w *world) await(n int, state fleet.MachineState) fleet.Machine {
	w.Helper()
	var m fleet.Machine
	for range 30 {
		for _, m = range w.observe().Machines {
			if m.Name == w.name(n) && m.State == state {
				return m
			}
		}
		time.Sleep(2 * time.Second)
	}
	w.Fatalf("machine %d is %+v, want it %s", n, m, state)
	return m
}

// calm lets what was asked for happen, and settles.
func (w *world) calm() {
	w.Helper()
	for range 3 {
		time.Sleep(2 * tick)
		w.settle()
	}
}

// remove removes everything, as a planner does.
func (w *world) remove() {
	w.Helper()
	var err error
	var done bool
	for range 60 {
		if done, err = w.removeOnce(); done {
			return
		}
		time.Sleep(3 * time.Second)
	}
	w.Fatalf("not removed: %v; %v", w.mine(), err)
}

// removeOnce takes the next step of removing everything. It reports whether nothing
// is there.
func (w *world) removeOnce() (done bool, err error) {
	w.Helper()
	w.cluster.Delete = true
	got := w.observe()
	for _, m := range got.Machines {
		if m.State != fleet.MachineDeleting {
			err = w.provider.DeleteMachine(w.Context(), "op", &w.cluster, m.Name, m.ProviderID)
		}
	}
	if got.Exists && len(got.Machines) == 0 {
		err = w.provider.DeleteInfrastructure(w.Context(), "op", &w.cluster)
	}
	return !got.Exists, err
}

// mine names everything in project alpha that Fairlead made, "kind name", sorted.
func (w *world) mine() []string {
	var out []string
	for _, k := range []ost.Kind{
		ost.Servers, ost.Ports, ost.Trunks, ost.FloatingIPs, ost.Volumes, ost.Networks, ost.Subnets, ost.Routers,
		ost.SecurityGroups, ost.LoadBalancers, ost.Pools, ost.Listeners,
	} {
		for _, o := range w.cloud.Objects(k) {
			marked := strings.Contains(o.String("description"), "[fairlead.dev ")
			if o.Object("metadata") != nil {
				marked = marked || o.Object("metadata")["fairlead.dev:fleet"] != nil
			}
			if marked {
				out = append(out, fmt.Sprintf("%s %s", k, o.String("name")))
			}
		}
	}
	slices.Sort(out)
	return out
}

// parts names what belongs to the nth machine.
func (w *world) parts(n int) []string {
	var out []string
	for _, k := range []ost.Kind{ost.Servers, ost.Ports, ost.Trunks, ost.FloatingIPs, ost.Volumes} {
		for _, o := range w.cloud.Objects(k) {
			if strings.HasSuffix(o.String("description"), " machine="+string(w.name(n))+"]") ||
				o.Object("metadata") != nil && o.Object("metadata")["fairlead.dev:machine"] == string(w.name(n)) {
				out = append(out, string(k))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) wantParts(n int, want ...string) {
	w.Helper()
	if got := w.parts(n); !slices.Equal(got, want) {
		w.Errorf("parts of machine %d = %q, want %q", n, got, want)
	}
}

// wantError fails unless err is of kind and says all of words.
func (w *world) wantError(what string, err error, kind fleet.ErrorKind, words ...string) {
	w.Helper()
	if err == nil || fleet.KindOf(err) != kind {
		w.Errorf("%s = %v (kind %s), want kind %s", what, err, fleet.KindOf(err), kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.Errorf("%s = %v, want it to say %q", what, err, word)
		}
	}
}

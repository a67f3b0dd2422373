package network_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A world is a cloud, and a program that keeps one cluster in it.
type world struct {
	testing.TB
	cloud   *ost.Cloud
	client  *ost.Client
	project *cloud.Project
	cluster *fleet.Cluster
	spec    *api.OpenStackClusterSpec
}

// inBubble runs f on a cloud where a load balancer takes its time.
func inBubble(t *testing.T, spec *api.OpenStackClusterSpec, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{TB: t, spec: spec, cluster: cluster("eu-1")}
		w.cloud = ost.New(ost.Options{Delays: ost.Delays{LoadBalancer: 1500 * time.Millisecond}})
		w.restart()
		f(w)
	})
}

func cluster(name string) *fleet.Cluster {
	return &fleet.Cluster{
		Fleet: "fleet-a", Key: fleet.Key{Namespace: "prod", Name: name},
		ControlPlane: fleet.Pool{Name: "pool", Role: fleet.RoleControlPlane, Infrastructure: fleet.Object{
			GVK: schema.GroupVersionKind{Kind: "OpenStackMachineTemplate"}, Spec: []byte(`{}`),
		}},
	}
}

// restart forgets all that the program knows.
func (w *world) restart() {
	w.Helper()
	w.client = w.cloud.Client()
	p, err := cloud.NewSessions(cloud.Options{Tick: time.Nanosecond, Rate: -1, Base: w.client}).Project(openstackauth.Credential{
		Secret: fleet.SecretData{openstackauth.CloudsYAMLKey: fleet.NewSecret(w.cloud.CloudsYAML(ost.URL, "alice"))},
		Cloud:  "openstack", From: "the test",
	})
	if err != nil {
		w.Fatal(err)
	}
	w.project = p
}

func (w *world) owner() snapshot.Owner { return snapshot.OwnerOf(w.cluster) }

// snapshot looks at the cloud.
func (w *world) snapshot() *cloud.Snapshot {
	w.Helper()
	time.Sleep(time.Second)
	s, err := w.project.Snapshot(w.Context(), w.owner())
	if err != nil && w.client.Dead() {
		w.restart()
		s, err = w.project.Snapshot(w.Context(), w.owner())
	}
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) observe() network.State {
	w.Helper()
	return network.Observe(w.snapshot(), w.cluster, w.spec)
}

// ensure does what a planner would: looks, and asks for what is not in order.
func (w *world) ensure() error {
	w.Helper()
	return network.Ensure(w.Context(), w.project, w.snapshot(), w.cluster, w.spec)
}

// settle works until all is in order.
func (w *world) settle() network.State {
	w.Helper()
	st, errs := w.work()
	if !st.Ready || len(st.Drift) > 0 {
		w.Fatalf("not in order: %q, drift %q, errors %v", st.Message, st.Drift, errs[max(0, len(errs)-2):])
	}
	return st
}

// work works until all is in order, or nothing moves any more.
func (w *world) work() (st network.State, errs []error) {
	w.Helper()
	for range 60 {
		s := w.snapshot()
		if st = network.Observe(s, w.cluster, w.spec); st.Ready && len(st.Drift) == 0 {
			return st, errs
		}
		if err := network.Ensure(w.Context(), w.project, s, w.cluster, w.spec); err != nil {
			errs = append(errs, err)
		}
		if w.client.Dead() {
			w.restart()
		}
	}
	return st, errs
}

// remove works until nothing is there.
func (w *world) remove() {
	w.Helper()
	var errs []error
	for range 60 {
		s := w.snapshot()
		if !network.Observe(s, w.cluster, w.spec).Exists {
			return
		}
		if err := network.Delete(w.Context(), w.project, s, w.owner()); err != nil {
			errs = append(errs, err)
		}
		if w.client.Dead() {
			w.restart()
		}
	}
	w.Fatalf("not removed: %v, errors %v", w.things(), errs[max(0, len(errs)-2):])
}

// server puts a server with a port on the cluster's network into the cloud, made
// at the nth second, and returns its address.
func (w *world) server(name string, role fleet.Role, n int) string {
	w.Helper()
	place := w.observe().Place
	pool := fleet.Pool{Name: "pool", Role: role}
	if role == fleet.RoleWorker {
		pool.Name = "md"
	}
	tags := w.cluster.MachineTags(pool, fleet.MachineName(name), "op")
	id := w.cloud.Add("alpha", ost.Servers, ost.Object{
		"name": name, "status": "ACTIVE", "metadata": cloud.Metadata(tags),
		"created": time.Now().Add(time.Duration(n) * time.Second).UTC().Format(time.RFC3339),
	})
	ip := fmt.Sprintf("10.6.0.%d", 100+n)
	w.cloud.Add("alpha", ost.Ports, ost.Object{
		"name": name + "-0", "network_id": place.Network, "device_id": id, "device_owner": "compute:az1", "status": "ACTIVE",
		"security_groups": []string{}, "description": cloud.FormatOwner("", w.owner().Part(fleet.MachineName(name))),
		"fixed_ips": []ost.Object{{"subnet_id": place.Subnets[0], "ip_address": ip}},
	})
	return ip
}

// unserve removes a server and its ports.
func (w *world) unserve(name string) {
	w.Helper()
	for _, s := range w.cloud.Objects(ost.Servers) {
		if s.String("name") != name {
			continue
		}
		for _, p := range w.cloud.Objects(ost.Ports) {
			if p.String("device_id") == s.ID() {
				w.cloud.Remove(ost.Ports, p.ID())
			}
		}
		w.cloud.Remove(ost.Servers, s.ID())
	}
}

var kinds = []ost.Kind{
	ost.Networks, ost.Subnets, ost.Routers, ost.Ports, ost.SecurityGroups, ost.FloatingIPs,
	ost.LoadBalancers, ost.Listeners, ost.Pools, ost.Members, ost.Monitors,
}

// things counts what is in the cloud, but for what was there at first.
func (w *world) things() map[ost.Kind]int {
	fresh := (&world{TB: w.TB, cloud: ost.New(ost.Options{})}).ids()
	out := make(map[ost.Kind]int)
	for k, ids := range w.ids() {
		if n := len(ids) - len(fresh[k]); n != 0 {
			out[k] = n
		}
	}
	return out
}

func (w *world) ids() map[ost.Kind][]string {
	out := make(map[ost.Kind][]string)
	for _, k := range kinds {
		for _, o := range w.cloud.Objects(k) {
			if k == ost.SecurityGroups && o.String("name") == "default" {
				continue
			}
			out[k] = append(out[k], o.ID())
		}
	}
	return out
}

// one returns the only thing of a kind that match finds.
func (w *world) one(k ost.Kind, match func(ost.Object) bool) ost.Object {
	w.Helper()
	found := slices.DeleteFunc(w.cloud.Objects(k), func(o ost.Object) bool { return !match(o) })
	if len(found) != 1 {
		w.Fatalf("%d %s, want one: %v", len(found), k, found)
	}
	return found[0]
}

func named(name string) func(ost.Object) bool {
	return func(o ost.Object) bool { return o.String("name") == name }
}

func all(ost.Object) bool { return true }

func marked(o ost.Object) bool { return strings.Contains(o.String("description"), "[fairlead.dev ") }

func managed() *api.OpenStackClusterSpec {
	return &api.OpenStackClusterSpec{
		ManagedSubnets:        []api.SubnetSpec{{CIDR: "10.6.0.0/24", DNSNameservers: []string{"192.0.2.53"}}},
		ManagedSecurityGroups: &api.ManagedSecurityGroups{},
		APIServer:             &api.APIServer{ManagedLoadBalancer: balancer()},
	}
}

func balancer() *api.APIServerLoadBalancer {
	return &api.APIServerLoadBalancer{Monitor: &api.APIServerLoadBalancerMonitor{Delay: 10, Timeout: 5, MaxRetries: 5, MaxRetriesDown: 3}}
}

// same fails where two sets of things are not the same.
func same(t *testing.T, what string, got, want map[ost.Kind]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func ptr[T any](v T) *T { return &v }

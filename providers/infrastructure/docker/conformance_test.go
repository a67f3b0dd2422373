package docker_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/infrastructure/docker"
	"fairlead.dev/providers/infrastructure/docker/api"
	"fairlead.dev/providers/infrastructure/docker/dockertest"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

// The rhythm of tests: their time is not real.
const tick, settle = 100 * time.Millisecond, 3 * time.Second

const nodeImage, balancerImage = "kindest/node:v1.34.0", "kindest/haproxy:v1"

// newProvider returns a provider of a daemon.
func newProvider(t testing.TB, d *dockertest.Daemon) *docker.Provider {
	t.Helper()
	p, err := docker.New(docker.Options{Engine: engine.Options{Host: "unix:///test.sock", Base: d}, Tick: tick, Settle: settle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// newObject returns an object with spec, which has all defaults.
func newObject(kind string, spec any) fleet.Object {
	text, _ := json.Marshal(spec) // the specs of this test can always be written
	gvk := schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: kind}
	return fleet.Object{GVK: gvk, Namespace: "prod", Name: "eu-1", Spec: text}
}

func machine(image string) fleet.Object {
	return newObject("DevMachineTemplate", api.DevMachineSpec{Backend: api.DevMachineBackend{
		Docker: &api.Container{PoolContainer: api.PoolContainer{CustomImage: image}, BootstrapTimeout: &metav1.Duration{Duration: time.Minute}},
	}})
}

// cluster returns one with a control plane and a pool of workers.
func cluster() fleet.Cluster {
	no := false
	return fleet.Cluster{
		Fleet: "acme", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}, Provider: "docker",
		Infrastructure: newObject("DockerCluster", api.DockerClusterSpec{Shared: api.Shared{
			LoadBalancer:   api.LoadBalancer{ImageRepository: "kindest", ImageTag: "v1"},
			FailureDomains: []api.FailureDomain{{Name: "left", ControlPlane: &no}},
		}}),
		ControlPlane: fleet.Pool{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: "v1.34.0", Template: "1-cp", Infrastructure: machine("")},
		Workers:      []fleet.Pool{{Name: "md-0", Role: fleet.RoleWorker, Replicas: 1, Version: "v1.34.0", Template: "1-md", Infrastructure: machine("")}},
	}
}

// TestConformance runs the suite on a daemon for each of its checks.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.RunParallel(t, suite)
}

// suite returns the options of one check.
func suite() conformance.Options {
	daemons := make(map[providers.Infrastructure]*dockertest.Daemon)
	return conformance.Options{
		Provider: "docker", Around: synctest.Test, Cluster: cluster,
		New: func(t testing.TB) providers.Infrastructure {
			d := dockertest.New(nodeImage, balancerImage)
			p := newProvider(t, d)
			daemons[p] = d
			return p
		},
		Foreign: func(_ testing.TB, p providers.Infrastructure, name string) func() bool {
			id := daemons[p].Add(name)
			return func() bool { return daemons[p].Change(id, func(*dockertest.Container) {}) }
		},
		FailListing: func(_ testing.TB, p providers.Infrastructure, nth int) {
			time.Sleep(2 * tick) // so that no listing is new enough
			daemons[p].Inject(dockertest.Fault{Skip: nth - 1, Times: 1, Status: 500})
		},
		Hooks: hooks(daemons),
	}
}

func hooks(daemons map[providers.Infrastructure]*dockertest.Daemon) conformance.Hooks {
	idOf := func(id fleet.ProviderID) string { return strings.TrimPrefix(string(id), "docker:////") }
	return conformance.Hooks{
		Changes: func(_ testing.TB, p providers.Infrastructure) string {
			var out strings.Builder
			for i, c := range daemons[p].Calls() {
				if c.Changes() {
					fmt.Fprintln(&out, i, c.Method, c.Path)
				}
			}
			return out.String()
		},
		Contents: func(_ testing.TB, p providers.Infrastructure) (out []string) {
			for _, c := range daemons[p].Containers() {
				out = append(out, "container "+c.ID)
			}
			return out
		},
		LoseAnswer: func(_ testing.TB, p providers.Infrastructure, nth int) func() bool {
			end := daemons[p].Inject(dockertest.Fault{Changes: true, Skip: nth - 1, Times: 1, Lose: true})
			return func() bool { return end() > 0 }
		},
		Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			if !daemons[p].Change(idOf(id), func(c *dockertest.Container) { change(c.Labels) }) {
				t.Fatalf("there is no machine %s", id)
			}
		},
		TakeOver: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			var listed, taken atomic.Bool
			d := daemons[p]
			d.Watch(func(c dockertest.Call) {
				switch {
				case c.Path == "/containers/json" && !listed.Load():
					listed.Store(true)
				case listed.Load() && taken.CompareAndSwap(false, true):
					d.Change(idOf(id), func(c *dockertest.Container) { c.Labels[fleet.TagCluster] = "prod/another" })
				}
			})
			return func() (bool, bool) {
				d.Watch(nil)
				return taken.Load(), d.Change(idOf(id), func(*dockertest.Container) {})
			}
		},
		FailBoot: func(_ testing.TB, p providers.Infrastructure) { daemons[p].FailBoot("kubeadm: no memory") },
		Served: func(_ testing.TB, p providers.Infrastructure, c *fleet.Cluster) (out []fleet.MachineName) {
			for _, x := range daemons[p].Containers() {
				if !c.Owns(x.Labels) || x.Labels["fairlead.dev/part"] != "endpoint" {
					continue
				}
				for line := range strings.Lines(x.Files["usr/local/etc/haproxy/haproxy.cfg"]) {
					if f := strings.Fields(line); len(f) > 1 && f[0] == "server" {
						out = append(out, fleet.MachineName(f[1]))
					}
				}
			}
			return out
		},
		Jam: func(_ testing.TB, p providers.Infrastructure) {
			for _, c := range daemons[p].Containers() {
				if c.Labels["fairlead.dev/part"] == "endpoint" {
					daemons[p].Inject(dockertest.Fault{Changes: true, Path: c.ID, Status: 409})
				}
			}
		},
		Mistaken: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster {
			m, pool := *c, c.Workers[0]
			pool.Infrastructure = machine("kindest/node:v1.999.0")
			m.Workers = []fleet.Pool{pool}
			return []*fleet.Cluster{&m}
		},
		Renamed: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster {
			m := *c
			spec, err := api.ReadCluster(c.Infrastructure)
			if err != nil {
				return nil
			}
			spec.ControlPlaneEndpoint.Port = 7443
			m.Infrastructure = newObject("DockerCluster", spec)
			return []*fleet.Cluster{&m}
		},
		FailureDomain: "left",
		UserDataLimit: 4 << 20,
	}
}

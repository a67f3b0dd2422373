package inmemory

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
)

// TestConformance runs the suite against a cloud behind HTTP.
func TestConformance(t *testing.T) { runSuite(t, testCluster) }

// TestConformanceWithPools runs it with machines that take addresses of a pool.
func TestConformanceWithPools(t *testing.T) {
	runSuite(t, func() fleet.Cluster {
		return *pooled("", fleet.Key{}, `{"addresses":["10.9.0.0/24","10.9.1.0/24"],"prefix":16,"gateway":"10.9.0.1"}`)
	})
}

func runSuite(t *testing.T, cluster func() fleet.Cluster) {
	clouds, wires := make(map[providers.Infrastructure]*Cloud), make(map[providers.Infrastructure]*wire)
	conformance.Run(t, conformance.Options{
		Provider: "inmemory",
		New: func(t testing.TB) providers.Infrastructure {
			c := NewCloud(CloudOptions{Faults: Faults{Lag: testLag}, Listen: NewPipeNetwork().Listen})
			t.Cleanup(c.Close)
			client := overHTTP(t, c)
			w := &wire{to: client.http.Transport}
			client.http.Transport = w
			p := NewProvider(client, testLag)
			clouds[p], wires[p] = c, w
			return p
		},
		FailListing: func(_ testing.TB, p providers.Infrastructure, nth int) { wires[p].set(nth, 0) },
		Hooks: conformance.Hooks{
			KeptPool: func(t testing.TB, p providers.Infrastructure, c *fleet.Cluster) (*fleet.Cluster, string) {
				plane, err := clouds[p].CreatePlane(t.Context(), PlaneSpec{Version: "v1.35.0"})
				if err != nil {
					t.Fatal(err)
				}
				return withPool(*c, plane.Endpoint), "v1.35.0"
			},
			Changes: func(_ testing.TB, p providers.Infrastructure) string {
				wires[p].mu.Lock()
				defer wires[p].mu.Unlock()
				return strings.Join(wires[p].changes, "\n")
			},
			Contents: func(_ testing.TB, p providers.Infrastructure) []string {
				c := clouds[p]
				c.lock()
				defer c.unlock()
				var out []string
				for id, n := range c.networks {
					if n.deleted.IsZero() {
						out = append(out, "network "+id)
					}
				}
				for id, v := range c.vms {
					if v.deleted.IsZero() {
						out = append(out, "vm "+id)
					}
				}
				slices.Sort(out)
				return out
			},
			LoseAnswer: func(_ testing.TB, p providers.Infrastructure, nth int) func() bool {
				wires[p].set(0, nth)
				return wires[p].end
			},
			Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
				if err := clouds[p].Retag(t.Context(), id, change); err != nil {
					t.Fatal(err)
				}
			},
			TakeOver: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
				c, taken := clouds[p], false
				wires[p].then(func() {
					taken = true
					if err := c.Retag(t.Context(), id, func(tags map[string]string) { tags[fleet.TagCluster] = "prod/theirs" }); err != nil {
						t.Error(err)
					}
				})
				return func() (bool, bool) {
					c.lock()
					defer c.unlock()
					for _, v := range c.vms {
						if v.Provider == id {
							return taken, v.deleted.IsZero()
						}
					}
					return taken, false
				}
			},
			// The load balancer leads to each server of the control plane that is there, as its own checks find it.
			Served: func(_ testing.TB, p providers.Infrastructure, of *fleet.Cluster) (out []fleet.MachineName) {
				c := clouds[p]
				c.lock()
				defer c.unlock()
				for _, v := range c.vms {
					if carries(v.network.Tags, of.Tags()) && v.Tags[fleet.TagRole] == string(fleet.RoleControlPlane) && v.alive() {
						out = append(out, fleet.MachineName(v.Tags[fleet.TagMachine]))
					}
				}
				return out
			},
			Mistaken: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) []*fleet.Cluster {
				out, pool := *c, c.Workers[0]
				pool.Infrastructure.Spec = []byte(`{"backend":7}`)
				out.Workers = []fleet.Pool{pool}
				return []*fleet.Cluster{&out}
			},
			Renamed: func(_ testing.TB, _ providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
				for _, e := range []fleet.Endpoint{{Host: "127.9.9.9", Port: 6443}, {Host: c.Residence.Endpoint.Host, Port: 443}} {
					m := *c
					m.Endpoint = e
					out = append(out, &m)
				}
				return out
			},
			FailBoot: func(t testing.TB, p providers.Infrastructure) {
				if err := clouds[p].SetFaults(t.Context(), Faults{Lag: testLag, FailBoot: []string{"*"}}); err != nil {
					t.Fatal(err)
				}
			},
			FailCreate: func(t testing.TB, p providers.Infrastructure) func() {
				set := func(names ...string) {
					if err := clouds[p].SetFaults(t.Context(), Faults{Lag: testLag, FailCreate: names}); err != nil {
						t.Fatal(err)
					}
				}
				set("*")
				return func() { set() }
			},
			SlowRelease: func(t testing.TB, p providers.Infrastructure) {
				if err := clouds[p].SetFaults(t.Context(), Faults{Lag: testLag, SlowRelease: time.Hour}); err != nil {
					t.Fatal(err)
				}
			},
			Pooled: func(_ testing.TB, c *fleet.Cluster, name, last string) *fleet.Cluster {
				p := pooled(c.Fleet, c.Key, `{"addresses":["10.9.0.10-`+last+`"],"prefix":24}`)
				p.Companions[0].Name = name
				p.Workers[0].Infrastructure.Spec = []byte(`{"backend":{"inMemory":{"addressesFromPools":[{"kind":"GlobalInClusterIPPool","name":"` + name + `"}]}}}`)
				return p
			},
			FailureDomain: "a",
		},
		Cluster: cluster,
		Foreign: func(t testing.TB, p providers.Infrastructure, name string) func() bool {
			c := clouds[p]
			n, err := c.CreateNetwork(t.Context(), NetworkSpec{Name: "foreign"})
			if err != nil {
				t.Fatal(err)
			}
			v, err := c.CreateVM(t.Context(), VMSpec{Name: name, Network: n.ID})
			if err != nil {
				t.Fatal(err)
			}
			return func() bool {
				c.lock()
				defer c.unlock()
				return c.vms[v.ID] != nil && c.vms[v.ID].deleted.IsZero()
			}
		},
		Around: synctest.Test,
	})
}

// A wire to a cloud fails the nth listing, loses the answer to the nth change, and
// writes down changes.
type wire struct {
	to http.RoundTripper

	mu         sync.Mutex
	fail, lose int
	lost       bool
	listed     func() // is called once, after a listing of machines
	changes    []string
}

// then has listed be called after the next listing of machines.
func (w *wire) then(listed func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listed = listed
}

func (w *wire) set(fail, lose int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail, w.lose, w.lost = fail, lose, false
}

// end has nothing fail any more, and reports whether an answer was lost.
func (w *wire) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail, w.lose = 0, 0
	return w.lost
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	list := strings.HasSuffix(r.URL.Path, "/list")
	w.mu.Lock()
	lose := false
	switch {
	case list:
		w.fail--
	case strings.HasSuffix(r.URL.Path, "/watch"), strings.HasSuffix(r.URL.Path, "/get"): // they ask
	default:
		w.changes = append(w.changes, r.URL.Path)
		w.lose--
		lose = w.lose == 0
		w.lost = w.lost || lose
	}
	fail := list && w.fail == 0
	w.mu.Unlock()
	if fail {
		return nil, io.ErrUnexpectedEOF
	}
	resp, err := w.to.RoundTrip(r)
	if strings.HasSuffix(r.URL.Path, "/vms/list") {
		w.mu.Lock()
		listed := w.listed
		w.listed = nil
		w.mu.Unlock()
		if listed != nil {
			listed()
		}
	}
	if lose && err == nil {
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

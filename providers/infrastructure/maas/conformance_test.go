package maas_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/conformance"
	"fairlead.dev/providers/driver/endpoint"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/maastest"
)

// TestConformance runs the suite on a region for each of its checks.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.RunParallel(t, suite)
}

// suite returns the options of one check.
func suite() conformance.Options {
	worlds := make(map[providers.Infrastructure]*world)
	var last *world
	return conformance.Options{
		Around: synctest.Test,
		New: func(t testing.TB) providers.Infrastructure {
			last = newWorld(t, 14)
			worlds[last.p] = last
			return last.p
		},
		Cluster: func() fleet.Cluster { return last.c },
		Foreign: func(t testing.TB, p providers.Infrastructure, name string) func() bool {
			return worlds[p].foreign(name)
		},
		FailListing: func(_ testing.TB, p providers.Infrastructure, nth int) {
			time.Sleep(2 * tick) // so that no listing is new enough
			worlds[p].Inject(maastest.Fault{Method: "GET */*", Skip: nth - 1, Times: 1, Status: 500})
		},
		Provider: "maas", Hooks: suiteHooks(worlds),
	}
}

// suiteHooks reach the regions of providers.
func suiteHooks(worlds map[providers.Infrastructure]*world) conformance.Hooks {
	return conformance.Hooks{
		Changes: func(_ testing.TB, p providers.Infrastructure) string {
			var out strings.Builder
			for i, c := range worlds[p].Calls() {
				if c.Changes() {
					fmt.Fprintln(&out, i, c.Method)
				}
			}
			return out.String()
		},
		Contents: func(_ testing.TB, p providers.Infrastructure) []string {
			var out []string
			for _, m := range worlds[p].Machines() {
				if m.Owner != "" {
					out = append(out, "machine "+m.SystemID)
				}
			}
			for _, n := range worlds[p].Names() {
				out = append(out, "name "+n)
			}
			slices.Sort(out)
			return out
		},
		LoseAnswer: func(_ testing.TB, p providers.Infrastructure, nth int) func() bool {
			end := worlds[p].Inject(maastest.Fault{Changes: true, Skip: nth - 1, Times: 1, Lose: true})
			return func() bool { return end() > 0 }
		},
		Retag: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID, change func(map[string]string)) {
			worlds[p].retag(t, id, change)
		},
		LoseRecords: func(_ testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() bool {
			worlds[p].Change(systemID(id), func(m *maastest.Machine, _ *maastest.Host) { // as in a backup from before
				m.Status, m.Owner, m.Annotations, m.IP = maastest.Ready, "", nil, ""
			})
			_, before := worlds[p].Machine(systemID(id))
			return func() bool {
				_, h := worlds[p].Machine(systemID(id))
				return reflect.DeepEqual(before, h)
			}
		},
		TakeOver: func(t testing.TB, p providers.Infrastructure, id fleet.ProviderID) func() (taken, there bool) {
			return worlds[p].takeOver(t, id)
		},
		FailBoot: func(_ testing.TB, p providers.Infrastructure) {
			worlds[p].each(func(h *maastest.Host) { h.BadDisk = true })
		},
		SlowRelease: func(_ testing.TB, p providers.Infrastructure) {
			worlds[p].each(func(h *maastest.Host) { h.HoldsOff = true })
		},
		Served: func(_ testing.TB, p providers.Infrastructure, c *fleet.Cluster) []fleet.MachineName {
			return worlds[p].served(c)
		},
		Jam: func(_ testing.TB, p providers.Infrastructure) {
			worlds[p].Inject(maastest.Fault{Method: "PUT dnsresources/*/", Status: 503})
		},
		EndpointAt: func(_ testing.TB, p providers.Infrastructure, c *fleet.Cluster, address string) *fleet.Cluster {
			out := *c
			worlds[p].shared(&out, func(s *api.MaasClusterSpec) {
				s.ControlPlaneEndpoint.Host, s.VirtualIP = address, &endpoint.VirtualIP{}
			})
			return &out
		},
		Mistaken: func(_ testing.TB, p providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			for _, mistake := range []func(*api.MaasMachineSpec){
				func(s *api.MaasMachineSpec) { s.Image = "custom/u-2404" },
				func(s *api.MaasMachineSpec) { s.ResourcePool = "porduction" },
				func(s *api.MaasMachineSpec) { s.Tags = []string{"sdd"} },
				func(s *api.MaasMachineSpec) { s.FailureDomain = "c" },
			} {
				m, pool := *c, c.Workers[0]
				pool.Infrastructure = worlds[p].template("mistaken", mistake)
				m.Workers = []fleet.Pool{pool}
				out = append(out, &m)
			}
			return out
		},
		Renamed: func(_ testing.TB, p providers.Infrastructure, c *fleet.Cluster) (out []*fleet.Cluster) {
			for _, change := range []func(*api.MaasClusterSpec){
				func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host = "api.example.com" },
				func(s *api.MaasClusterSpec) { s.ControlPlaneEndpoint.Host = "api.maas" },
				func(s *api.MaasClusterSpec) {
					s.ControlPlaneEndpoint.Host, s.VirtualIP = "10.0.200.1", &endpoint.VirtualIP{}
				},
			} {
				m := *c
				worlds[p].shared(&m, change)
				out = append(out, &m)
			}
			return out
		},
		FailureDomain: "b",
		UserDataLimit: 4 << 20,
	}
}

// systemID returns the system id in a provider id.
func systemID(id fleet.ProviderID) string {
	return string(id[strings.LastIndexByte(string(id), '/')+1:])
}

// each changes all hosts.
func (w *world) each(change func(*maastest.Host)) {
	for _, m := range w.Machines() {
		w.Change(m.SystemID, func(_ *maastest.Machine, h *maastest.Host) { change(h) })
	}
}

// foreign deploys something of somebody else, with the account of the fleet.
func (w *world) foreign(name string) func() bool {
	m := w.Add(maastest.Machine{Hostname: name})
	w.Change(m.SystemID, func(m *maastest.Machine, h *maastest.Host) {
		m.Status, m.Owner, m.Power, m.OSystem, m.IP, h.On = maastest.Deployed, w.user.Name, "on", "ubuntu", "10.0.9."+m.SystemID, true
	})
	return func() bool {
		now, h := w.Machine(m.SystemID)
		return now.Status == maastest.Deployed && h.On
	}
}

// tagsOf returns the tags in the annotation of a machine.
func tagsOf(t testing.TB, m maastest.Machine) map[string]string {
	t.Helper()
	out := make(map[string]string)
	if text := m.Annotations["fairlead"]; text != "" {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (w *world) retag(t testing.TB, id fleet.ProviderID, change func(map[string]string)) {
	t.Helper()
	m, _ := w.Machine(systemID(id))
	tags := tagsOf(t, m)
	change(tags)
	w.annotate(m.SystemID, tags)
}

func (w *world) annotate(id string, tags map[string]string) {
	text, _ := json.Marshal(tags)
	w.Change(id, func(m *maastest.Machine, _ *maastest.Host) {
		if delete(m.Annotations, "fairlead"); len(tags) > 0 {
			m.Annotations["fairlead"] = string(text)
		}
	})
}

// takeOver gives the host of a machine to another cluster after the next listing.
func (w *world) takeOver(t testing.TB, id fleet.ProviderID) func() (taken, there bool) {
	t.Helper()
	var listed, taken atomic.Bool
	w.Watch(func(c maastest.Call) {
		switch {
		case c.Method == "GET machines/":
			listed.Store(true)
		case listed.Load() && taken.CompareAndSwap(false, true):
			m, _ := w.Machine(systemID(id))
			tags := tagsOf(t, m)
			tags[fleet.TagCluster], tags["fairlead.dev/created"] = "prod/another", "2026-11-28T12:00:00Z"
			w.annotate(m.SystemID, tags)
		}
	})
	return func() (bool, bool) {
		w.Watch(nil)
		m, h := w.Machine(systemID(id))
		return taken.Load(), m.Status == maastest.Deployed && h.On
	}
}

// served returns the machines that the name of c leads to: that which its machines know, where they know one.
func (w *world) served(c *fleet.Cluster) (out []fleet.MachineName) {
	for _, n := range w.Names() {
		addresses, texts, _ := w.Lookup(n)
		known := c.Residence.Endpoint.Host
		if known != "" && n != known || !slices.Contains(texts, "fairlead "+string(c.Fleet)+" "+c.Key.String()) {
			continue
		}
		for _, m := range w.Machines() {
			if m.IP != "" && slices.Contains(addresses, m.IP) {
				out = append(out, fleet.MachineName(tagsOf(w, m)[fleet.TagMachine]))
			}
		}
	}
	return out
}

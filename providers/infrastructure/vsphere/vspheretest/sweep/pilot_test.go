package sweep_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// The rhythm of these tests: real time passes, so it is short.
const tick, settle = 10 * time.Millisecond, 60 * time.Millisecond

// A pilot keeps one cluster as the agent does: it looks, does what may be done now, and looks
// again. What it remembers dies with its program.
type pilot struct {
	testing.TB
	world    *world
	provider *vsphere.Provider
	cluster  fleet.Cluster
	log      bytes.Buffer // of the provider

	since   time.Time                       // when the program began
	open    map[fleet.MachineName]time.Time // when a machine was asked for
	shift   int                             // how many workers were replaced by hand
	known   fleet.Endpoint                  // what machines that run were made with
	errors  []error
	dead    atomic.Bool // the program ended at a call
	cut     *vspheretest.Injected
	trouble bool // something went wrong that was meant to
}

func newPilot(t testing.TB, w *world, c fleet.Cluster) *pilot {
	p := &pilot{TB: t, world: w, cluster: c}
	p.start()
	t.Cleanup(func() { p.provider.Close() })
	return p
}

// start begins a new program.
func (p *pilot) start() {
	p.provider = vsphere.New(vsphere.Options{
		VCenter: vcenter.Options{Tick: tick, Rate: 100_000}, Settle: settle, Patience: 10 * time.Second,
		Log: slog.New(slog.NewTextHandler(&p.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	p.since, p.open = time.Now(), make(map[fleet.MachineName]time.Time)
}

// dieAt ends the program at its nth call from now on: before vCenter has it, or when it was
// done and the answer is on its way. Nothing of that program reaches vCenter after it.
func (p *pilot) dieAt(n int, before bool) {
	p.world.FailCalls(vspheretest.CallFault{Skip: n - 1, Times: 1, Cut: before, Lose: !before, Do: func(vspheretest.Call) {
		p.cut = p.world.FailCalls(vspheretest.CallFault{Cut: true})
		p.dead.Store(true)
	}})
}

// revive follows a program that died by another.
func (p *pilot) revive() {
	p.provider.Close() // its connections; it cannot log out
	p.cut.End()
	p.dead.Store(false)
	p.trouble = true
	p.start()
}

// wanted returns the machines that are to be there, by name, and the zone of each.
func (p *pilot) wanted() (map[fleet.MachineName]fleet.Pool, map[fleet.MachineName]string) {
	pools, zones := make(map[fleet.MachineName]fleet.Pool), make(map[fleet.MachineName]string)
	if p.cluster.Delete {
		return pools, zones
	}
	for _, pool := range p.cluster.Pools() {
		for i := range pool.Replicas {
			zone := pool.FailureDomain
			if pool.Role == fleet.RoleControlPlane {
				zone = []string{"zone-0", "zone-1"}[i%2]
			} else {
				i += p.shift
			}
			name := fleet.NewMachineName(p.cluster.Key, pool.Name, pool.Template, i)
			pools[name], zones[name] = pool, zone
		}
	}
	return pools, zones
}

func (p *pilot) failed(err error) {
	if err != nil {
		p.errors = append(p.errors, err)
	}
}

// pass looks once and acts. It reports whether nothing is left to do.
func (p *pilot) pass() bool {
	p.Helper()
	c := &p.cluster
	got, err := p.provider.Observe(p.Context(), c)
	if err != nil {
		p.failed(err)
		return false
	}
	p.noTwins()
	p.keepEndpoint(&got)
	for _, f := range got.Failures {
		p.failed(fleet.Errorf(fleet.Unknown, "create machine "+string(f.Machine), "%s", f.Message))
		delete(p.open, f.Machine)
	}
	wanted, _ := p.wanted()
	calm := p.removeMachines(got.Machines, wanted)
	for name := range wanted {
		calm = calm && slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.Name == name && m.State == fleet.MachineRunning })
	}
	switch {
	case c.Delete && len(got.Machines) == 0 && !p.awaiting():
		p.failed(p.provider.DeleteInfrastructure(p.Context(), "op", c))
		return !got.Exists
	case c.Delete:
		return false
	case !got.Ready || len(got.Drift) > 0:
		p.failed(p.provider.EnsureInfrastructure(p.Context(), "op", c))
		calm = false
	}
	if got.Ready {
		p.createMachines(got.Machines, got.Endpoint)
	}
	return calm
}

// keepEndpoint fails where the endpoint is another one than machines know that ran.
func (p *pilot) keepEndpoint(got *fleet.Infrastructure) {
	p.Helper()
	if p.known.Host != "" && len(got.Machines) > 0 && got.Endpoint != p.known {
		p.Errorf("the endpoint is %v, and machines know %v", got.Endpoint, p.known)
	}
	if slices.ContainsFunc(got.Machines, func(m fleet.Machine) bool { return m.State == fleet.MachineRunning }) {
		p.known = got.Endpoint
	}
}

// awaiting reports whether a machine that was asked for may still show.
func (p *pilot) awaiting() bool {
	maps.DeleteFunc(p.open, func(_ fleet.MachineName, at time.Time) bool { return time.Since(at) > p.provider.Settle() })
	return len(p.open) > 0
}

func (p *pilot) createMachines(there []fleet.Machine, api fleet.Endpoint) {
	p.awaiting()
	if time.Since(p.since) < p.provider.Settle() {
		return
	}
	wanted, zones := p.wanted()
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		at := slices.IndexFunc(there, func(m fleet.Machine) bool { return m.Name == name })
		if _, open := p.open[name]; open || at >= 0 {
			continue
		}
		err := p.provider.CreateMachine(p.Context(), fleet.OperationID("op-"+name), providers.MachineRequest{
			Cluster: &p.cluster, Pool: wanted[name], Name: name, FailureDomain: zones[name],
			UserData: providers.UserData{Format: "cloud-config", Content: fleet.NewSecret([]byte("#cloud-config\n{}\n"))},
			Origin:   fleet.Origin{Made: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)},
			Endpoint: api,
		})
		p.failed(err)
		if !fleet.Refused(err) {
			p.open[name] = time.Now()
		}
	}
}

// removeMachines removes those that are not wanted, or failed. It reports whether there was
// none.
func (p *pilot) removeMachines(there []fleet.Machine, wanted map[fleet.MachineName]fleet.Pool) bool {
	calm := true
	for _, m := range there {
		if _, want := wanted[m.Name]; want && m.State != fleet.MachineFailed && m.State != fleet.MachineDeleting {
			continue
		}
		calm = false
		if m.State != fleet.MachineDeleting || m.Interrupted {
			p.failed(p.provider.DeleteMachine(p.Context(), "op", &p.cluster, m.Name, m.ProviderID))
		}
	}
	return calm
}

// noTwins fails where two VMs are the same machine, or have one address of a pool, and where one
// has not the endpoint of the others, or has it as its own address.
func (p *pilot) noTwins() {
	p.Helper()
	seen := make(map[string]string)
	held := ""
	for _, m := range p.world.Machines() {
		var tags map[string]string
		if json.Unmarshal([]byte(m.ExtraConfig["fairlead.dev/tags"]), &tags) != nil || tags["fairlead.dev/fleet"] != "fleet-a" {
			continue // of others, or not there yet
		}
		is := tags["fairlead.dev/endpoint-address"]
		if is == "" || held != "" && is != held || is == tags["fairlead.dev/addresses"] {
			p.Errorf("%s has the endpoint %q, others have %q, and its address is %q", m.Path, is, held, tags["fairlead.dev/addresses"])
		}
		held = is
		for _, is := range []string{"machine " + tags["fairlead.dev/machine"], "address " + tags["fairlead.dev/addresses"]} {
			if seen[is] != "" {
				p.Errorf("%s and %s are both %s", seen[is], m.Path, is)
			}
			seen[is] = m.Path
		}
	}
}

// fly passes until nothing is left to do. A program that died is followed by another. It
// reports whether it came to that before enough said to stop.
func (p *pilot) fly(enough func() bool) bool {
	p.Helper()
	for range 2000 {
		done := p.pass()
		if p.dead.Load() {
			p.revive()
			done = false
		}
		// A new program tells what is left over from what is to come by waiting.
		if done && time.Since(p.since) > 2*p.provider.Settle() {
			return true
		}
		if enough != nil && enough() {
			return false
		}
		time.Sleep(tick)
	}
	got, err := p.provider.Observe(p.Context(), &p.cluster)
	p.Fatalf("it does not get calm: %+v, %v; the last errors: %v", got, err, p.errors[max(0, len(p.errors)-3):])
	return false
}

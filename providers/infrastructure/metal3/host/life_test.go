package host_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/metal3/host"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// pilot does to a host of a real Ironic what is decided, look by look.
type pilot struct {
	*testing.T
	i *metal3test.Ironic
	c *ironic.Client
	h *metal3test.Host

	steps []host.Step // that were taken
}

// do asks for a step.
func (p *pilot) do(s host.Step, uuid string, m *host.Machine) error {
	ctx := p.Context()
	switch s {
	case host.Create:
		return p.c.Create(ctx, ironic.Spec{
			UUID: uuid, Name: "m1", Driver: "redfish", Interfaces: map[string]string{"inspect": "redfish"}, DriverInfo: p.h.DriverInfo(), MAC: p.h.MAC(), AutomatedClean: true,
		})
	case host.Manage:
		return p.c.Manage(ctx, uuid)
	case host.Inspect:
		return p.c.Inspect(ctx, uuid)
	case host.Provide:
		return p.c.Provide(ctx, uuid)
	case host.Claim:
		_, err := p.c.Claim(ctx, uuid, ironic.Claim{
			Instance: m.Instance, Extra: map[string]any{"machine": m.Name},
			Info: map[string]any{"image_source": p.i.ImageURL(), "image_os_hash_algo": "sha256", "image_os_hash_value": p.i.ImageSHA256(), "image_disk_format": "raw"},
		})
		return err
	case host.Unclaim:
		return p.c.Unclaim(ctx, uuid, m.Instance)
	case host.Deploy:
		return p.c.Deploy(ctx, uuid, "")
	case host.Adopt:
		return p.c.Adopt(ctx, uuid)
	case host.Undeploy:
		return p.c.Undeploy(ctx, uuid)
	case host.PowerOn:
		return p.c.Power(ctx, uuid, ironic.On)
	case host.PowerOff:
		return p.c.Power(ctx, uuid, ironic.Off)
	case host.UnsetMaintenance:
		return p.c.UnsetMaintenance(ctx, uuid)
	}
	p.Fatalf("no step %q", s)
	return nil
}

// until takes steps until done says so.
func (p *pilot) until(h host.Declared, done func(d host.Decision, n *ironic.Node) bool) {
	p.Helper()
	uuid := ironic.NodeID("f", "metal", "m1")
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := p.c.List(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		var n *ironic.Node
		if len(list) > 0 {
			n = &list[0]
			if n.Extra[ironic.ExtraKey] != nil && h.Machine != nil {
				h.Tags = host.Own
			}
		}
		d := host.Next(h, n)
		if done(d, n) {
			return
		}
		if d.Held != "" {
			p.Fatalf("held: %s", d.Held)
		}
		if d.Step != host.None {
			switch err := p.do(d.Step, uuid, h.Machine); {
			case err == nil:
				p.steps = append(p.steps, d.Step)
			case !ironic.IsLocked(err) && !ironic.IsWrongState(err): // it moved since the look
				p.Fatalf("%s: %v", d.Step, err)
			}
		}
		select {
		case <-tick.C:
		case <-p.Context().Done():
			p.Fatal(p.Context().Err())
		}
	}
}

// took compares the steps since the last time.
func (p *pilot) took(what string, want ...host.Step) {
	p.Helper()
	if diff := gocmp.Diff(want, p.steps); diff != "" {
		p.Errorf("%s (-want +got):\n%s", what, diff)
	}
	p.steps = nil
}

// TestLife: on a real Ironic a host goes from nothing to a machine, is adopted after the
// database was lost, and is released when its BMC answers.
func TestLife(t *testing.T) {
	t.Parallel()
	i := metal3test.New(t, metal3test.Options{})
	c, err := ironic.New(ironic.Credential{Endpoint: i.URL() + "/v1/", Username: metal3test.User, Password: metal3test.Password, CA: string(i.CA())}, ironic.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := &pilot{T: t, i: i, c: c, h: i.AddHost("m1")}
	in := func(s ironic.State) func(host.Decision, *ironic.Node) bool {
		return func(d host.Decision, n *ironic.Node) bool {
			return n != nil && n.State == s && !n.Locked && d.Step == host.None
		}
	}

	failing := i.FailHosts(metal3test.HostFault{At: metal3test.AtClean, Times: 1})
	p.until(host.Declared{Inspect: true, Online: true}, in(ironic.Available))
	failing.End()
	p.took("from nothing, with one failed cleaning", host.Create, host.Manage, host.Inspect, host.Provide,
		host.UnsetMaintenance, host.PowerOff, host.Manage, host.Provide)

	m := machine()
	p.until(host.Declared{Inspect: true, Online: true, Machine: m}, in(ironic.Active))
	p.took("a machine", host.Claim, host.Deploy)
	before := p.h.State()
	if before.Running != metal3test.OnDisk {
		t.Fatalf("the machine: %+v", before)
	}

	if err := i.LoseDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.until(host.Declared{Inspect: true, Online: true, Node: "n1"}, func(d host.Decision, _ *ironic.Node) bool { return d.Held != "" })
	p.took("a lost database, and nobody who knows the machine", host.Create, host.Manage)
	m.Running = true
	p.until(host.Declared{Inspect: true, Online: true, Node: "n1", Machine: m}, in(ironic.Active))
	p.took("the machine is known", host.Claim, host.Adopt)
	if diff := gocmp.Diff(before, p.h.State()); diff != "" {
		t.Errorf("the machine (-before +after):\n%s", diff)
	}

	silent := i.FailHosts(metal3test.HostFault{At: metal3test.AtRequest})
	p.until(host.Declared{Online: true, Machine: m}, func(_ host.Decision, n *ironic.Node) bool { return n.Fault == ironic.PowerFault })
	m.Release = true
	p.until(host.Declared{Online: true, Machine: m}, func(d host.Decision, n *ironic.Node) bool { return d.Err != nil && n.Fault == ironic.PowerFault })
	p.took("while the BMC is silent")
	silent.End()
	p.until(host.Declared{Online: true, Machine: m}, in(ironic.Available))
	p.took("the BMC is back", host.Undeploy)
	if s := p.h.State(); s.On || s.Disk != nil {
		t.Errorf("released: %+v", s)
	}
}

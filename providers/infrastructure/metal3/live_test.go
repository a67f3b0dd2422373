package metal3_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// live has machines run from a virtual drive.
func live(w *world) func(*api.MachineSpec) {
	return func(s *api.MachineSpec) { s.Image = api.Image{URL: w.LiveURL(), DiskFormat: api.LiveISO} }
}

// custom has machines brought on hosts by a step of the ramdisk.
func custom(method string) func(*api.MachineSpec) {
	return func(s *api.MachineSpec) { s.Image, s.CustomDeploy = api.Image{}, api.CustomDeploy{Method: method} }
}

// rewrite changes what Git says of the host called name.
func (w *world) rewrite(c *fleet.Cluster, name string, change func(*api.BareMetalHostSpec)) {
	w.Helper()
	for i := range c.Companions {
		o := &c.Companions[i]
		if o.GVK.Kind != api.HostKind || o.Name != name {
			continue
		}
		s, err := api.ReadHost(*o)
		if err != nil {
			w.Fatal(err)
		}
		change(s)
		if o.Spec, err = json.Marshal(s); err != nil {
			w.Fatal(err)
		}
	}
}

func running(i fleet.Infrastructure) bool {
	return len(i.Machines) == 1 && i.Machines[0].State == fleet.MachineRunning
}

// TestDeployments: one host runs a live image, then what a step of the ramdisk installs, then an image
// on its disk, each with its config drive, and is restarted as what it is.
func TestDeployments(t *testing.T) {
	t.Parallel()
	each(t, false, deployments, "m1")
}

func deployments(t *testing.T, w *world) {
	t.Helper()
	c := &w.c
	for _, d := range []struct {
		change func(*api.MachineSpec)
		want   metal3test.Running
		image  string
	}{
		{live(w), metal3test.OnMedia, w.LiveURL()},
		{custom(metal3test.CustomStep), metal3test.OnDisk, metal3test.CustomStep},
		{live(w), metal3test.OnMedia, w.LiveURL()},
		{nil, metal3test.OnDisk, w.ImageURL()},
	} {
		c.Workers[0].Infrastructure = w.template("md-0", d.change)
		w.until(c, "available", allFree)
		w.create(c, worker)
		shows := func() {
			s := w.hosts["m1"].State()
			from := s.Disk
			if d.want == metal3test.OnMedia {
				from = s.Live
			}
			if !s.On || s.Running != d.want || from == nil || from.Image != d.image || from.Drive["user_data"] != "#cloud-config\n{}\n" ||
				!strings.Contains(from.Drive["meta_data.json"], string(worker)) {
				t.Errorf("%s: the host: %+v, from %+v", d.image, s, from)
			}
		}
		shows()
		w.hosts["m1"].Press(false)
		w.hosts["m1"].Press(true) // as somebody does who stands before it
		shows()
		w.remove(c, worker)
		w.until(c, "free again", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 && allFree(i) })
		if s := w.hosts["m1"].State(); s.On {
			t.Errorf("after its release the host is %+v", s)
		}
	}
}

// TestUnknownStep: a step that the ramdisk does not have is told in Ironic's words.
func TestUnknownStep(t *testing.T) {
	t.Parallel()
	each(t, false, unknownStep, "m1")
}

func unknownStep(t *testing.T, w *world) {
	t.Helper()
	c := &w.c
	c.Workers[0].Infrastructure = w.template("md-0", custom("install_nothing"))
	w.until(c, "available", allFree)
	if err := w.p.CreateMachine(t.Context(), "op-1", request(c, worker)); err != nil {
		t.Fatal(err)
	}
	got := w.until(c, "failed", func(i fleet.Infrastructure) bool {
		return len(i.Machines) == 1 && i.Machines[0].State == fleet.MachineFailed
	})
	if m := got.Machines[0]; !strings.Contains(m.Message, "install_nothing") {
		t.Errorf("it says %q", m.Message)
	}
}

// TestLiveNeedsMedia: a live image is given no host that boots by network.
func TestLiveNeedsMedia(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	w.rewrite(c, "m1", func(s *api.BareMetalHostSpec) {
		s.BMC.Address = strings.Replace(s.BMC.Address, "redfish-virtualmedia+", "redfish+", 1)
	})
	c.Workers[0].Infrastructure = w.template("md-0", live(w))
	got := w.observe(c)
	for name, pools := range map[string]int{"m1": 1, "m2": 2} {
		if h := hostOf(got, name); len(h.Fits) != pools {
			t.Errorf("host %s fits %q", name, h.Fits)
		}
	}
	if m := w.create(c, worker); !strings.Contains(string(m.ProviderID), "/m2/") {
		t.Errorf("the machine is %s", m.ProviderID)
	}
	if err := w.p.CreateMachine(t.Context(), "op-2", request(c, "eu-1-md-0-b2c")); fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "m1 does not boot by virtual media") {
		t.Errorf("the next one: %v", err)
	}
}

// TestStepOfItsOwn: who goes on with a claim deploys it as it was claimed, whatever Git names since.
func TestStepOfItsOwn(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	c.Workers[0].Infrastructure = w.template("md-0", custom(metal3test.CustomStep))
	w.until(c, "available", allFree)
	refused := w.FailCalls(metal3test.CallFault{Method: "PUT /v1/nodes/*/states/provision", Times: 1, Status: 503})
	if err := w.p.CreateMachine(t.Context(), "op-1", request(c, worker)); err == nil || refused.Done() != 1 {
		t.Fatalf("it was deployed: %v", err)
	}
	c.Workers[0].Infrastructure = w.template("md-0", nil)
	w.until(c, "running", running)
	if s := w.hosts["m1"].State(); s.Disk == nil || s.Disk.Image != metal3test.CustomStep {
		t.Errorf("the host: %+v", s)
	}
}

// TestLiveIsAdopted: a live image that runs on a host which a new Ironic does not know goes on.
func TestLiveIsAdopted(t *testing.T) {
	t.Parallel()
	each(t, true, liveIsAdopted, "m1")
}

func liveIsAdopted(t *testing.T, w *world) {
	t.Helper()
	c := &w.c
	c.Workers[0].Infrastructure = w.template("md-0", live(w))
	w.create(c, worker)
	before := w.hosts["m1"].State()
	if err := w.LoseDatabase(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.pause()
	w.until(c, "adopted", func(i fleet.Infrastructure) bool { return running(i) && !i.Machines[0].Silent })
	if after := w.hosts["m1"].State(); after.Boots != before.Boots || after.Running != metal3test.OnMedia {
		t.Errorf("the host was %+v and is %+v", before, after)
	}
	if to := w.node("m1")["deploy_interface"]; to != "ramdisk" { // what Ironic restarts it by
		t.Errorf("its deploy interface is %v", to)
	}
}

package sweep_test

import (
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// stages are the life of a cluster. After each of them nothing is left to do.
var stages = []struct {
	name string
	next func(p *pilot)
}{
	{"made", func(*pilot) {}},
	{"scaled", func(p *pilot) { p.cluster.ControlPlane.Replicas = 3 }},
	{"upgraded", func(p *pilot) { p.world.version(p, &p.cluster, "v1.35.0", "2") }},
	{"remediated", func(p *pilot) { p.attach(); p.shift++ }},
	{"deleted", func(p *pilot) { p.cluster.Delete = true }},
}

// live leads a cluster through its life, until enough is true. After each stage the machines of
// Git are there, and nothing else that the cluster made.
func (p *pilot) live(enough func() bool) {
	p.Helper()
	for _, stage := range stages {
		stage.next(p)
		if !p.fly(enough) {
			return
		}
		p.holds(stage.name)
	}
}

// holds fails where vCenter has not what it should.
func (p *pilot) holds(stage string) {
	p.Helper()
	var want, got []string
	names, _ := p.wanted()
	for name := range names {
		want = append(want, folder+"/"+string(name)+" on")
	}
	for _, m := range p.world.Machines() {
		if (strings.HasSuffix(m.Path, "-of-others") || strings.HasPrefix(m.Path, templates)) && !m.On {
			continue
		}
		got = append(got, m.Path+map[bool]string{true: " on", false: " off"}[m.On])
		if strings.HasPrefix(m.Path, folder) && (m.ExtraConfig["guestinfo.metadata"] == "" || m.ExtraConfig["guestinfo.userdata"] == "") {
			p.Errorf("%s: %s was switched on without what it is to read", stage, m.Path)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		p.Errorf("%s: there are %q, want %q", stage, got, want)
	}
	rules := map[string]int{}
	if !p.cluster.Delete && p.cluster.ControlPlane.Replicas > 1 {
		rules["fairlead fleet-a prod/eu-1 eu-1-cp"] = 2 // servers 0 and 2 are in one zone
	}
	for name, n := range p.apart() {
		if rules[name] != n {
			p.Errorf("%s: rule %s keeps %d machines apart, want %d", stage, name, n, rules[name])
		}
		delete(rules, name)
	}
	for name := range rules {
		p.Errorf("%s: there is no rule %s", stage, name)
	}
}

// apart are the rules of vCenter that keep VMs apart: how many are there.
func (p *pilot) apart() map[string]int {
	out := make(map[string]int)
	for _, path := range []string{rack, "/DC0/host/DC0_C1"} {
		for name, vms := range rulesOf(p.world.VCenter, path) {
			out[name] = len(vms)
		}
	}
	return out
}

func rulesOf(v *vspheretest.VCenter, path string) map[string][]types.ManagedObjectReference {
	out := make(map[string][]types.ManagedObjectReference)
	for _, r := range v.Rules(path) {
		if apart, ok := r.(*types.ClusterAntiAffinityRuleSpec); ok {
			out[apart.Name] = apart.Vm
		}
	}
	return out
}

// attach gives the worker a disk as the CSI driver does, with a file elsewhere.
func (p *pilot) attach() {
	p.Helper()
	ctx := context.Background()
	client := p.world.Local()
	name := fleet.NewMachineName(p.cluster.Key, p.cluster.Workers[0].Name, p.cluster.Workers[0].Template, p.shift)
	vm := object.NewVirtualMachine(client, p.world.Ref(folder+"/"+string(name)))
	devices, err := vm.Device(ctx)
	if err != nil {
		p.Fatal(err)
	}
	store := object.NewDatastore(client, p.world.Ref("/DC0/datastore/LocalDS_0"))
	volume := devices.CreateDisk(devices.PickController((*types.VirtualSCSIController)(nil)), store.Reference(), "[LocalDS_0] volume.vmdk")
	volume.CapacityInKB = 1024
	if err := vm.AddDevice(ctx, volume); err != nil {
		p.Fatal(err)
	}
}

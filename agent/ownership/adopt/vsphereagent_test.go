package adopt_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// boot boots the VMs that Fairlead makes, from their user data, and ends what runs in those that
// are gone, until the test ends.
func (s *vstack) boot() {
	s.Helper()
	networks, err := s.world.cloud.Networks(s.Context(), nil)
	if err != nil || len(networks) != 1 {
		s.Fatalf("the guests have the networks %v, %v", networks, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	inside := make(map[string]string) // ids of those that run, by the names of their VMs
	guests, err := s.world.cloud.VMs(ctx, nil)
	if err != nil {
		s.Fatal(err)
	}
	for _, g := range guests {
		inside[g.Name] = g.ID
	}
	look := func() error {
		there := make(map[string]bool)
		for _, m := range s.vc.Machines() {
			if there[m.Name] = true; inside[m.Name] != "" || !m.On {
				continue
			}
			spec, err := guestOf(m)
			if err != nil {
				return err
			}
			spec.Network = networks[0].ID
			if _, err := s.world.cloud.CreateVM(ctx, spec); err != nil {
				return err
			}
			inside[m.Name] = spec.ID
		}
		for name, id := range inside {
			if there[name] {
				continue
			}
			if err := s.world.cloud.DeleteVM(ctx, id); err != nil && fleet.KindOf(err) != fleet.NotFound {
				return err
			}
			delete(inside, name)
		}
		return nil
	}
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			if err := look(); err != nil && ctx.Err() == nil {
				s.Errorf("boot the VMs: %v", err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	s.Cleanup(func() { cancel(); done.Wait() })
}

// guestOf is what runs in m, by its user data.
func guestOf(m vspheretest.Machine) (inmemory.VMSpec, error) {
	var tags map[string]string
	if err := json.Unmarshal([]byte(m.ExtraConfig["fairlead.dev/tags"]), &tags); err != nil {
		return inmemory.VMSpec{}, err
	}
	data, err := base64.StdEncoding.DecodeString(m.ExtraConfig["guestinfo.userdata"])
	if err == nil && bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(r)
		}
	}
	return inmemory.VMSpec{ID: m.UUID, Name: m.Name, Version: tags["fairlead.dev/version"], UserData: data, Provider: fleet.ProviderID("vsphere://" + m.UUID)}, err
}

// edits replaces text in a file of the cluster's folder, and pushes that.
func (s *stack) edits(file, from, to string) {
	s.Helper()
	path := filepath.Join(s.folder, "clusters", s.ns, "eu-1", file)
	data, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	if !bytes.Contains(data, []byte(from)) {
		s.Fatalf("%s lacks %q:\n%s", file, from, data)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte(from), []byte(to), 1), 0o644); err != nil {
		s.Fatal(err)
	}
	s.push(to)
}

// addresses are those of the machines, by their marks.
func (s *vstack) addresses() []string {
	s.Helper()
	_, marks := s.vms()
	var out []string
	for _, tags := range marks {
		out = append(out, tags["fairlead.dev/addresses"])
	}
	slices.Sort(out)
	return out
}

// server is the name of the machine of the control plane.
func (s *vstack) server() string {
	i := slices.IndexFunc(s.machines, func(m providers.AdoptedMachine) bool { return m.Pool == "control-plane" })
	return string(s.machines[i].Name)
}

// attachVolume gives a VM a disk that is of others, as the CSI driver does.
func (s *vstack) attachVolume(ref types.ManagedObjectReference) *object.Datastore {
	s.Helper()
	c, err := s.vc.Client(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	vm := object.NewVirtualMachine(c.Client, ref)
	devices, err := vm.Device(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	store := object.NewDatastore(c.Client, s.vc.Ref("/DC0/datastore/LocalDS_0"))
	store.InventoryPath, store.DatacenterPath = "/DC0/datastore/LocalDS_0", "/DC0"
	volume := devices.CreateDisk(devices.PickController((*types.VirtualSCSIController)(nil)), store.Reference(), "[LocalDS_0] volume.vmdk")
	volume.CapacityInKB = 1024
	if err := vm.AddDevice(s.Context(), volume); err != nil {
		s.Fatal(err)
	}
	return store
}

// TestVSphereAgent: an agent that follows an adopted cluster changes nothing of it, adds a machine
// beside those of Cluster API, with an address that none of these has, replaces workers that were
// adopted, whose addresses are free then and whose volumes are kept, and deletes the cluster.
func TestVSphereAgent(t *testing.T) {
	s := newVStack(t)
	s.serveGit()
	s.fairlead(0, append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...)...)
	before, marks := s.vms()
	s.push("adopted")
	s.vc.ResetCalls()
	s.boot()
	s.agent(s.flags()...)
	s.waitProvisioned(3)
	after, now := s.vms()
	if d := cmp.Diff(before, after) + cmp.Diff(marks, now); d != "" {
		t.Errorf("the agent changed something: %s", d)
	}
	for _, c := range s.vc.Calls() {
		if c.Changes() {
			t.Errorf("the agent changed something: %s %s", c.Method, c.This)
		}
	}

	s.edits("eu-1-md-0.yaml", "replicas: 2", "replicas: 3")
	s.waitProvisioned(4)
	if got := slices.Compact(s.addresses()); len(got) != 4 {
		t.Errorf("addresses %v, want another one for the new machine", got)
	}
	for name := range before {
		if after, now = s.vms(); cmp.Diff(before[name], after[name])+cmp.Diff(marks[name], now[name]) != "" {
			t.Errorf("machine %s is another beside a new one", name)
		}
	}

	var workers []vspheretest.Machine // that were adopted
	for _, m := range s.machines {
		if m.Pool == "eu-1-md-0" {
			workers = append(workers, before[string(m.Name)])
		}
	}
	store := s.attachVolume(workers[0].Ref)
	s.edits("eu-1-md-0.yaml", "unix:///run/containerd", "unix:///var/run/containerd")
	s.waitProvisioned(4)
	s.until("the workers are replaced", func() bool {
		for _, m := range s.vc.Machines() {
			if slices.ContainsFunc(workers, func(w vspheretest.Machine) bool { return w.Ref == m.Ref }) {
				return false
			}
		}
		return true
	})
	s.waitProvisioned(4)
	if _, err := store.Stat(t.Context(), "volume.vmdk"); err != nil {
		t.Errorf("the volume of a machine that was adopted: %v, want it kept", err)
	}
	if got := s.addresses(); len(slices.Compact(slices.Clone(got))) != 4 || !slices.Contains(got, marks[s.server()]["fairlead.dev/addresses"]) {
		t.Errorf("addresses %v, want four, that of the control plane among them", got)
	}

	s.edits("cluster.yaml", "metadata:\n", "metadata:\n  annotations: {fairlead.dev/delete: \"true\"}\n")
	s.until("the cluster is deleted", func() bool { return s.report().Phase == fleet.PhaseDeleted })
	after, now = s.vms()
	for _, m := range s.machines {
		if _, there := after[string(m.Name)]; there {
			t.Errorf("machine %s, which was adopted, is there still", m.Name)
		}
	}
	if len(now) > 0 {
		t.Errorf("there are still %v", now)
	}
	if _, err := store.Stat(t.Context(), "volume.vmdk"); err != nil {
		t.Errorf("the volume after the deletion: %v, want it kept", err)
	}
}

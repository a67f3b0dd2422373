package adopt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/fleet"
)

// TestVSphere adopts a cluster on vSphere with the program, whose machines have addresses of a
// pool, plans, and gives it back. Nothing of a machine is touched but its mark.
func TestVSphere(t *testing.T) {
	s := newVStack(t)
	s.serveGit()
	before, _ := s.vms()
	command := func(more ...string) []string {
		return append(append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...), more...)
	}
	if out := s.fairlead(0, command("--dry-run")...); !strings.Contains(out, "1 of 1 cluster: ready to be adopted") {
		t.Fatalf("dry run: %s", out)
	}
	if _, marks := s.vms(); len(marks) > 0 {
		t.Errorf("the dry run marked %v", marks)
	}
	if out := s.fairlead(0, command()...); !strings.Contains(out, "1 of 1 cluster: adopted") || !s.paused() {
		t.Fatalf("paused there %t: %s", s.paused(), out)
	}
	after, marks := s.vms()
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("the machines are others: %s", d)
	}
	for i, m := range s.machines {
		if got, want := marks[string(m.Name)]["fairlead.dev/addresses"], fmt.Sprintf("InClusterIPPool/%s/nodes=10.7.0.%d", s.ns, 10+i); got != want {
			t.Errorf("%s has the address %q, want %q", m.Name, got, want)
		}
	}
	companions, err := os.ReadFile(filepath.Join(s.folder, "clusters", s.ns, "eu-1", "companions.yaml"))
	if err != nil || !strings.Contains(string(companions), "name: nodes\n") || strings.Contains(string(companions), "of-others") {
		t.Errorf("companions: %s, %v, want the pool that its machines name alone", companions, err)
	}
	s.fairlead(0, append([]string{"plan", s.folder}, s.flags()...)...) // exit code 2 would say that there are changes
	s.fairlead(0, command("--undo")...)
	after, marks = s.vms()
	if d := cmp.Diff(before, after); d != "" || len(marks) > 0 || s.paused() {
		t.Errorf("given back: marks %v, paused there %t, the machines are others: %s", marks, s.paused(), d)
	}
}

// TestVSphereRefuses: what cannot be taken over of a vCenter is told with its name, and nothing is
// begun.
func TestVSphereRefuses(t *testing.T) {
	s := newVStack(t)
	before, _ := s.vms()
	worker := ""
	for _, m := range s.machines {
		if m.Pool == "eu-1-md-0" {
			worker = string(m.Name)
		}
	}
	vm := before[worker]
	machine := func(id string) {
		s.change(kind("Machine"), worker, false, func(o map[string]any) { _ = unstructured.SetNestedField(o, id, "spec", "providerID") })
	}
	mark := func(text string) func() func() {
		return func() func() {
			s.vc.SetExtraConfig(vm.Ref, map[string]string{"fairlead.dev/tags": text})
			return func() { s.vc.SetExtraConfig(vm.Ref, map[string]string{"fairlead.dev/tags": ""}) }
		}
	}
	edit := func(name string, now, then any) func() func() {
		return func() func() {
			s.vc.Edit(vm.Ref, types.PropertyChange{Name: name, Val: now})
			return func() { s.vc.Edit(vm.Ref, types.PropertyChange{Name: name, Val: then}) }
		}
	}
	claims := s.resource(schema.GroupVersionKind{Group: "ipam.cluster.x-k8s.io", Version: "v1beta2", Kind: "IPAddressClaim"}, s.ns)
	for reason, tc := range map[string]struct {
		prepare func() (restore func())
		want    string
	}{
		"gone": {func() func() {
			machine("vsphere://42304ef3-6e31-4ba1-9000-000000000000")
			return func() { machine("vsphere://" + vm.UUID) }
		}, "no VM with the UUID 42304ef3-6e31-4ba1-9000-000000000000"},
		"of another provider": {func() func() {
			machine("openstack:///42")
			return func() { machine("vsphere://" + vm.UUID) }
		}, `its provider id "openstack:///42" is none of vSphere`},
		"of another fleet":     {mark(`{"fairlead.dev/fleet":"umbrella","fairlead.dev/cluster":"prod/eu-9"}`), vm.Path + " belongs to cluster prod/eu-9 of fleet umbrella"},
		"with a key of nobody": {mark("?"), vm.Path + " has a key fairlead.dev/tags that says nothing"},
		"a template":           {edit("config.template", true, false), vm.Path + " is a template"},
		"out of reach":         {edit("runtime.connectionState", types.VirtualMachineConnectionStateOrphaned, types.VirtualMachineConnectionStateConnected), vm.Path + " cannot be marked now: vCenter says that the virtual machine is orphaned"},
		"two VMs with its UUID": {func() func() {
			twin := s.vc.AddMachine("/DC0/vm/fleet", "twin")
			s.vc.Edit(twin.Ref, types.PropertyChange{Name: "config.uuid", Val: vm.UUID})
			return func() { s.vc.Destroy(twin.Ref) }
		}, "have the same UUID " + vm.UUID},
		"without its address": {func() func() {
			o, err := claims.Get(t.Context(), worker+"-0-0", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := claims.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			o.SetResourceVersion("")
			o.SetUID("")
			return func() { s.create(o) }
		}, "no IPAddressClaim of it has one of InClusterIPPool/NS/nodes, which Git names"},
	} {
		t.Run(reason, func(t *testing.T) {
			restore := tc.prepare()
			defer restore()
			r := s.adoption(nil).Run(t.Context(), []fleet.Key{s.key()})[0]
			told := fmt.Sprint(r.Problems, r.Err)
			if r.Done || !strings.Contains(strings.ReplaceAll(told, s.ns, "NS"), tc.want) || !strings.Contains(told, "machine "+worker) {
				t.Errorf("got %s, want %q of machine %s", told, tc.want, worker)
			}
			if there, _ := os.ReadDir(filepath.Join(s.folder, "clusters", s.ns)); len(there) > 0 || s.paused() {
				t.Errorf("it left %v, paused there %t", there, s.paused())
			}
		})
	}
	s.done(s.adoption(nil).Run(t.Context(), []fleet.Key{s.key()}))
	if after, marks := s.vms(); cmp.Diff(before, after) != "" || len(marks) != len(s.machines) {
		t.Errorf("in the end %d machines carry the mark, and the others are %s", len(marks), cmp.Diff(before, after))
	}
}

// TestVSphereWiped: a machine that was adopted, whose tags somebody took off and whose Node is gone,
// is told, and no other is made in its place.
func TestVSphereWiped(t *testing.T) {
	s := newVStack(t)
	s.serveGit()
	s.fairlead(0, append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...)...)
	worker := ""
	for _, m := range s.machines {
		if m.Pool == "eu-1-md-0" {
			worker = string(m.Name)
		}
	}
	vms, _ := s.vms()
	s.vc.SetExtraConfig(vms[worker].Ref, map[string]string{"fairlead.dev/tags": ""})
	plan := append([]string{"plan", s.folder}, s.flags()...)
	if out := s.fairlead(0, plan...); !strings.Contains(out, worker) || !strings.Contains(out, "fairlead.dev/tags is missing") {
		t.Errorf("with its Node: %s", out)
	}
	guests, err := s.world.cloud.VMs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range guests {
		if g.Name == worker {
			if err := s.world.cloud.DeleteVM(t.Context(), g.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(s.world.secrets[fleet.Kubeconfig][fleet.KubeconfigKey].Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().Delete(t.Context(), worker, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if out := s.fairlead(0, plan...); !strings.Contains(out, worker) || !strings.Contains(out, "it is called like a machine of pool eu-1-md-0") {
		t.Errorf("without its Node: %s", out)
	}
	again := append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...)
	if out := s.fairlead(1, again...); !strings.Contains(out, "put spec.paused: true there") {
		t.Errorf("to adopt again, with a machine that lost its tags: %s", out)
	}
	s.vc.Destroy(vms[worker].Ref)
	if out := s.fairlead(2, plan...); !strings.Contains(out, "create") { // 2: there are changes
		t.Errorf("without the machine: %s", out)
	}
}

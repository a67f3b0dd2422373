package adopt_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestMetal3 adopts a cluster on bare metal with the program, plans, and gives it back. Nothing of a
// host is touched, of its node in Ironic nothing but the mark, and baremetal-operator is kept from
// the hosts that come along.
func TestMetal3(t *testing.T) {
	s := newMStack(t, false, metal3test.Options{})
	for _, name := range []string{"host-1", "spare"} { // which Metal3 prepared before anybody had them
		s.editHost(name, false, map[string]any{"softwareRAIDVolumes": []any{map[string]any{"level": "1"}}}, "spec", "raid")
	}
	s.serveGit()
	before, _ := s.nodes()
	states := s.states()
	command := s.command
	if out := s.fairlead(1, command("--dry-run")...); !strings.Contains(out, "refers to Secret "+s.ns+"/ironic, which is not there") || !strings.Contains(out, "fairlead secrets set "+s.ns+"/ironic") {
		t.Fatalf("without the Secret of Ironic: %s", out)
	}
	s.setIronic()
	if out := s.fairlead(0, command("--dry-run")...); !strings.Contains(out, "1 of 1 cluster: ready to be adopted") {
		t.Fatalf("dry run: %s", out)
	}
	if _, marks := s.nodes(); len(marks)+len(s.hostPauses()) > 0 {
		t.Errorf("the dry run marked %v and paused %v", marks, s.hostPauses())
	}
	if out := s.fairlead(0, command()...); !strings.Contains(out, "1 of 1 cluster: adopted") || !s.paused() {
		t.Fatalf("paused there %t: %s", s.paused(), out)
	}
	after, marks := s.nodes()
	if d := cmp.Diff(before, after) + cmp.Diff(states, s.states()); d != "" {
		t.Errorf("the hosts are others: %s", d)
	}
	by := "fairlead.dev/" + s.fleetName()
	if d := cmp.Diff(map[string]string{"host-0": by, "host-1": by, "host-2": by, "spare": by}, s.hostPauses()); d != "" {
		t.Errorf("hosts that are paused: %s", d)
	}
	for i := range s.machines {
		tags := marks[fmt.Sprintf("%s~host-%d", s.ns, i)]
		if got, want := tags["fairlead.dev/addresses"], fmt.Sprintf("IPPool/%s/nodes=10.7.0.%d", s.ns, 10+i); got != want {
			t.Errorf("machine %d has the address %q, want %q", i, got, want)
		}
		if got, want := tags["fairlead.dev/index"], fmt.Sprintf("%s/nodes/%d", s.ns, i); got != want {
			t.Errorf("machine %d has the index %q, want %q", i, got, want)
		}
	}
	s.written()
	s.fairlead(0, append([]string{"plan", s.folder}, s.flags()...)...) // exit code 2 would say that there are changes
	s.fairlead(0, command("--undo")...)
	after, marks = s.nodes()
	if d := cmp.Diff(before, after) + cmp.Diff(states, s.states()); d != "" || len(marks)+len(s.hostPauses()) > 0 || s.paused() {
		t.Errorf("given back: marks %v, paused there %t, hosts %v, the hosts are others: %s", marks, s.paused(), s.hostPauses(), d)
	}
}

// command is one that adopts the cluster.
func (s *mstack) command(more ...string) []string {
	return append(append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...), more...)
}

// setIronic has people say where Ironic is.
func (s *mstack) setIronic() {
	s.Helper()
	set := []string{"secrets", "set", s.ns + "/ironic", "--secrets", s.secrets}
	for key, v := range s.ironicSecret() {
		file := filepath.Join(s.TempDir(), key)
		if err := os.WriteFile(file, v.Reveal(), 0o600); err != nil {
			s.Fatal(err)
		}
		set = append(set, "--from-file", key+"="+file)
	}
	s.fairlead(0, set...)
}

// fleetName is the name that the program gave the fleet.
func (s *mstack) fleetName() string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.folder, "fleet.yaml"))
	if err != nil {
		s.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "name: ")
	name, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(name)
}

// written checks the files of the cluster: hosts without what runs on them, and the pool that its
// machines name alone.
func (s *mstack) written() {
	s.Helper()
	read := func(file string) string {
		data, err := os.ReadFile(filepath.Join(s.folder, "clusters", s.ns, "eu-1", file))
		if err != nil {
			s.Fatal(err)
		}
		return string(data)
	}
	hosts := read("hosts.yaml")
	for _, gone := range []string{"consumerRef", "image:", "userData", "networkData", "metaData", "paused", "node-reuse", "cluster-name", "block-move", "HostFirmwareSettings", "HardwareData", "status"} {
		if strings.Contains(hosts, gone) {
			s.Errorf("hosts.yaml has %s: %s", gone, hosts)
		}
	}
	if strings.Count(hosts, "kind: BareMetalHost") != 4 || strings.Count(hosts, "online: true") != 4 {
		s.Errorf("hosts.yaml: %s", hosts)
	}
	if got := read("companions.yaml"); !strings.Contains(got, "kind: IPPool\nmetadata:\n  name: nodes\n") || !strings.Contains(got, "kind: Metal3DataTemplate\n") || strings.Contains(got, "of-others") {
		s.Errorf("companions.yaml: %s", got)
	}
}

// TestMetal3Refuses: what cannot be taken over is told with its name, and nothing is begun.
func TestMetal3Refuses(t *testing.T) {
	s := newMStack(t, true, metal3test.Options{})
	before, _ := s.nodes()
	states := s.states()
	node := "/v1/nodes/" + s.ns + "~host-1"
	worker := string(s.machines[1].Name)
	machine := func(id string) func() {
		s.change(kind("Machine"), worker, false, func(o map[string]any) { _ = unstructured.SetNestedField(o, id, "spec", "providerID") })
		return func() {
			s.change(kind("Machine"), worker, false, func(o map[string]any) {
				_ = unstructured.SetNestedField(o, string(s.machines[1].ID), "spec", "providerID")
			})
		}
	}
	for reason, tc := range map[string]struct {
		prepare func() (restore func())
		want    string
	}{
		"of another provider": {func() func() { return machine("openstack:///42") }, `its provider id "openstack:///42" is none of Metal3`},
		"of an old form":      {func() func() { return machine("metal3://0c9c0a52-6a6a-4a7a-9e0f-000000000001") }, "which is like metal3://namespace/host/machine"},
		"its host is of nobody": {func() func() {
			return s.editHost("host-1", false, nil, "spec", "consumerRef")
		}, "Git has no BareMetalHost NS/host-1"},
		"its host is at work": {func() func() {
			return s.editHost("host-1", true, "deprovisioning", "status", "provisioning", "state")
		}, `BareMetalHost NS/host-1: status.provisioning.state: has a machine, and is "deprovisioning"`},
		"its host is detached": {func() func() {
			return s.editHost("host-1", true, "detached", "status", "operationalStatus")
		}, "BareMetalHost NS/host-1: metadata.annotations: is detached: Ironic does not know it"},
		"switches of its host": {func() func() {
			return s.editHost("host-1", false, []any{map[string]any{"name": "eth0"}}, "spec", "networkInterfaces")
		}, "BareMetalHost NS/host-1: spec.networkInterfaces"},
		"its host is in maintenance": {func() func() {
			s.ironic.Ask(t, http.MethodPut, node+"/maintenance", map[string]string{"reason": "a new disk"})
			return func() { s.ironic.Ask(t, http.MethodDelete, node+"/maintenance", nil) }
		}, "host NS/host-1 is in maintenance: a new disk"},
		"another Ironic": {func() func() {
			s.ironic.Ask(t, http.MethodPatch, node, []map[string]any{{"op": "add", "path": "/name", "value": "elsewhere"}})
			other := strings.Replace(node, s.ns+"~host-1", "elsewhere", 1)
			return func() {
				s.ironic.Ask(t, http.MethodPatch, other, []map[string]any{{"op": "add", "path": "/name", "value": s.ns + "~host-1"}})
			}
		}, "has no node NS~host-1 (name the Ironic of Metal3 in Secret NS/ironic)"},
		"of another fleet": {func() func() {
			mark := map[string]any{"tags": map[string]any{"fairlead.dev/fleet": "umbrella", "fairlead.dev/cluster": "prod/eu-9", "fairlead.dev/machine": "x"}}
			s.ironic.Ask(t, http.MethodPatch, node, []map[string]any{{"op": "add", "path": "/extra/fairlead", "value": mark}})
			return func() {
				s.ironic.Ask(t, http.MethodPatch, node, []map[string]any{{"op": "remove", "path": "/extra/fairlead"}})
			}
		}, "host NS/host-1 belongs to cluster prod/eu-9 of fleet umbrella"},
	} {
		t.Run(reason, func(t *testing.T) {
			restore := tc.prepare()
			defer restore()
			r := s.adoption(nil).Run(t.Context(), []fleet.Key{s.key()})[0]
			told := fmt.Sprint(r.Problems, r.Err)
			if r.Done || !strings.Contains(strings.ReplaceAll(told, s.ns, "NS"), tc.want) {
				t.Errorf("got %s, want %q", told, tc.want)
			}
			if there, _ := os.ReadDir(filepath.Join(s.folder, "clusters", s.ns)); len(there) > 0 || s.paused() || len(s.hostPauses()) > 0 {
				t.Errorf("it left %v, paused there %t, hosts %v", there, s.paused(), s.hostPauses())
			}
		})
	}
	s.done(s.adoption(nil).Run(t.Context(), []fleet.Key{s.key()}))
	after, marks := s.nodes()
	if d := cmp.Diff(before, after) + cmp.Diff(states, s.states()); d != "" || len(marks) != len(s.machines) {
		t.Errorf("in the end %d machines carry the mark, and the hosts are %s", len(marks), d)
	}
}

// TestMetal3Neighbor: hosts that no machine has stay with Metal3 as long as another cluster of their
// namespace does; what somebody else paused stays paused.
func TestMetal3Neighbor(t *testing.T) {
	s := newMStack(t, true, metal3test.Options{})
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"infrastructureRef": map[string]any{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Cluster", "name": "eu-2"},
	}}}
	o.SetGroupVersionKind(kind("Cluster"))
	o.SetName("eu-2")
	o.SetNamespace(s.ns)
	s.create(o)
	s.editHost("host-0", false, map[string]any{"baremetalhost.metal3.io/paused": "metal3.io/capm3", "baremetalhost.metal3.io/status": "{}"}, "metadata", "annotations")
	s.adoptM()
	if d := cmp.Diff(map[string]string{"host-0": "metal3.io/capm3", "host-1": "fairlead.dev/harbour", "host-2": "fairlead.dev/harbour"}, s.hostPauses()); d != "" {
		t.Errorf("hosts that are paused: %s", d)
	}
	if got := strings.Join(s.output, "\n"); !strings.Contains(got, "hosts that no machine has stay with Metal3, since cluster eu-2 is there too: spare") {
		t.Errorf("said %s", got)
	}
	c := s.inFleet()
	for _, o := range c.Companions {
		if o.Name == "spare" || o.Annotations["baremetalhost.metal3.io/paused"] != "" {
			t.Errorf("Git has the host %s with the annotations %v", o.Name, o.Annotations)
		}
	}
	s.done(s.adoption(nil).Undo(t.Context(), []fleet.Key{s.key()}))
	if d := cmp.Diff(map[string]string{"host-0": "metal3.io/capm3"}, s.hostPauses()); d != "" {
		t.Errorf("given back, hosts that are paused: %s", d)
	}
}

func (s *mstack) adoptM() {
	s.Helper()
	s.done(s.adoption(nil).Run(s.Context(), []fleet.Key{s.key()}))
}

// TestMetal3Prepares: what is to be done to a host that no machine has is told, and is no reason not
// to adopt the cluster.
func TestMetal3Prepares(t *testing.T) {
	s := newMStack(t, true, metal3test.Options{})
	s.bareMetalHost("new", "")
	s.adoptM()
	if got := strings.Join(s.output, "\n"); !strings.Contains(got, "note: Fairlead will then enrol it: host "+s.ns+"/new") {
		t.Errorf("said %s", got)
	}
}

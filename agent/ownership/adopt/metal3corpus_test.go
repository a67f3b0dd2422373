package adopt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/run/needs"
)

// TestMetal3Corpus adopts the cluster that Cluster API's provider for Metal3 has as its example, with
// its data templates, four pools and ten hosts, from a management cluster that has v1beta1 alone.
func TestMetal3Corpus(t *testing.T) {
	dir := needs.Corpus(t, "capm3", "examples")
	var docs []string
	for _, file := range []string{"cluster/cluster.yaml", "controlplane/controlplane.yaml", "machinedeployment/machinedeployment.yaml"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(data))
	}
	text := strings.NewReplacer(
		"${CLUSTER_NAME}-controlplane", "eu-1-cp", "${CLUSTER_NAME}", "eu-1", "  namespace: ${NAMESPACE}\n", "", "${NODE_DRAIN_TIMEOUT:-0}", "0", "${KUBERNETES_VERSION}", "v1.34.1",
		"${IMAGE_CHECKSUM}", strings.Repeat("ab", 32), "${IMAGE_CHECKSUM_TYPE}", "sha256", "${IMAGE_FORMAT}", "raw", "${IMAGE_URL}", "http://10.0.0.1/node.raw",
		"  replicas: 3\n", "  replicas: 1\n", "        nodepool: nodepool-0\n    spec:", "        nodepool: nodepool-0\n        node-role.kubernetes.io/web: \"\"\n    spec:",
	).Replace(strings.Join(docs, "\n---\n"))
	// What kubeadm is told of a cluster is compared with what runs, which was made without it.
	text = regexp.MustCompile(`(?m)^    clusterConfiguration:\n(      .*\n)+`).ReplaceAllString(text, "")
	// v1beta1 has arguments by their names.
	text = regexp.MustCompile(`kubeletExtraArgs:\n +- name: cloud-provider\n +value: baremetal`).ReplaceAllString(text, "kubeletExtraArgs: {cloud-provider: baremetal}")
	// The schema of the release asks for what the example leaves out.
	text = regexp.MustCompile(`(?m)^    - key: \w+\n      name: pool\S+$`).ReplaceAllString(text, "$0\n      kind: IPPool\n      apiGroup: ipam.metal3.io")
	s := newMStackOn(newOlder(t).of(t), true, metal3test.Options{}, text, func(i int, m providers.AdoptedMachine) (string, map[string]string) {
		template := "eu-1-md-metadata"
		if m.Pool == "control-plane" {
			template = "eu-1-cp-metadata"
		}
		return template, map[string]string{
			"pool1": fmt.Sprintf("192.168.0.%d", 10+i), "pool2": fmt.Sprintf("192.168.1.%d", 10+i), "pool6-1": fmt.Sprintf("2001::1%d", i), "pool6-2": fmt.Sprintf("2001:abc::1%d", i),
		}
	})
	data, err := os.ReadFile(filepath.Join(dir, "metal3plane", "hosts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spare := 0
	for _, o := range objects(t, string(data)) {
		o.SetNamespace(s.ns)
		s.create(o)
		if o.GetKind() == "BareMetalHost" {
			spare++
		}
	}
	before, _ := s.nodes()
	states := s.states()
	s.adoptM()
	after, marks := s.nodes()
	if d := cmp.Diff(before, after) + cmp.Diff(states, s.states()); d != "" || len(marks) != len(s.machines) {
		t.Errorf("%d machines carry the mark, and the hosts are others: %s", len(marks), d)
	}
	hosts := 0
	for _, o := range s.inFleet().Companions {
		if o.GVK.Kind == "BareMetalHost" {
			hosts++
		}
	}
	if spare != 10 || hosts != len(s.hosts)+spare {
		t.Errorf("Git has %d hosts, want %d and %d to spare", hosts, len(s.hosts), spare)
	}
	s.done(s.adoption(nil).Undo(t.Context(), []fleet.Key{s.key()}))
	if _, marks := s.nodes(); len(marks)+len(s.hostPauses()) > 0 {
		t.Errorf("given back, marks %v, hosts %v", marks, s.hostPauses())
	}
}

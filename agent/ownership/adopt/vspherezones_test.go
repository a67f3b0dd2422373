package adopt_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// zones are objects without namespace that a cluster uses, and others that it does not. Their
// names end as the namespace of the test is called: all tests share an API server.
const zones = `
apiVersion: v1
kind: Namespace
metadata: {name: capv-system}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereClusterIdentity
metadata: {name: team-NS, finalizers: [vsphereclusteridentity.infrastructure.cluster.x-k8s.io]}
spec: {secretName: vcenter-NS, allowedNamespaces: {selector: {matchLabels: {team: web}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereFailureDomain
metadata: {name: rack-a-NS}
spec:
  region: {name: region-0, type: Datacenter, tagCategory: k8s-region}
  zone: {name: zone-0-0, type: ComputeCluster, tagCategory: k8s-zone}
  topology: {datacenter: DC0, computeCluster: DC0_C0, datastore: LocalDS_0, networks: [DC0_DVPG0]}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereFailureDomain
metadata: {name: rack-b-NS}
spec:
  region: {name: region-0, type: Datacenter, tagCategory: k8s-region}
  zone: {name: zone-0-1, type: ComputeCluster, tagCategory: k8s-zone}
  topology: {datacenter: DC0, computeCluster: DC0_C1, datastore: LocalDS_0}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: a-NS, labels: {zones-of: NS}}
spec:
  server: "SERVER"
  failureDomain: rack-a-NS
  placementConstraint: {folder: /DC0/vm/fleet, resourcePool: /DC0/host/DC0_C0/Resources/DC0_C0_RP1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: b-NS}
spec:
  server: "SERVER"
  failureDomain: rack-b-NS
  controlPlane: false
  placementConstraint: {folder: /DC0/vm/fleet, resourcePool: /DC0/host/DC0_C1/Resources/DC0_C1_RP1}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereClusterIdentity
metadata: {name: nodes}
spec: {secretName: of-others}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereDeploymentZone
metadata: {name: team-NS}
spec: {failureDomain: a-NS, placementConstraint: {folder: of-others}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereFailureDomain
metadata: {name: a-NS}
spec:
  region: {name: region-0, type: Datacenter, tagCategory: k8s-region}
  zone: {name: zone-0-0, type: ComputeCluster, tagCategory: k8s-zone}
  topology: {datacenter: DC0, computeCluster: DC0_C0}
`

// zoned has Cluster API run the cluster with an account that other namespaces may use, its control
// plane in a zone that it selects, and workers in one that they name.
func (s *vstack) zoned() {
	s.Helper()
	for i := range s.machines {
		s.machines[i].FailureDomain = map[bool]string{true: "a-", false: "b-"}[s.machines[i].Pool == "control-plane"] + s.ns
	}
	namespaces := s.resource(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "")
	o, err := namespaces.Get(s.Context(), s.ns, metav1.GetOptions{})
	if err == nil {
		label(o, "team", "web")
		_, err = namespaces.Update(s.Context(), o, metav1.UpdateOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
	text := strings.NewReplacer(
		"  identityRef: {kind: Secret, name: vsphere}\n", `
  identityRef: {kind: VSphereClusterIdentity, name: team-NS}
  failureDomainSelector: {matchLabels: {zones-of: NS}}
  clusterModules: [{controlPlane: true, targetObjectName: eu-1-cp, moduleUUID: 5288ff5c-2bd4-45f7-8a6a-6d1c8e4f1f5b}]
`,
		"      clusterName: eu-1\n", "      clusterName: eu-1\n      failureDomain: b-NS\n",
	).Replace(vSphereManifests(s.vc, cmp.Or(s.template, vSphereMachineTemplate)))
	s.createAll(strings.NewReplacer("NS", s.ns, "SERVER", s.vc.Server()).Replace(zones + "---\n" + text))
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"username": vspheretest.Administrator, "password": vspheretest.Password},
	}}
	secret.SetName("vcenter-" + s.ns)
	secret.SetNamespace("capv-system")
	s.create(secret)
}

// written are the objects in a file of the cluster's folder, as "Kind name".
func (s *vstack) written(file string) []string {
	s.Helper()
	data, err := os.ReadFile(filepath.Join(s.folder, "clusters", s.ns, "eu-1", file))
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	for _, o := range objects(s.T, string(data)) {
		out = append(out, o.GetKind()+" "+strings.ReplaceAll(o.GetName(), s.ns, "NS"))
	}
	slices.Sort(out)
	return out
}

// TestVSphereZones adopts a cluster whose account and zones are objects without namespace: what it
// uses of them is written, and nothing else, machines have their zones in their marks, and the plan
// is empty, wherever the account is kept.
func TestVSphereZones(t *testing.T) {
	s := newVStackOn(newRunning(t))
	s.zoned()
	s.serveGit()
	command := append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...)
	secret := "secret-capv-system.vcenter-" + s.ns + ".yaml"
	before, _ := s.vms()
	for _, credentials := range []string{"store", "git"} {
		if out := s.fairlead(0, append(command, "--provider-credentials", credentials)...); !strings.Contains(out, "1 of 1 cluster: adopted") {
			t.Fatal(out)
		}
		s.wroteZones()
		data, err := os.ReadFile(filepath.Join(s.folder, "clusters", s.ns, "eu-1", secret))
		stored := strings.Contains(s.fairlead(0, "secrets", "list", "--secrets", s.secrets), "vcenter-"+s.ns)
		if inGit := err == nil && strings.Contains(string(data), "ENC["); inGit != (credentials == "git") || stored == inGit || strings.Contains(string(data), vspheretest.Password) {
			t.Errorf("--provider-credentials %s: in the store %t, in the folder %v: %s", credentials, stored, err, data)
		}
		after, marks := s.vms()
		for _, m := range s.machines {
			if got := marks[string(m.Name)]["fairlead.dev/failure-domain"]; got != m.FailureDomain {
				t.Errorf("%s is in the zone %q by its mark, want %q", m.Name, got, m.FailureDomain)
			}
		}
		if d := gocmp.Diff(before, after); d != "" {
			t.Errorf("the machines are others: %s", d)
		}
		s.fairlead(0, append([]string{"plan", s.folder}, s.flags()...)...) // exit code 2 would say that there are changes
		s.fairlead(0, append(command, "--undo")...)
		for _, folder := range []string{filepath.Join(s.folder, "clusters"), s.secrets} {
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wroteZones fails the test unless the folder has what the cluster uses, and what people wrote of it.
func (s *vstack) wroteZones() {
	s.Helper()
	want := []string{
		"Namespace NS", "VSphereClusterIdentity team-NS", "VSphereDeploymentZone a-NS", "VSphereDeploymentZone b-NS",
		"VSphereFailureDomain rack-a-NS", "VSphereFailureDomain rack-b-NS",
	}
	if s.template == "" {
		want = append([]string{"InClusterIPPool nodes"}, want...)
	}
	if d := gocmp.Diff(want, s.written("companions.yaml")); d != "" {
		s.Errorf("companions: %s", d)
	}
	for file, parts := range map[string][]string{
		"cluster.yaml": {"clusterModules", "moduleUUID", "finalizers"}, "companions.yaml": {"finalizers", "ownerReferences", "kubernetes.io/metadata.name"},
	} {
		data, err := os.ReadFile(filepath.Join(s.folder, "clusters", s.ns, "eu-1", file))
		if err != nil {
			s.Fatal(err)
		}
		for _, part := range parts {
			if strings.Contains(string(data), part) {
				s.Errorf("%s has %s, which people did not write:\n%s", file, part, data)
			}
		}
	}
}

// TestVSphereZonesAreComplete: a zone that machines are in and that the management cluster does not
// have, or whose failure domain it does not have, keeps the cluster from being adopted.
func TestVSphereZonesAreComplete(t *testing.T) {
	s := newVStackOn(newRunning(t))
	s.zoned()
	for _, x := range []struct{ kind, name, want string }{
		{"VSphereFailureDomain", "rack-b-", "Git has no VSphereFailureDomain rack-b-NS"},
		{"VSphereDeploymentZone", "b-", "Git has no VSphereDeploymentZone of that name"},
		{"VSphereClusterIdentity", "team-", "Git has no VSphereClusterIdentity team-NS"},
	} {
		gvk := schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: x.kind}
		at := s.resource(gvk, "")
		o, err := at.Get(t.Context(), x.name+s.ns, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o.SetFinalizers(nil)
		if _, err := at.Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := at.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		r := s.adoption(nil).Run(t.Context(), []fleet.Key{s.key()})[0]
		told := []string{}
		for _, p := range r.Problems {
			told = append(told, p.String())
		}
		if r.Err != nil {
			told = append(told, r.Err.Error())
		}
		if all := strings.ReplaceAll(strings.Join(told, "; "), s.ns, "NS"); r.Done || !strings.Contains(all, x.want) {
			t.Errorf("without %s %sNS: done %t, told %q, want %q", x.kind, x.name, r.Done, all, x.want)
		}
		if _, marks := s.vms(); len(marks) > 0 || s.paused() {
			t.Errorf("without %s: %d marked, paused there %t", x.kind, len(marks), s.paused())
		}
		o.SetResourceVersion("")
		o.SetUID("")
		s.create(o)
	}
}

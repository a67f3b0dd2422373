package adopt_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/ownership/adopt"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
)

// A vstack is a cluster that Cluster API and its provider for vSphere run. The in-memory cloud
// runs what is in the VMs.
type vstack struct {
	*stack
	vc *vspheretest.VCenter
}

func newVStack(t *testing.T) *vstack {
	t.Helper()
	s := newVStackOn(newRunning(t))
	s.createAll(vSphereManifests(s.vc, vSphereMachineTemplate))
	return s
}

// newVStackOn is newVStack of a cluster whose manifests the test creates.
func newVStackOn(w *world) *vstack {
	t := w.T
	t.Helper()
	s := &vstack{&stack{world: w, secrets: filepath.Join(t.TempDir(), "secrets")}, vspheretest.New(t, vspheretest.Options{Datacenters: 1})}
	s.definePools()
	open, err := adopt.Open(t.Context(), s.kube.Config) // which knows the kind of pools
	if err != nil {
		t.Fatal(err)
	}
	s.open = open
	for i, m := range s.machines {
		vm := s.vc.AddMachine("/DC0/vm/fleet", string(m.Name))
		s.vc.SetExtraConfig(vm.Ref, map[string]string{"guestinfo.userdata": "dGhlaXJz", "guestinfo.metadata": "dGhlaXJz"})
		s.vc.Power(vm.Ref, true)
		s.machines[i].ID = fleet.ProviderID("vsphere://" + vm.UUID)
		s.renameNode(string(m.Name), s.machines[i].ID)
	}
	s.infra = "VSphereMachine"
	s.secret("vsphere", "Opaque", nil, fleet.SecretData{
		"username": fleet.NewSecret([]byte(vspheretest.Administrator)), "password": fleet.NewSecret([]byte(vspheretest.Password)),
	}, nil)
	return s
}

// definePools creates the kind of pools, which the provider for addresses brings.
func (s *vstack) definePools() {
	s.Helper()
	for _, o := range objects(s.T, poolCRD) {
		crds := s.api.Resource(o.GroupVersionKind().GroupVersion().WithResource("customresourcedefinitions"))
		if _, err := crds.Create(s.Context(), o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			s.Fatal(err)
		}
	}
	s.define("")
}

const poolCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: inclusterippools.ipam.cluster.x-k8s.io}
spec:
  group: ipam.cluster.x-k8s.io
  names: {kind: InClusterIPPool, listKind: InClusterIPPoolList, plural: inclusterippools, singular: inclusterippool}
  scope: Namespaced
  versions:
    - name: v1alpha2
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// vSphereManifests is the cluster of manifests on vc.
func vSphereManifests(vc *vspheretest.VCenter, template string) string {
	docs := strings.Split(strings.ReplaceAll(manifests, "DevCluster", "VSphereCluster"), "\n---\n")
	for i, d := range docs {
		switch {
		case strings.Contains(d, "kind: VSphereCluster\n"):
			docs[i] = fmt.Sprintf(vSphereCluster, vc.Server(), vc.Thumbprint())
		case strings.Contains(d, "kind: DevMachineTemplate\n"):
			docs[i] = template
		}
	}
	return strings.ReplaceAll(strings.Join(docs, "\n---\n"), "DevMachineTemplate", "VSphereMachineTemplate")
}

const vSphereCluster = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereCluster
metadata: {name: eu-1}
spec:
  server: "%s"
  thumbprint: "%s"
  identityRef: {kind: Secret, name: vsphere}
---
apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: InClusterIPPool
metadata: {name: nodes}
spec: {addresses: [10.7.0.10-10.7.0.20], prefix: 24, gateway: 10.7.0.1}
---
apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: InClusterIPPool
metadata: {name: of-others}
spec: {addresses: [10.8.0.10-10.8.0.20], prefix: 24, gateway: 10.8.0.1}
`

const vSphereMachineTemplate = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: VSphereMachineTemplate
metadata: {name: eu-1}
spec:
  template:
    spec:
      template: /DC0/vm/templates/ubuntu-2204-kube-v1.34.0
      datacenter: DC0
      folder: /DC0/vm/fleet
      resourcePool: /DC0/host/DC0_C0/Resources/DC0_C0_RP1
      datastore: LocalDS_0
      numCPUs: 2
      memoryMiB: 2048
      powerOffMode: trySoft
      network:
        devices:
          - networkName: DC0_DVPG0
            addressesFromPools: [{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: nodes}]
            nameservers: [10.7.0.2]
`

// vSphereMachine creates the infrastructure of a Machine, which is ready, and its address.
func (u *upstream) vSphereMachine(of *unstructured.Unstructured, m providers.AdoptedMachine) {
	u.Helper()
	address := fmt.Sprintf("10.7.0.%d", 10+slices.IndexFunc(u.machines, func(x providers.AdoptedMachine) bool { return x.Name == m.Name }))
	make := func(by *unstructured.Unstructured, version, kind, name string, spec, status map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "spec": spec}}
		if status != nil {
			o.Object["status"] = status
		}
		o.SetName(name)
		o.SetNamespace(u.ns)
		return u.create(u.owned(o, by))
	}
	const infra, ipam = "infrastructure.cluster.x-k8s.io/v1beta2", "ipam.cluster.x-k8s.io/v1beta2"
	template := objects(u.T, cmp.Or(u.template, vSphereMachineTemplate))[0]
	spec, _, _ := unstructured.NestedMap(template.Object, "spec", "template", "spec")
	pools := strings.Contains(fmt.Sprint(spec), "addressesFromPools")
	spec["providerID"] = string(m.ID)
	owner := make(of, infra, "VSphereMachine", string(m.Name), spec, nil)
	spec = maps.Clone(spec)
	delete(spec, "providerID")
	spec["biosUUID"] = strings.TrimPrefix(string(m.ID), "vsphere://")
	vm := make(owner, infra, "VSphereVM", string(m.Name), spec, nil)
	if !pools {
		return
	}
	pool := map[string]any{"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "nodes"}
	name := string(m.Name) + "-0-0"
	claim := make(vm, ipam, "IPAddressClaim", name, map[string]any{"poolRef": pool}, map[string]any{"addressRef": map[string]any{"name": name}})
	make(claim, ipam, "IPAddress", name, map[string]any{"claimRef": map[string]any{"name": name}, "poolRef": pool, "address": address, "prefix": int64(24)}, nil)
}

// adoption returns an Adoption of the cluster by a program of its own, which is over with the test.
// edit may change its options.
func (s *vstack) adoption(edit func(*adopt.Options)) *adopt.Adoption {
	s.Helper()
	return s.world.adoption(func(o *adopt.Options) {
		p := vsphere.New(vsphere.Options{
			VCenter: vcenter.Options{Tick: noSharing, Rate: 100_000}, Settle: 60 * time.Millisecond, Patience: time.Minute, Secret: o.Secrets.GetSecret,
		})
		s.Cleanup(p.Close)
		o.Look = newOperator(s.T, newFleet, s.store, p).reconciler(o.Secrets).Look
		o.Infrastructure = func(string) (providers.Infrastructure, error) { return p, nil }
		if edit != nil {
			edit(o)
		}
	})
}

// flags are those of every command that asks the vCenter.
func (s *vstack) flags() []string {
	return []string{"--secrets", s.secrets, "--vsphere-tick", "50ms", "--vsphere-settle", "300ms", "--vsphere-rate", "10000"}
}

// vms returns the VMs without their marks, and the marks by their names.
func (s *vstack) vms() (map[string]vspheretest.Machine, map[string]map[string]string) {
	s.Helper()
	vms, marks := make(map[string]vspheretest.Machine), make(map[string]map[string]string)
	for _, m := range s.vc.Machines() {
		m.ExtraConfig = maps.Clone(m.ExtraConfig)
		if text, ok := m.ExtraConfig["fairlead.dev/tags"]; ok {
			var tags map[string]string
			if err := json.Unmarshal([]byte(text), &tags); err != nil {
				s.Fatal(err)
			}
			marks[m.Name] = tags
		}
		delete(m.ExtraConfig, "fairlead.dev/tags")
		vms[m.Name] = m
	}
	return vms, marks
}

package adopt_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"fairlead.dev/providers/infrastructure/vsphere/vspheretest"
	"fairlead.dev/render"
	"fairlead.dev/test/run/needs"
)

// templates is a sources.Tree of a folder that does not change.
type templates struct{ fs.FS }

// Digest implements sources.Tree.
func (f templates) Digest(name string) (string, error) {
	_, err := fs.Stat(f, name)
	return name, err
}

// filledIn is a template of upstream with values for a cluster eu-1 in vcsim. The vCenter is not
// known yet: SERVER and THUMBPRINT stand for it.
func filledIn(t *testing.T, dir, file string) string {
	t.Helper()
	objects, problems, err := render.New(render.Options{Values: map[string]string{
		"CLUSTER_NAME": "eu-1", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.34.1", "CPI_IMAGE_K8S_VERSION": "v1.34.0",
		"CONTROL_PLANE_ENDPOINT_IP": "10.7.0.200", "CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "2",
		"VSPHERE_SERVER": "SERVER", "VSPHERE_TLS_THUMBPRINT": "THUMBPRINT", "VSPHERE_USERNAME": vspheretest.Administrator, "VSPHERE_PASSWORD": vspheretest.Password,
		"VSPHERE_DATACENTER": "DC0", "VSPHERE_FOLDER": "/DC0/vm/fleet", "VSPHERE_RESOURCE_POOL": "/DC0/host/DC0_C0/Resources/DC0_C0_RP1",
		"VSPHERE_DATASTORE": "LocalDS_0", "VSPHERE_STORAGE_POLICY": "fast", "VSPHERE_NETWORK": "DC0_DVPG0", "VSPHERE_TEMPLATE": "ubuntu-2204-kube-v1.34.0",
		"VSPHERE_SSH_AUTHORIZED_KEY": "ssh-ed25519 AAAA", "NAMESERVER": "10.7.0.2",
		"NODE_IPAM_POOL_API_GROUP": "ipam.cluster.x-k8s.io", "NODE_IPAM_POOL_KIND": "InClusterIPPool", "NODE_IPAM_POOL_NAME": "nodes",
	}}).Objects(t.Context(), templates{os.DirFS(dir)}, file)
	if err != nil || len(problems) > 0 {
		t.Fatalf("rendering %s: %v %v", file, err, problems)
	}
	var out []string
	for _, o := range objects {
		out = append(out, string(o.YAML))
	}
	return strings.Join(out, "\n---\n")
}

// asInMemory is the cluster of manifests on the in-memory cloud in a namespace: what runs in the
// VMs. How its machines are set up is left out, but for what the cluster itself keeps of that.
func asInMemory(t *testing.T, manifests, namespace string) string {
	t.Helper()
	var out []string
	for _, o := range objects(t, manifests) {
		o.SetNamespace(namespace)
		ref := func(path ...string) { set(o, strings.Replace(text(o, path...), "VSphere", "Dev", 1), path...) }
		switch o.GetKind() {
		case "Cluster":
			ref("spec", "infrastructureRef", "kind")
		case "KubeadmControlPlane":
			ref("spec", "machineTemplate", "spec", "infrastructureRef", "kind")
			kept, _, _ := unstructured.NestedMap(o.Object, "spec", "kubeadmConfigSpec", "clusterConfiguration")
			set(o, map[string]any{"clusterConfiguration": kept}, "spec", "kubeadmConfigSpec")
		case "KubeadmConfigTemplate":
			set(o, map[string]any{"joinConfiguration": map[string]any{"nodeRegistration": map[string]any{"imagePullPolicy": "IfNotPresent"}}}, "spec", "template", "spec")
		case "MachineDeployment":
			ref("spec", "template", "spec", "infrastructureRef", "kind")
		case "VSphereCluster":
			o.SetKind("DevCluster")
			o.Object["spec"] = map[string]any{"backend": map[string]any{"inMemory": map[string]any{}}}
		case "VSphereMachineTemplate":
			o.SetKind("DevMachineTemplate")
			start := map[string]any{"provisioning": map[string]any{"startupDuration": "1ms"}}
			o.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"backend": map[string]any{"inMemory": map[string]any{"vm": start}}}}}
		default:
			continue
		}
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return strings.Join(out, "---\n")
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

// TestVSphereCorpus adopts clusters of the templates that upstream ships, which clusterctl fills in:
// each is taken over as it is, and the plan is empty.
func TestVSphereCorpus(t *testing.T) {
	dir := needs.Corpus(t, "capv", "templates")
	for name, file := range map[string]string{
		"default": "cluster-template.yaml", "load balancer": "cluster-template-external-loadbalancer.yaml",
		"ignition": "cluster-template-ignition.yaml", "pools": "cluster-template-node-ipam.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			manifests := filledIn(t, dir, file)
			m := newManagement(t)
			s := newVStackOn(newRunningOf(m, asInMemory(t, manifests, m.ns)))
			manifests = strings.NewReplacer("SERVER", s.vc.Server(), "THUMBPRINT", s.vc.Thumbprint()).Replace(manifests)
			for _, o := range objects(t, manifests) {
				if o.GetKind() == "VSphereMachineTemplate" && s.template == "" {
					data, err := yaml.Marshal(o.Object)
					if err != nil {
						t.Fatal(err)
					}
					s.template = string(data)
				}
			}
			if name == "pools" {
				manifests += "\n---\napiVersion: ipam.cluster.x-k8s.io/v1alpha2\nkind: InClusterIPPool\nmetadata: {name: nodes}\n" +
					"spec: {addresses: [10.7.0.10-10.7.0.20], prefix: 24, gateway: 10.7.0.1}\n"
			}
			s.createAll(manifests)
			s.serveGit()
			before, _ := s.vms()
			out := s.fairlead(0, append([]string{"adopt", "--kubeconfig", s.management.kube.Kubeconfig, "--into", s.folder, "-n", s.ns, "--source", s.source}, s.flags()...)...)
			if !strings.Contains(out, "1 of 1 cluster: adopted") || !s.paused() {
				t.Fatalf("paused there %t: %s", s.paused(), out)
			}
			after, marks := s.vms()
			if d := cmp.Diff(before, after); d != "" || len(marks) != len(s.machines) {
				t.Errorf("%d carry the mark, the machines are others: %s", len(marks), d)
			}
			for _, tags := range marks {
				if pool := strings.HasPrefix(tags["fairlead.dev/addresses"], "InClusterIPPool/"+s.ns+"/nodes=10.7.0."); pool != (name == "pools") {
					t.Errorf("a machine has the addresses %q", tags["fairlead.dev/addresses"])
				}
			}
			s.fairlead(0, append([]string{"plan", s.folder}, s.flags()...)...) // exit code 2 would say that there are changes
			if _, err := os.Stat(filepath.Join(s.folder, "clusters", s.ns, "eu-1", "companions.yaml")); (err == nil) != (name == "pools") {
				t.Errorf("companions: %v", err)
			}
		})
	}
}

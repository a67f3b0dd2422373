package api_test

import (
	"encoding/json"
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/needs"
)

// values are what upstream's env.rc and its readers give the variables of the
// templates.
func values() map[string]string {
	return map[string]string{
		"CLUSTER_NAME":                            "capo",
		"KUBERNETES_VERSION":                      "v1.34.1",
		"CONTROL_PLANE_MACHINE_COUNT":             "3",
		"WORKER_MACHINE_COUNT":                    "2",
		"OPENSTACK_CLOUD":                         "openstack",
		"OPENSTACK_CLOUD_CACERT_B64":              "Cg==",
		"OPENSTACK_CLOUD_YAML_B64":                "Y2xvdWRzOiB7fQo=",
		"OPENSTACK_CLOUD_PROVIDER_CONF_B64":       "Cg==",
		"OPENSTACK_CONTROL_PLANE_MACHINE_FLAVOR":  "m1.medium",
		"OPENSTACK_NODE_MACHINE_FLAVOR":           "m1.small",
		"OPENSTACK_DNS_NAMESERVERS":               "8.8.8.8",
		"OPENSTACK_EXTERNAL_NETWORK_ID":           "1c31f4ad-8ac1-4b65-9c3a-7b7d1a3a6f01",
		"OPENSTACK_FAILURE_DOMAIN":                "nova",
		"OPENSTACK_FLATCAR_IMAGE_NAME":            "flatcar",
		"OPENSTACK_IMAGE_NAME":                    "ubuntu",
		"OPENSTACK_IMAGE_NAME_UPGRADE_FROM":       "ubuntu",
		"OPENSTACK_SSH_KEY_NAME":                  "ops",
		"OPENSTACK_BASTION_IMAGE_NAME":            "ubuntu",
		"OPENSTACK_BASTION_MACHINE_FLAVOR":        "m1.tiny",
		"OPENSTACK_API_SERVER_LOADBALANCER_CIDRS": "[]",
		"FLATCAR_IMAGE_NAME":                      "flatcar",
	}
}

// TestCorpus: every template that upstream ships for OpenStack, with values for
// its variables, gives a cluster with these kinds and nothing to complain about.
func TestCorpus(t *testing.T) {
	dir := needs.Corpus(t)
	type found struct {
		Cluster, Provider, Version string
		ControlPlane               int
		Image                      string // of the control plane
		Workers                    int
		WorkerFlavor               string
		FailureDomain              string // of the workers
		LoadBalancer               bool
		Rules                      int // for all nodes
		Secret                     fleet.Key
	}
	want := found{
		Cluster: "default/capo", Provider: "openstack", Version: "v1.34.1", ControlPlane: 3, Image: "ubuntu",
		Workers: 2, WorkerFlavor: "m1.small", FailureDomain: "nova", LoadBalancer: true, Rules: 2,
		Secret: fleet.Key{Namespace: "default", Name: "capo-cloud-config"},
	}
	for name, change := range map[string]func(*found){
		"capo/kustomize/capi-v1beta1":                         nil,
		"capo/kustomize/default":                              nil,
		"capo/kustomize/flatcar":                              func(f *found) { f.Image, f.LoadBalancer = "flatcar", false },
		"capo/kustomize/flatcar-sysext":                       func(f *found) { f.Image, f.LoadBalancer = "flatcar", false },
		"capo/kustomize/without-lb":                           func(f *found) { f.ControlPlane, f.LoadBalancer = 1, false },
		"capo/templates/cluster-template-capi-v1beta1.yaml":   nil,
		"capo/templates/cluster-template.yaml":                nil,
		"capo/templates/cluster-template-flatcar.yaml":        func(f *found) { f.Image, f.LoadBalancer = "flatcar", false },
		"capo/templates/cluster-template-flatcar-sysext.yaml": func(f *found) { f.Image, f.LoadBalancer = "flatcar", false },
		"capo/templates/cluster-template-without-lb.yaml":     func(f *found) { f.ControlPlane, f.LoadBalancer = 1, false },
	} {
		t.Run(name, func(t *testing.T) {
			clusters, problems := decode.New("f", api.Kinds()).Decode(name, kindstest.Render(t, os.DirFS(dir), values(), name))
			for _, p := range problems {
				t.Error(p)
			}
			if len(clusters) != 1 {
				t.Fatalf("%d clusters, want one", len(clusters))
			}
			want := want
			if change != nil {
				change(&want)
			}
			c := &clusters[0]
			spec, err := api.ReadCluster(c.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			first, err := api.ReadMachine(c.ControlPlane.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			worker, err := api.ReadMachine(c.Workers[0].Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			got := found{
				Cluster: c.Key.String(), Provider: c.Provider, Version: c.ControlPlane.Version,
				ControlPlane: c.ControlPlane.Replicas, Image: *first.Image.Filter.Name,
				Workers: c.Workers[0].Replicas, WorkerFlavor: *worker.Flavor.Filter.Name, FailureDomain: c.Workers[0].FailureDomain,
				LoadBalancer: spec.APIServer != nil && spec.APIServer.ManagedLoadBalancer.IsEnabled(),
				Rules:        len(spec.ManagedSecurityGroups.ClusterNodesSecurityGroupRules),
			}
			for k := range c.Infrastructure.Secrets {
				got.Secret = k
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestServersByHand: what Fairlead makes itself is refused, with the way out.
func TestServersByHand(t *testing.T) {
	kindstest.Refused(t, api.Kinds(), [3]string{"infrastructure.cluster.x-k8s.io/v1beta2", "OpenStackServer", "OpenStackMachineTemplate"})
}

// TestMachine reads an OpenStackMachine, of a Machine that stands alone, in both
// versions as the machine of a template is.
func TestMachine(t *testing.T) {
	for version, flavor := range map[string]string{"v1beta2": "{filter: {name: small}}", "v1beta1": "small"} {
		spec := "{flavor: " + flavor + ", image: {filter: {name: debian}}}"
		var read [2]*api.OpenStackMachineSpec
		for i, kind := range []string{"OpenStackMachine", "OpenStackMachineTemplate"} {
			normal, errs := kindstest.Normalised(t, kindstest.Kind(t, api.Kinds(), kind), version, spec, nil)
			if len(errs) > 0 {
				t.Fatalf("%s: %v", kind, errs)
			}
			data, err := json.Marshal(normal)
			if err != nil {
				t.Fatal(err)
			}
			if read[i], err = api.ReadMachine(fleet.Object{GVK: schema.GroupVersionKind{Kind: kind}, Spec: data}); err != nil {
				t.Fatal(err)
			}
		}
		if d := gocmp.Diff(read[1], read[0]); d != "" || read[0] == nil || *read[0].Flavor.Filter.Name != "small" {
			t.Errorf("%s: -template +machine:\n%s", version, d)
		}
	}
}

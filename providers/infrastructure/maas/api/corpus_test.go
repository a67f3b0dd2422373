package api_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/needs"
)

// values are what people give the variables of CAPMAAS' templates.
func values() map[string]string {
	return map[string]string{
		"CLUSTER_NAME": "capmaas", "NAMESPACE": "default", "KUBERNETES_VERSION": "v1.34.1",
		"CONTROL_PLANE_MACHINE_COUNT": "3", "WORKER_MACHINE_COUNT": "2", "MAAS_DNS_DOMAIN": "maas.sc", "DNS_DOMAIN": "maas.sc",
		"CONTROL_PLANE_MACHINE_MINCPU": "4", "CONTROL_PLANE_MACHINE_MINMEMORY": "8192", "CONTROL_PLANE_MACHINE_IMAGE": "custom/u-2204-0-k-1341-0",
		"CONTROL_PLANE_MACHINE_RESOURCEPOOL": "prod", "CONTROL_PLANE_MACHINE_TAG": "cp", "WORKER_MACHINE_MINCPU": "2", "WORKER_MACHINE_MINMEMORY": "4096",
		"WORKER_MACHINE_IMAGE": "u-2204-0-k-1341-0", "WORKER_MACHINE_RESOURCEPOOL": "", "WORKER_MACHINE_TAG": "",
		"CONTROL_PLANE_ZONE": "a", "LXD_STORAGE_SIZE": "50", "LXD_RESOURCE_POOL": "vms", "MACHINE_IMAGE": "u-2204", "CONTROL_PLANE_MACHINE_MINSTORAGE": "60", "WORKER_MACHINE_MINSTORAGE": "60", "WORKER_ZONE": "b",
	}
}

// TestCorpus: what CAPMAAS ships gives a cluster, or is refused for what is wrong with it.
func TestCorpus(t *testing.T) {
	type found struct {
		Cluster               string
		ControlPlane, Workers int
		Image, Pool           string
		Tags                  []string
		Problems              []string
	}
	const vms = "Forbidden: VM hosts are not supported, and MAAS 4 has none: leave the field out, and use hosts that MAAS manages itself"
	for file, want := range map[string]found{
		"templates/cluster-template.yaml": {
			Cluster: "default/capmaas", ControlPlane: 3, Workers: 1, Image: "custom/u-2204-0-k-1341-0", Pool: "prod", Tags: []string{"cp"},
		},
		"templates/cluster-template-hcp.yaml":   {Problems: []string{"spec.lxdConfig.enabled: " + vms}},
		"templates/cluster-template-lxd.yaml":   {Problems: []string{"spec.template.spec.lxd.enabled: " + vms}},
		"examples/sample-with-workerpool.yaml":  {Cluster: "default/t-cluster", ControlPlane: 1, Workers: 1, Image: "custom/u-2004-0-k-1243-0"},
		"examples/sample-cp-only.yaml":          {Problems: []string{"spec.machineTemplate.infrastructureRef: Required value", "spec.version: Required value: the version of Kubernetes"}},
		"examples/sample-lxd-cluster.yaml":      {Problems: []string{"spec.lxdControlPlaneCluster: unknown field", "spec.template.spec.dynamicLXD: unknown field", "spec.template.spec.dynamicLXD: unknown field", "spec.template.spec.staticIP: unknown field", "spec.template.spec.staticIP: unknown field"}},
		"examples/sample-workload-cluster.yaml": {Problems: []string{"spec.infrastructureClusterRef: unknown field", "spec.workloadClusterConfig: unknown field"}},
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(needs.Corpus(t, "capmaas"), file))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(strings.ReplaceAll(string(data), "${ ", "${"), "_TAG }", "_TAG}")
			objects := kindstest.Render(t, fstest.MapFS{"f.yaml": {Data: []byte(text)}}, values(), "f.yaml")
			clusters, problems := decode.New("f", api.Kinds()).Decode("o", objects)
			var got found
			for _, p := range problems {
				got.Problems = append(got.Problems, p.Field+": "+p.Message)
			}
			slices.Sort(got.Problems)
			if len(clusters) == 1 {
				c := &clusters[0]
				got.Cluster, got.ControlPlane = c.Key.String(), c.ControlPlane.Replicas
				spec, err := api.ReadMachine(c.ControlPlane.Infrastructure)
				if err != nil {
					t.Fatal(err)
				}
				got.Image, got.Pool, got.Tags = spec.Image, spec.ResourcePool, spec.Tags
				if len(c.Workers) > 0 {
					got.Workers = c.Workers[0].Replicas
				}
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

package api_test

import (
	"os"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/needs"
)

// values are what people give the variables of upstream's templates.
func values() map[string]string {
	return map[string]string{
		"CLUSTER_CLASS_NAME":          "class",
		"CLUSTER_NAME":                "capv",
		"CONTROL_PLANE_ENDPOINT_IP":   "10.0.0.10",
		"CONTROL_PLANE_MACHINE_COUNT": "3",
		"KUBERNETES_VERSION":          "v1.34.1",
		"NAMESPACE":                   "default",
		"NAMESERVER":                  "10.0.0.2",
		"NODE_IPAM_POOL_API_GROUP":    "ipam.cluster.x-k8s.io",
		"NODE_IPAM_POOL_KIND":         "InClusterIPPool",
		"NODE_IPAM_POOL_NAME":         "pool",
		"VSPHERE_DATACENTER":          "DC0",
		"VSPHERE_DATASTORE":           "LocalDS_0",
		"VSPHERE_FOLDER":              "vm",
		"VSPHERE_IMAGE_NAME":          "vmi-1",
		"VSPHERE_MACHINE_CLASS_NAME":  "best-effort-large",
		"VSPHERE_NETWORK":             "VM Network",
		"VSPHERE_PASSWORD":            "secret",
		"VSPHERE_RESOURCE_POOL":       "*/Resources",
		"VSPHERE_SERVER":              "vcenter.example.com",
		"VSPHERE_SSH_AUTHORIZED_KEY":  "ssh-ed25519 AAAA",
		"VSPHERE_STORAGE_CLASS":       "fast",
		"VSPHERE_STORAGE_POLICY":      "",
		"VSPHERE_TEMPLATE":            "ubuntu-2204-kube-v1.34.1",
		"VSPHERE_TLS_THUMBPRINT":      "",
		"VSPHERE_USERNAME":            "administrator@vsphere.local",
		"WORKER_MACHINE_COUNT":        "2",
		"CPI_IMAGE_K8S_VERSION":       "v1.34.0",
	}
}

// pool is what people add for NODE_IPAM_POOL_NAME.
const pool = `apiVersion: ipam.cluster.x-k8s.io/v1alpha2
kind: InClusterIPPool
metadata: {name: pool, namespace: default}
spec: {addresses: [10.0.0.20-10.0.0.99], prefix: 24, gateway: 10.0.0.1}
`

// TestCorpus: every template that upstream ships for a vCenter, with values for its
// variables, gives a cluster with these kinds and nothing to complain about.
func TestCorpus(t *testing.T) {
	dir := needs.Corpus(t, "capv", "templates")
	type found struct {
		Cluster, Provider, Version, Server, Endpoint string
		ControlPlane, Workers                        int
		Template, Pool, PowerOff                     string // of the workers
		DHCP                                         bool   // of the workers
		Pools                                        int    // of their addresses
		Secret                                       fleet.Key
	}
	want := found{
		Cluster: "default/capv", Provider: "vsphere", Version: "v1.34.1", Server: "vcenter.example.com", Endpoint: "10.0.0.10",
		ControlPlane: 3, Workers: 2, Template: "ubuntu-2204-kube-v1.34.1", Pool: "*/Resources", PowerOff: "trySoft", DHCP: true,
		Secret: fleet.Key{Namespace: "default", Name: "capv"},
	}
	for name, c := range map[string]struct {
		files  []string
		change func(*found)
	}{
		"default":       {[]string{"cluster-template.yaml"}, nil},
		"load balancer": {[]string{"cluster-template-external-loadbalancer.yaml"}, nil},
		"ignition":      {[]string{"cluster-template-ignition.yaml"}, nil},
		"pools":         {[]string{"cluster-template-node-ipam.yaml"}, func(f *found) { f.DHCP, f.Pools = false, 1 }},
		"class":         {[]string{"clusterclass-template.yaml", "cluster-template-topology.yaml"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append(kindstest.Render(t, os.DirFS(dir), values(), c.files...), render.Object{File: "pool.yaml", YAML: []byte(pool)})
			clusters, problems := decode.New("f", api.Kinds()).Decode("o", objects)
			for _, p := range problems {
				t.Error(p)
			}
			if len(clusters) != 1 {
				t.Fatalf("%d clusters, want one", len(clusters))
			}
			want := want
			if c.change != nil {
				c.change(&want)
			}
			c := &clusters[0]
			spec, err := api.ReadCluster(c.Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			worker, err := api.ReadMachine(c.Workers[0].Infrastructure)
			if err != nil {
				t.Fatal(err)
			}
			device := worker.Network.Devices[0]
			got := found{
				Cluster: c.Key.String(), Provider: c.Provider, Version: c.ControlPlane.Version, Server: spec.Server, Endpoint: spec.ControlPlaneEndpoint.Host,
				ControlPlane: c.ControlPlane.Replicas, Workers: c.Workers[0].Replicas,
				Template: worker.Template, Pool: worker.ResourcePool, PowerOff: string(worker.PowerOffMode),
				DHCP: *device.DHCP4, Pools: len(device.AddressesFromPools),
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

package e2e

import (
	"strings"
	"testing"
	"testing/fstest"

	"fairlead.dev/fleet"
	metal3 "fairlead.dev/providers/infrastructure/metal3/api"
	vsphere "fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/test/run/exampletest"
)

// TestMetalManifests: what the tests on bare metal push is understood, also where no lab is.
func TestMetalManifests(t *testing.T) {
	at := func() *metal {
		return &metal{
			Endpoint: "https://10.77.0.1:6385", Username: "admin", Password: "secret", CA: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
			Ramdisk: "http://10.77.0.1/ramdisk", Image: "http://10.77.0.1/image.raw?build=2", Checksum: strings.Repeat("ab", 32), Workers: 2,
			Hosts: []bareMetal{
				{"host-0", "redfish-virtualmedia+http://10.77.0.1/redfish/v1/Systems/host-0", "52:54:00:00:00:01", "root", "pw-0"},
				{"host-1", "redfish-virtualmedia+http://10.77.0.1/redfish/v1/Systems/host-1", "52:54:00:00:00:02", "root", "pw-1"},
			},
		}
	}
	vCenter := &vSphere{Server: "10.77.0.1:8989", Thumbprint: strings.Repeat("AB:", 19) + "AB", Username: "u", Password: "p"}
	for name, tc := range map[string]struct {
		c    cluster
		want string // providers of pools
	}{
		"metal":  {cluster{Template: metal3YAML + metalHostsYAML, Extra: controlPlaneCheck}, "metal-cp: metal-md-0:"},
		"reboot": {cluster{Template: metal3YAML + metalHostsYAML, Extra: rebootCheck}, "reboot-cp: reboot-md-0:"},
		"mixed":  {cluster{Template: vsphereYAML + metalWorkersYAML + metalHostsYAML, VSphere: vCenter}, "mixed-cp: mixed-md-0: mixed-metal:metal3"},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.c
			c.Name, c.Version, c.Endpoint, c.ControlPlanes, c.Workers, c.Metal = name, "v1.36.3", "10.77.0.241", 3, 1, at()
			c.Extra = strings.NewReplacer("three", name, "NAME", name).Replace(c.Extra)
			got := exampletest.One(t, fstest.MapFS{
				"fleet.yaml":                       {Data: []byte("apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata:\n  name: e2e\n")},
				"clusters/prod/kustomization.yaml": {Data: []byte("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: prod\nresources: [cluster.yaml]\n")},
				"clusters/prod/cluster.yaml":       {Data: []byte(c.yaml(t))},
			}, metal3.Kinds(), vsphere.Kinds())
			var pools []string
			machines := 0
			for _, p := range got.Pools() {
				pools = append(pools, string(p.Name)+":"+p.Provider)
				machines += p.Replicas
			}
			if text := strings.Join(pools, " "); text != tc.want || name == "mixed" && machines != c.machines() {
				t.Errorf("pools are %s with %d machines, want %s with %d", text, machines, tc.want, c.machines())
			}
			if hosts := len(metal3.Hosts(companions(&got))); hosts != len(c.Metal.Hosts) {
				t.Errorf("there are %d hosts", hosts)
			}
			if r := got.Reboots[name]; (r.Provider == "metal3") != (name == "reboot") {
				t.Errorf("workers are rebooted as %+v", r)
			}
		})
	}
}

// companions returns those of the site on bare metal.
func companions(c *fleet.Cluster) []fleet.Object {
	if c.Provider == metal3.ProviderName {
		return c.Companions
	}
	return c.At(metal3.ProviderName).Companions
}

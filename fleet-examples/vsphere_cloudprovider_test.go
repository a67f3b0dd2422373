package examples_test

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/vsphere"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/test/run/exampletest"
)

// What the cloud provider and the CSI driver read in the cluster prod/volumes.
var vSphereConfigurations = map[string]string{
	"ConfigMap kube-system/cloud-config vsphere.conf": `global:
  port: 443
  thumbprint: "` + vSphereThumbprint + `"
  secretName: vsphere-cloud-secret
  secretNamespace: kube-system
vcenter:
  vcenter.example.com:
    server: vcenter.example.com
    datacenters: [DC0]
`,
	"Secret kube-system/vsphere-cloud-secret vcenter.example.com.username": "kubernetes@vsphere.local",
	"Secret kube-system/vsphere-cloud-secret vcenter.example.com.password": "change me",
	"Secret vmware-system-csi/vsphere-config-secret csi-vsphere.conf": `[Global]
cluster-id = "drydock/prod/volumes"
thumbprint = "` + vSphereThumbprint + `"
[VirtualCenter "vcenter.example.com"]
user = "kubernetes@vsphere.local"
password = "change me"
datacenters = "DC0"
`,
}

const vSphereThumbprint = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF"

// TestVSphereCloudProvider: CPI and CSI driver have the account that is written once, the CSI driver
// calls the cluster what Fairlead calls it, and Nodes wait for the CPI.
func TestVSphereCloudProvider(t *testing.T) {
	for _, c := range exampletest.Render(t, example.Files(), api.Kinds()) {
		with := c.Key == fleet.Key{Namespace: "prod", Name: "volumes"}
		if (len(c.ResourceSets) == 1) != with || (len(c.Releases) == 1) != with {
			t.Errorf("%s has %d sets and %d releases", c.Key, len(c.ResourceSets), len(c.Releases))
			continue
		}
		if !with {
			continue
		}
		if got := c.Releases[0].Chart.String() + " in " + c.Releases[0].Namespace; got != "vsphere-cpi 1.34.0 in kube-system" {
			t.Errorf("the release is %s", got)
		}
		if got := string(c.Releases[0].Values.Reveal()); got != `{"config":{"enabled":false}}` {
			t.Errorf("its values are %s", got)
		}
		if diff := cmp.Diff(vSphereConfigurations, vSphereValuesOf(t, c.ResourceSets[0])); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		for _, p := range c.Pools() {
			text, err := json.Marshal(p.Bootstrap)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"name":"cloud-provider","value":"external"}`; !strings.Contains(string(text), want) {
				t.Errorf("pool %s has %s, want %s", p.Name, text, want)
			}
		}
	}
}

// TestVSphereDriver: what README.md has people add makes the driver's manifest part of the set, as it
// is.
func TestVSphereDriver(t *testing.T) {
	files := make(fstest.MapFS)
	all := example.Files()
	err := fs.WalkDir(all, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := all.ReadFile(name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(files["README.md"].Data), -1)
	if len(blocks) != 2 {
		t.Fatalf("README.md has %d blocks of YAML, want what two files get", len(blocks))
	}
	const dir = "components/cloud-provider/"
	add := func(name, after, text string) {
		t.Helper()
		before, rest, ok := strings.Cut(string(files[dir+name].Data), after)
		if !ok {
			t.Fatalf("%s has no %q", name, after)
		}
		files[dir+name].Data = []byte(before + after + text + rest)
	}
	add("kustomization.yaml", "kind: Component\n", blocks[0][1])
	add("configuration.yaml", "    - kind: Secret\n      name: cloud-provider-configuration\n", blocks[1][1])
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: driver, namespace: vmware-system-csi}\ndata: {script: \"echo ${HOME}\"}\n"
	files[dir+"vsphere-csi-driver.yaml"] = &fstest.MapFile{Data: []byte(manifest)}
	for _, c := range exampletest.Render(t, files, api.Kinds()) {
		if c.Key.Name != "volumes" {
			continue
		}
		if got := vSphereValuesOf(t, c.ResourceSets[0])["ConfigMap vmware-system-csi/driver script"]; got != "echo ${HOME}" {
			t.Errorf("the driver's manifest has %q, want what is in the file", got)
		}
	}
}

// vSphereValuesOf returns the values of ConfigMaps and Secrets that a set applies.
func vSphereValuesOf(t *testing.T, s fleet.ResourceSet) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, r := range s.Resources {
		for _, m := range r.Objects {
			var o struct{ Data, StringData map[string]string }
			if err := json.Unmarshal(m.Content.Reveal(), &o); err != nil {
				t.Fatal(err)
			}
			for _, values := range []map[string]string{o.Data, o.StringData} {
				for k, v := range values {
					out[m.ObjectRef.String()+" "+k] = v
				}
			}
		}
	}
	return out
}

package scaffold_test

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/console/scaffold"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/k3s"
	"fairlead.dev/providers/distribution/rke2"
	"fairlead.dev/providers/hosted/external"
	hosts "fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/inmemory"
	metal3 "fairlead.dev/providers/infrastructure/metal3/api"
	openstack "fairlead.dev/providers/infrastructure/openstack/api"
	vsphere "fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/test/run/exampletest"
)

func kinds() map[string][]fleet.Kind {
	return map[string][]fleet.Kind{
		"hosts": slices.Concat(hosts.Kinds(), external.Kinds()), "inmemory": slices.Concat(inmemory.Kinds(), k3s.Kinds(), rke2.Kinds()),
		"metal3": metal3.Kinds(), "openstack": slices.Concat(openstack.Kinds(), hosts.Kinds()), "vsphere": vsphere.Kinds(),
	}
}

// given has a value for each variable that has to be given.
func given() map[string]string {
	return map[string]string{
		"ENDPOINT": "192.0.2.10", "API_ALLOWED_CIDRS": `["192.0.2.0/24"]`, "POOL_ADDRESSES": `["192.0.2.40-192.0.2.69"]`,
		"POOL_GATEWAY": "192.0.2.1", "DNS_NAMESERVERS": `["192.0.2.2"]`, "VSPHERE_CLUSTER_ID": "mine/lab/one", "ENDPOINT_ADDRESSES": `["192.0.2.20-192.0.2.29"]`,
		"CONTROL_PLANE_HOST": "192.0.2.10",
	}
}

// Each flavor of each provider makes a fleet that is right, with what was asked for.
func TestEachFlavor(t *testing.T) {
	for _, tmpl := range scaffold.Templates() {
		for _, f := range tmpl.Flavors {
			t.Run(tmpl.Provider+"/"+f.Name, func(t *testing.T) {
				c := scaffold.Cluster{Key: fleet.Key{Namespace: "lab", Name: "one"}, Flavor: f.Name, Values: map[string]string{
					scaffold.Version: "v1.33.5", scaffold.ControlPlane: "5", scaffold.Workers: "2",
				}}
				version, servers := "v1.33.5", 5
				switch f.Name {
				case "k3s":
					version += "+k3s1"
				case "rke2":
					version += "+rke2r1"
				case "hosted":
					servers = 0
					delete(c.Values, scaffold.ControlPlane)
				}
				c.Values[scaffold.Version] = version
				for _, name := range f.Required {
					if c.Values[name] = given()[name]; c.Values[name] == "" {
						t.Fatalf("there is no value for %s", name)
					}
				}
				overlay, included, err := tmpl.Cluster(c)
				if err != nil {
					t.Fatal(err)
				}
				config, err := tmpl.For(f).Fleet("mine", nil)
				if err != nil {
					t.Fatal(err)
				}
				all := fstest.MapFS{}
				for _, files := range append(slices.Collect(maps.Values(included)), overlay, config) {
					for name, text := range files {
						all[name] = &fstest.MapFile{Data: []byte(text)}
					}
				}
				got := exampletest.One(t, all, kinds()[tmpl.Provider])
				if got.Key != c.Key || got.Fleet != "mine" || got.Version() != version || got.ControlPlane.Replicas != servers || got.Workers[0].Replicas != 2 {
					t.Errorf("%s of fleet %s has %d servers of %s and %d workers", got.Key, got.Fleet, got.ControlPlane.Replicas, got.ControlPlane.Version, got.Workers[0].Replicas)
				}
				found, err := scaffold.Find(all)
				if f.Name == "mixed" {
					if err == nil || !strings.Contains(err.Error(), "hosts and openstack") {
						t.Errorf("its provider is taken for %q: %v", found.Provider, err)
					}
					return
				}
				if err != nil || found.Provider != tmpl.Provider {
					t.Errorf("its provider is taken for %q: %v", found.Provider, err)
				}
			})
		}
	}
}

// documented matches addresses that nobody has.
// Source: RFC 5737.
var documented = regexp.MustCompile(`\b(192\.0\.2|198\.51\.100|203\.0\.113)\.`)

// Whatever in an overlay of an example is nobody's has to be given.
func TestRequired(t *testing.T) {
	for _, tmpl := range scaffold.Templates() {
		for _, f := range tmpl.Flavors {
			text, err := fs.ReadFile(tmpl.For(f).Files, path.Join(f.Folder, "values.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
				if documented.MatchString(line) && !slices.Contains(f.Required, name) {
					t.Errorf("%s/%s: %s has an address for documentation, and need not be given", tmpl.Provider, f.Name, name)
				}
			}
			_, _, err = tmpl.Cluster(scaffold.Cluster{Key: fleet.Key{Namespace: "lab", Name: "one"}, Flavor: f.Name})
			if (err == nil) != (len(f.Required) == 0) {
				t.Errorf("%s/%s without values: %v", tmpl.Provider, f.Name, err)
			}
		}
	}
}

// Each overlay of an example with values of its own is a flavor.
func TestEachOverlayIsAFlavor(t *testing.T) {
	for _, tmpl := range scaffold.Templates() {
		var want, got []string
		files, err := fs.Glob(tmpl.Files, "clusters/*/*/values.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			want = append(want, path.Dir(f))
		}
		for _, f := range tmpl.Flavors {
			if f.Files == nil {
				got = append(got, f.Folder)
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-example +flavors):\n%s", tmpl.Provider, d)
		}
	}
}

// Comments stay, and values are what they are asked to be, whatever they are.
func TestValues(t *testing.T) {
	tmpl, err := scaffold.Of("openstack")
	if err != nil {
		t.Fatal(err)
	}
	files, err := tmpl.Fleet("no", map[string]string{"OPENSTACK_CLOUD": "a: b # c", "OPENSTACK_IMAGE": "1.5", "DNS_NAMESERVERS": `["192.0.2.1"]`})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  name: \"no\"\n", `    OPENSTACK_CLOUD: "a: b # c" # the entry of clouds.yaml`, `    OPENSTACK_IMAGE: "1.5"` + "\n", `    DNS_NAMESERVERS: ["192.0.2.1"]` + "\n",
		"    OPENSTACK_SSH_KEY: ops\n", "# What holds for the whole fleet.",
	} {
		if !strings.Contains(files["fleet.yaml"], want) {
			t.Errorf("there is no %q in\n%s", want, files["fleet.yaml"])
		}
	}
}

// What nobody knows is refused, with what there is.
func TestRefused(t *testing.T) {
	tmpl, err := scaffold.Of("inmemory")
	if err != nil {
		t.Fatal(err)
	}
	key := fleet.Key{Namespace: "lab", Name: "one"}
	for want, ask := range map[string]func() error{
		"must be one of hosts, inmemory": func() error { _, err := scaffold.Of("cloud"); return err },
		"there are small, ha, k3s":       func() error { _, _, err := tmpl.Cluster(scaffold.Cluster{Key: key, Flavor: "huge"}); return err },
		"has no variable WORKERS": func() error {
			_, _, err := tmpl.Cluster(scaffold.Cluster{Key: key, Values: map[string]string{"WORKERS": "1"}})
			return err
		},
		"set --provider": func() error { _, err := scaffold.Find(fstest.MapFS{}); return err },
		"clusters of inmemory and vsphere": func() error {
			_, err := scaffold.Find(fstest.MapFS{"a.yaml": {Data: []byte("kind: DevCluster\n")}, "b.yaml": {Data: []byte("kind: VSphereCluster\n")}})
			return err
		},
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

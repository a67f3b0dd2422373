package api_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"fairlead.dev/test/run/kindstest"
	"fairlead.dev/test/run/needs"
)

var wholeLine = regexp.MustCompile(`(?m)^\$\{\w+\}$`)

const sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// values are what people give the variables of upstream's templates.
func values() map[string]string {
	return map[string]string{
		"CLUSTER_APIENDPOINT_HOST":    "192.168.111.249",
		"CLUSTER_APIENDPOINT_PORT":    "6443",
		"CLUSTER_NAME":                "capm3",
		"CONTROL_PLANE_MACHINE_COUNT": "3",
		"IMAGE_CHECKSUM":              sha256,
		"IMAGE_CHECKSUM_TYPE":         "sha256",
		"IMAGE_FORMAT":                "raw",
		"IMAGE_URL":                   "http://172.22.0.1/images/node.raw",
		"KUBERNETES_VERSION":          "v1.34.1",
		"NAMESPACE":                   "default",
		"POD_CIDR":                    `["192.168.0.0/18"]`,
		"SERVICE_CIDR":                `["10.96.0.0/12"]`,
		"SERVICE_DOMAIN":              "cluster.local",
		"WORKER_MACHINE_COUNT":        "2",
	}
}

// objectsOf renders files of the corpus. A variable that stands for whole lines is for more
// of a KubeadmConfig, which is left out.
func objectsOf(t *testing.T, files ...string) []render.Object {
	t.Helper()
	dir := needs.Corpus(t, "capm3", "examples")
	var out []render.Object
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		data = wholeLine.ReplaceAll(data, nil)
		out = append(out, kindstest.Render(t, fstest.MapFS{f: {Data: data}}, values(), f)...)
	}
	return out
}

// TestCorpus: what upstream ships gives a cluster with these kinds, or is refused for what is
// wrong with it.
func TestCorpus(t *testing.T) {
	type found struct {
		Cluster, Endpoint      string
		ControlPlane, Workers  int
		Image, Format, Sum     string
		Data                   []string // pools that the workers' template names
		Indexes, Hosts         int
		Ironic                 []fleet.Key
		Problems               []string
		CloudProvider, Cleaned bool
	}
	pools := []string{"pool1", "pool2", "pool6-1", "pool6-2"}
	want := found{
		Cluster: "default/capm3", Endpoint: "192.168.111.249", ControlPlane: 3, Workers: 2,
		Image: "http://172.22.0.1/images/node.raw", Format: "raw", Sum: sha256, Cleaned: true,
		Ironic: []fleet.Key{{Namespace: "default", Name: "ironic"}},
	}
	for name, c := range map[string]struct {
		files  []string
		change func(*found)
	}{
		"clusterctl": {[]string{"clusterctl-templates/clusterctl-cluster.yaml"}, func(*found) {}},
		"parts": {[]string{"cluster/cluster.yaml", "controlplane/controlplane.yaml", "machinedeployment/machinedeployment.yaml"}, func(f *found) {
			f.Data, f.Indexes = pools, 3
		}},
		"hosts": {[]string{"cluster/cluster.yaml", "controlplane/controlplane.yaml", "machinedeployment/machinedeployment.yaml", "metal3plane/hosts.yaml"}, func(f *found) {
			f.Data, f.Indexes, f.Hosts = pools, 3, 10
		}},
		"class": {[]string{"templates/clusterclass.yaml", "templates/cluster.yaml"}, func(f *found) {
			*f = found{Problems: []string{"spec.controlPlane.machineHealthCheck: unknown field", "spec.template.spec.controlPlaneEndpoint.cloudProviderEnabled: unknown field"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := want
			c.change(&want)
			clusters, problems := decode.New("f", api.Kinds()).Decode("o", objectsOf(t, c.files...))
			var got found
			for _, p := range problems {
				got.Problems = append(got.Problems, p.Field+": "+p.Message)
			}
			if len(clusters) == 1 {
				c := &clusters[0]
				spec, err := api.ReadCluster(c.Infrastructure)
				if err != nil {
					t.Fatal(err)
				}
				worker, err := api.ReadMachine(c.Workers[0].Infrastructure)
				if err != nil {
					t.Fatal(err)
				}
				got.Cluster, got.Endpoint, got.CloudProvider = c.Key.String(), spec.ControlPlaneEndpoint.Host, *spec.CloudProviderEnabled
				got.ControlPlane, got.Workers = c.ControlPlane.Replicas, c.Workers[0].Replicas
				got.Image, got.Format, got.Sum = worker.Image.URL, string(worker.Image.DiskFormat), *worker.Image.Checksum
				got.Cleaned = worker.AutomatedCleaningMode == api.CleaningMetadata
				got.Ironic = c.Infrastructure.Stored
				if worker.Data.MetaData != nil {
					got.Indexes = len(worker.Data.MetaData.Indexes)
				}
				for _, p := range worker.Data.Pools() {
					got.Data = append(got.Data, p.Name)
				}
				got.Hosts = len(api.Hosts(c.Companions))
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestCorpusIsWhole: no object of Metal3 in the corpus is of a kind that nobody here knows.
func TestCorpusIsWhole(t *testing.T) {
	dir := needs.Corpus(t, "capm3", "examples")
	var files []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".yaml") && !strings.HasPrefix(e.Name(), "kustom") && e.Name() != "addons.yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 7 {
		t.Fatalf("found %v: %v", files, err)
	}
	known := map[string]int{}
	for _, o := range objectsOf(t, files...) {
		text := string(o.YAML)
		for _, group := range []string{"infrastructure.cluster.x-k8s.io/", "metal3.io/", "ipam.metal3.io/"} {
			if !strings.HasPrefix(text, "apiVersion: "+group) && !strings.Contains(text, "\napiVersion: "+group) {
				continue
			}
			kinds := api.Kinds()
			at := slices.IndexFunc(kinds, func(k fleet.Kind) bool { return strings.Contains(text, "\nkind: "+k.Kind+"\n") })
			if at < 0 {
				t.Errorf("%s: a kind that nobody knows:\n%.200s", o.File, text)
				continue
			}
			known[kinds[at].Kind]++
		}
	}
	if known["BareMetalHost"] != 10 || known["IPPool"] != 8 || known["Metal3DataTemplate"] != 6 {
		t.Errorf("found %v", known)
	}
}

package openstack_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	example "fairlead.dev/fleet-examples/openstack"
	"fairlead.dev/sources/git/gitserver"
)

// The versions of Kubernetes in use: one minor apart.
const (
	older = "v1.33.5"
	newer = "v1.34.1"
)

// A cluster is what Git says of one: an overlay of the example's base.
type cluster struct {
	Namespace  string // "prod" where it is empty
	Name       string
	CP         int
	Workers    int
	Version    string            // older where it is empty
	Components []string          // of the example: "load-balancer", "bastion", "flatcar"
	Values     map[string]string // of the example's variables
	Patches    map[string]string // strategic merge patches by kind
	Files      map[string]string // resources besides, by file name
	Delete     bool
}

func (c cluster) key() fleet.Key {
	return fleet.Key{Namespace: c.namespace(), Name: c.Name}
}

func (c cluster) namespace() string {
	if c.Namespace == "" {
		return "prod"
	}
	return c.Namespace
}

// A repository is a fleet's bare repository and a person's clone of it.
type repository struct {
	t    testing.TB
	bare string
	dir  string
}

// newRepository makes the fleet called name from the example, with no clusters.
func newRepository(t testing.TB, root, name string) *repository {
	t.Helper()
	bare, err := gitserver.Init(root, name+".git")
	if err != nil {
		t.Fatal(err)
	}
	r := &repository{t: t, bare: bare, dir: filepath.Join(t.TempDir(), name)}
	if err := os.CopyFS(r.dir, example.Files()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.dir, "clusters")); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(r.dir, "fleet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r.write("fleet.yaml", strings.Replace(string(config), "name: roadstead", "name: "+name, 1))
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("remote", "add", "origin", bare)
	return r
}

func (r *repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func (r *repository) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) push(what string) {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "-m", what)
	r.git("push", "--quiet", "origin", "HEAD:main")
}

// put writes the overlay of c, with cloudsYAML as its credential.
func (r *repository) put(c cluster, cloudsYAML []byte) {
	r.t.Helper()
	dir := filepath.Join("clusters", c.namespace(), c.Name)
	version := c.Version
	if version == "" {
		version = older
	}
	var k, v strings.Builder
	fmt.Fprintf(&k, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: %s\nresources:\n- ../../../bases/cluster\n- values.yaml\n- cloud-config.yaml\n", c.namespace())
	for name, content := range c.Files {
		fmt.Fprintf(&k, "- %s\n", name)
		r.write(filepath.Join(dir, name), content)
	}
	if len(c.Components) > 0 {
		k.WriteString("components:\n")
	}
	for _, name := range c.Components {
		fmt.Fprintf(&k, "- ../../../components/%s\n", name)
	}
	patches := make(map[string]string)
	for kind, patch := range c.Patches {
		patches[kind] = patch
	}
	if c.Delete {
		patches["Cluster"] = "metadata:\n  annotations:\n    fairlead.dev/delete: \"true\"\n"
	}
	if len(patches) > 0 {
		k.WriteString("patches:\n")
	}
	for kind, patch := range patches {
		kindOnly, name, named := strings.Cut(kind, "/")
		file := "patch-" + strings.ReplaceAll(kind, "/", "-") + ".yaml"
		fmt.Fprintf(&k, "- target:\n    kind: %s\n", kindOnly)
		if named {
			fmt.Fprintf(&k, "    name: .*%s\n", name)
		}
		fmt.Fprintf(&k, "  path: %s\n", file)
		r.write(filepath.Join(dir, file), "apiVersion: "+apiVersions[kindOnly]+"\nkind: "+kindOnly+"\n"+withName(patch))
	}
	fmt.Fprintf(&v, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: values\n  annotations:\n    fairlead.dev/substitute: \"true\"\ndata:\n")
	for name, value := range map[string]string{
		"CLUSTER_NAME": c.Name, "KUBERNETES_VERSION": version,
		"CONTROL_PLANE_MACHINE_COUNT": fmt.Sprint(c.CP), "WORKER_MACHINE_COUNT": fmt.Sprint(c.Workers),
		"OPENSTACK_CONTROL_PLANE_FLAVOR": "m1.tiny", "OPENSTACK_NODE_FLAVOR": "m1.tiny",
	} {
		if _, ok := c.Values[name]; !ok {
			fmt.Fprintf(&v, "  %s: %q\n", name, value)
		}
	}
	for name, value := range c.Values {
		fmt.Fprintf(&v, "  %s: %q\n", name, value)
	}
	r.write(filepath.Join(dir, "kustomization.yaml"), k.String())
	r.write(filepath.Join(dir, "values.yaml"), v.String())
	r.write(filepath.Join(dir, "cloud-config.yaml"), credential(cloudsYAML))
}

var apiVersions = map[string]string{
	"Cluster":                  "cluster.x-k8s.io/v1beta2",
	"MachineDeployment":        "cluster.x-k8s.io/v1beta2",
	"KubeadmControlPlane":      "controlplane.cluster.x-k8s.io/v1beta2",
	"OpenStackCluster":         "infrastructure.cluster.x-k8s.io/v1beta2",
	"OpenStackMachineTemplate": "infrastructure.cluster.x-k8s.io/v1beta2",
}

func withName(patch string) string {
	if strings.HasPrefix(patch, "metadata:\n") {
		return strings.Replace(patch, "metadata:\n", "metadata:\n  name: any\n", 1)
	}
	return "metadata:\n  name: any\n" + patch
}

func credential(cloudsYAML []byte) string {
	return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: cloud-config\nstringData:\n  clouds.yaml: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(string(cloudsYAML)), "\n", "\n    ") + "\n"
}

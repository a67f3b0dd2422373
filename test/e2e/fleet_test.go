package e2e

import (
	"bytes"
	"cmp"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/lab/docker/podman"
)

var (
	//go:embed testdata/cluster.yaml
	clusterYAML string
	//go:embed testdata/k3s.yaml
	k3sYAML string
	//go:embed testdata/hosted.yaml
	hostedYAML string
	//go:embed testdata/mixed.yaml
	mixedYAML string
	//go:embed testdata/docker.yaml
	dockerYAML string
	//go:embed testdata/vsphere.yaml
	vsphereYAML string
	//go:embed testdata/maas.yaml
	maasYAML string
	//go:embed testdata/aws.yaml
	awsYAML string
	//go:embed testdata/azure.yaml
	azureYAML string
	//go:embed testdata/metal3.yaml
	metal3YAML string
	//go:embed testdata/metalhosts.yaml
	metalHostsYAML string // their Ironic, too
	//go:embed testdata/metalworkers.yaml
	metalWorkersYAML string // beside a control plane elsewhere
	//go:embed testdata/cni.yaml
	cniYAML string
)

// A host is a machine of the lab in the HostPool.
type host struct{ Name, Address, HostKey, Role string }

// Reserved says, for the template, that no machine may take it.
func (h host) Reserved() bool { return strings.HasSuffix(h.Role, balancer) }

// A cluster is what Git says of one.
type cluster struct {
	Name                   string
	Endpoint               string // the address of its load balancer
	Balancer               string // the host of that
	VirtualIP              string // the image of kube-vip, which has the address in the place of a load balancer
	Site                   string // what the roles of its hosts begin with
	ControlPlanes, Workers int
	Version                string
	Hosts                  []host
	Key                    string // private, for SSH; empty: it is in the agent's store
	NoNetwork              bool   // for pods: it comes from elsewhere
	Delete                 bool
	Managed                bool   // how many workers there are is said on the status branch
	Extra                  string // further objects
	Template               string // of the manifests; empty: those for kubeadm
	Cloud                  *cloud // the other site; nil: there are hosts alone
	Left                   bool   // the site of workers alone is not in Git any more
	VSphere                *vSphere
	Metal                  *metal
	Docker                 *docker
	MAAS                   *maasRegion
	AWS                    *awsAccount
	Azure                  *azureSubscription
}

// A cloud is what Git says of a project of OpenStack that a cluster has machines in.
type cloud struct {
	First      bool   // the control plane is there, and not on hosts
	CloudsYAML string // the credential
	From, To   string // the first and the last address of servers
	Workers    int
}

// A vSphere is what Git says of a vCenter that a cluster is on.
type vSphere struct{ Server, Thumbprint, Username, Password string }

// A docker is what Git says of images of a Docker daemon, for the template.
type docker struct{ Repository, BalancerTag string }

// Node is the image of nodes of a version.
func (docker) Node(version string) string { return podman.Node(version) }

// A maasRegion is what Git says of a MAAS that a cluster is on.
type maasRegion struct {
	Endpoint, Key string
	hosts         map[string]string // their names by system id
}

// Pools are the pools of the cluster, for the template.
func (maasRegion) Pools() []string { return []string{"cp", "md-0"} }

// An awsAccount is what Git says of the account and region that a cluster is in.
type awsAccount struct {
	Region string
	Spot   bool // workers are of the spot market
}

// Pools are the pools of the cluster, for the template.
func (awsAccount) Pools() []string { return []string{"cp", "md-0"} }

// An azureSubscription is what Git says of the subscription and location that a cluster is in.
type azureSubscription struct {
	Location, ID, Size       string
	Tenant, Client, Password string // of the service principal
	Spot                     bool   // workers are of the spot market
}

// Pools are the pools of the cluster, for the template.
func (azureSubscription) Pools() []string { return []string{"cp", "md-0"} }

// A metal is what Git says of an Ironic and of the hosts that a cluster is on.
type metal struct {
	Endpoint, Username, Password, CA string
	Ramdisk, Image, Checksum         string
	Hosts                            []bareMetal
	Motd                             string // what workers are told in their user data
	Live                             string // the live image of workers; empty: they run what others run
	Setting                          string // ProcVirtualization of hosts, which have RAID volumes then; empty: they are as they are
	Workers                          int    // beside a control plane elsewhere
}

// A bareMetal is a BareMetalHost.
type bareMetal struct{ Name, BMC, MAC, Username, Password string }

// Pools are the pools of the cluster, for the template.
func (metal) Pools() []string { return []string{"cp", "md-0"} }

// workers returns how many a pool of the cluster has.
func (c cluster) workers(pool string) int {
	if c.Cloud != nil && strings.HasSuffix(pool, "-servers") {
		return c.Cloud.Workers
	}
	if c.Metal != nil && strings.HasSuffix(pool, "-metal") {
		return c.Metal.Workers
	}
	return c.Workers
}

// machines returns how many there are.
func (c cluster) machines() int {
	n := c.ControlPlanes
	if c.Cloud == nil || !c.Cloud.First || !c.Left {
		n += c.Workers
	}
	if c.Cloud != nil && (c.Cloud.First || !c.Left) {
		n += c.Cloud.Workers
	}
	if c.Metal != nil {
		n += c.Metal.Workers
	}
	return n
}

// CNI is for the template. Where the endpoint is not known before the cluster is made, it asks the API server as every
// pod does.
func (c cluster) CNI() string {
	if c.Endpoint == "" {
		return regexp.MustCompile(`(?m)^ *- {name: KUBERNETES_SERVICE_.*\n`).ReplaceAllString(cniYAML, "")
	}
	return strings.ReplaceAll(cniYAML, "ENDPOINT", c.Endpoint)
}

func (c cluster) yaml(t *testing.T) string {
	t.Helper()
	indent := func(n int, text string) string {
		return strings.Repeat(" ", n) + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", n))
	}
	parsed, err := template.New("cluster").Funcs(template.FuncMap{"indent": indent}).Parse(cmp.Or(c.Template, clusterYAML))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, c); err != nil {
		t.Fatal(err)
	}
	if c.Extra != "" {
		b.WriteString("---\n" + c.Extra)
	}
	return b.String()
}

// A repository is a fleet's bare repository and a person's clone of it.
type repository struct {
	t    *testing.T
	bare string
	dir  string
}

func newRepository(t *testing.T, root string) *repository {
	t.Helper()
	bare, err := gitserver.Init(root, "fleet.git")
	if err != nil {
		t.Fatal(err)
	}
	r := &repository{t: t, bare: bare, dir: t.TempDir()}
	r.write("fleet.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata:\n  name: e2e\n")
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("remote", "add", "origin", bare)
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
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

// put writes c to its place in the fleet.
func (r *repository) put(c cluster) {
	r.t.Helper()
	dir := "clusters/prod/" + c.Name
	r.write(dir+"/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: prod\nresources: [cluster.yaml]\n")
	r.write(dir+"/cluster.yaml", c.yaml(r.t))
}

// push makes it so.
func (r *repository) push(what string) {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "-m", what)
	r.git("push", "--quiet", "origin", "HEAD:main")
}

// Package arrows checks the code against the picture of the house: which package may import
// which, and which heavy dependency belongs to which room.
package arrows

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "fairlead.dev/"

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// A rule forbids packages below from to import packages below any of to, except for those
// in except.
type rule struct {
	from   string
	to     []string
	except []string // importing packages that may
	deep   bool     // indirect imports count too
	alone  bool     // the rule is for package from, not for those below it
	reason string
}

var rules = []rule{
	{from: "fleet", to: []string{module}, reason: "the words depend on no room", deep: true},
	{
		from: "reconcile/plan", deep: false, reason: "plan is pure: nothing of the world reaches it",
		to: []string{"context", "net", "os", "log", "math/rand", "sync", "io", "crypto/rand", "runtime", module + "providers", module + "sources", module + "render", module + "agent"},
	},
	{
		from: "reconcile/rollout", deep: false, reason: "rollout is pure: it knows the words, and nothing of the world reaches it",
		to: []string{"context", "net", "os", "log", "math/rand", "sync", "io", "crypto/rand", "runtime", module + "providers", module + "sources", module + "render", module + "agent", module + "reconcile"},
	},
	{from: "render", to: []string{module + "providers", module + "reconcile", module + "agent"}, deep: true, reason: "rendering knows no provider: kinds are handed to it"},
	{from: "sources", to: []string{module + "providers", module + "reconcile", module + "render", module + "agent"}, deep: true, reason: "a source knows files, not clusters"},
	{from: "providers", to: []string{module + "reconcile", module + "render", module + "sources", module + "agent"}, deep: true, reason: "a provider is used, it uses no room above it"},
	{from: "reconcile", to: []string{module + "agent", module + "sources", module + "render", module + "providers/all", module + "providers/infrastructure", module + "providers/distribution", module + "providers/workload"}, deep: true, reason: "the reconciler knows contracts, not providers"},
	{from: "agent/loop/backoff", to: []string{module}, deep: true, reason: "it waits, for whomever"},
	{from: "agent/observability/server", to: []string{module}, deep: true, reason: "it serves what it is given"},
	{from: "agent/observability/health", to: []string{module + "agent", module + "providers", module + "reconcile", module + "render", module + "sources"}, deep: true, reason: "it is told what is under way"},
	{from: "agent/loop/reports", to: []string{module + "agent", module + "providers", module + "reconcile", module + "render", module + "sources"}, deep: true, reason: "whoever reads reports comes to them"},
	{from: "agent/ownership", alone: true, to: []string{module + "providers", module + "render", module + "agent/ownership"}, reason: "who may act does not depend on what is done"},
	{from: "", to: []string{module + "providers/all"}, except: []string{"agent/wiring/program", "test/system/cli/script"}, reason: "what a program was built with is an argument of all that it does: strangers build their own"},
	{from: "", to: []string{"github.com/go-git/"}, except: []string{"sources/git"}, reason: "one heavy dependency, one package"},
	{from: "", to: []string{"sigs.k8s.io/kustomize/"}, except: []string{"render/kustomize"}, reason: "one heavy dependency, one package"},
	{from: "", to: []string{"k8s.io/apiextensions-apiserver/", "k8s.io/apiserver/", "github.com/Masterminds/sprig/"}, except: []string{"render/topology"}, reason: "one heavy dependency, one package"},
	{from: "", to: []string{"github.com/google/cel-go/"}, except: []string{"render/topology", "render/rules"}, reason: "one heavy dependency, one package"},
	{from: "", to: []string{"github.com/teambition/rrule-go"}, except: []string{"fleet/window"}, reason: "one dependency, one package"},
	{from: "", to: []string{"k8s.io/client-go/", "k8s.io/kubectl/"}, except: []string{"providers/workload", "providers/distribution/kubeadm", "agent/secrets", "agent/ownership/adopt", "agent/ownership/replicas", "agent/ownership/pivot", "providers/workload/helm/sdk", "agent/wiring/kube", "agent/wiring/demo", "test/lab/kube", "test/bench/benchcapi"}, reason: "one reaches the clusters that Fairlead makes, the others the one that keeps its secrets, the Leases of its replicas, clusters to take over or to live in; everybody else asks them"},
	{from: "agent/cmd/demo", to: []string{"helm.sh/", "github.com/gophercloud/", "k8s.io/client-go/informers"}, deep: true, reason: "the first thing that a newcomer builds is to be small"},
	{from: "", to: []string{"helm.sh/"}, except: []string{"providers/workload/helm/sdk"}, reason: "one heavy dependency, one package"},
	{from: "", to: []string{"oras.land/"}, except: []string{"providers/workload/helm/sdk", "sources/oci"}, reason: "one speaks to registries of charts, the other to those of fleets"},
	{from: "", to: []string{"google.golang.org/grpc"}, except: []string{"agent/inputs/autoscaler", "test/system/cli/script"}, reason: "one heavy dependency, one package; a test is its client"},
	{from: "", to: []string{"github.com/coredns/"}, except: []string{"providers/distribution/kubeadm"}, reason: "one heavy dependency, one package"},
	{from: "", to: []string{"github.com/fsnotify/"}, except: []string{"sources/dir"}, reason: "one heavy dependency, one package"},
	{from: "", to: []string{"github.com/gophercloud/"}, except: []string{"providers/driver/openstackauth", "providers/infrastructure/openstack", "providers/infrastructure/metal3/ironic", "test"}, reason: "sessions are for whichever provider asks a service of OpenStack, and each service is one provider's"},
	{from: "providers/infrastructure/openstack/api", to: []string{"github.com/gophercloud/"}, deep: true, reason: "the kinds know no SDK"},
	{from: "", to: []string{"github.com/vmware/"}, except: []string{"providers/infrastructure/vsphere", "test"}, reason: "one heavy dependency, one provider"},
	{from: "providers/infrastructure/vsphere/vcenter", to: []string{module + "providers/infrastructure/vsphere/api", module + "providers/infrastructure/vsphere/machine"}, deep: true, reason: "what speaks to vCenter knows no kinds"},
	{from: "providers/infrastructure/vsphere/api", to: []string{"github.com/vmware/"}, deep: true, reason: "the kinds know no SDK"},
	{from: "providers/infrastructure/metal3/host", to: []string{"github.com/gophercloud/", "net", "context", "time", "os", "sync"}, reason: "what is next to be done to a host is decided, and nobody is asked"},
	{from: "providers/infrastructure/metal3/ironic", to: []string{module + "providers/infrastructure/metal3/api", module + "providers/infrastructure/metal3/machine"}, deep: true, reason: "what speaks to Ironic knows no kinds"},
	{from: "providers/infrastructure/metal3/api", to: []string{"github.com/gophercloud/"}, deep: true, reason: "the kinds know no SDK"},
	{from: "providers/infrastructure/metal3/machine", to: []string{"github.com/gophercloud/", "net/http"}, reason: "what a machine is told is decided, and nobody is asked"},
	{from: "", to: []string{"github.com/moby/moby/client"}, except: []string{"providers/infrastructure/docker/engine", "providers/infrastructure/docker/dockertest"}, reason: "one package knows what became of a request"},
	{from: "providers/infrastructure/docker/api", to: []string{"github.com/moby/"}, deep: true, reason: "the kinds know no SDK"},
	{from: "", to: []string{"github.com/prometheus/"}, except: []string{"agent/observability/metrics"}, reason: "metrics have a room; other rooms offer hooks"},
	{from: "", to: []string{"go.opentelemetry.io/"}, except: []string{"agent/observability/tracing", "providers/infrastructure/docker/engine"}, reason: "one heavy dependency, one package; the other turns off the spans of Moby's client"},
	{from: "", to: []string{"github.com/spf13/cobra"}, except: []string{"agent"}, reason: "the command line is the agent's"},
	{from: "", to: []string{"github.com/coreos/ignition/", "github.com/coreos/butane/"}, except: []string{"providers/distribution/kubeadm"}, reason: "one heavy dependency, one package"},
	{from: "", to: []string{"filippo.io/age"}, except: []string{"agent/secrets", "render/sops"}, reason: "only what keeps secrets and what decrypts a repository has keys"},
}

// withoutClient are parts of client-go without its client.
func withoutClient() []string {
	return []string{"k8s.io/client-go/util/workqueue", "k8s.io/client-go/util/jsonpath"}
}

func below(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, strings.TrimSuffix(prefix, "/")+"/")
}

func TestArrows(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, r := range rules {
			if r.from != "" && !below(name, r.from) || r.alone && name != r.from || slices.ContainsFunc(r.except, func(e string) bool { return below(name, e) }) {
				continue
			}
			deps := p.Imports
			if r.deep {
				deps = p.Deps
			}
			for _, d := range deps {
				if slices.Contains(withoutClient(), d) || r.from != "" && !r.alone && below(d, module+r.from) {
					continue
				}
				if slices.ContainsFunc(r.to, func(to string) bool { return below(d, to) }) {
					t.Errorf("%s imports %s: %s", name, d, r.reason)
				}
			}
		}
	}
}

// TestProvidersApart: no infrastructure provider imports another, and no shared room
// imports a provider.
func TestProvidersApart(t *testing.T) {
	const rooms = module + "providers/"
	const root = rooms + "infrastructure/"
	for _, p := range list(t) {
		own, ok := strings.CutPrefix(p.ImportPath, root)
		if !ok && (!strings.HasPrefix(p.ImportPath, rooms) || p.ImportPath == rooms+"all") {
			continue
		}
		if ok {
			own, _, _ = strings.Cut(own, "/")
		}
		for _, d := range p.Deps {
			other, is := strings.CutPrefix(d, root)
			switch {
			case is && !ok:
				t.Errorf("%s imports %s: what providers share knows none of them", p.ImportPath, d)
			case is && !below(other, own):
				t.Errorf("%s imports %s: no provider imports another", p.ImportPath, d)
			}
		}
	}
}

// listed is filled by the first test that needs it.
var listed struct {
	once sync.Once
	pkgs []pkg
}

func list(t *testing.T) []pkg {
	t.Helper()
	listed.once.Do(func() { listed.pkgs = goList(t) })
	if len(listed.pkgs) == 0 {
		t.Fatal("the packages could not be listed: see the first test that failed")
	}
	return listed.pkgs
}

func goList(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot list packages: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 10 {
		t.Fatalf("listed %d packages, which cannot be all", len(pkgs))
	}
	return pkgs
}

package eks_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/infrastructure/aws/awstest"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/lab/doubles/aws/eks"
	"fairlead.dev/test/lab/kube/binaries"
)

// key is the cluster of these tests.
func key() fleet.Key { return fleet.Key{Namespace: "prod", Name: "eu-1"} }

// patience bounds each wait of these tests, on a machine that does much else.
const patience = 3 * time.Minute

// The name of the cluster at EKS.
const atEKS = "prod_eu-1"

// A spec is what Git asks for.
type spec struct {
	VPC, Version string
	Access       string // of the control plane
	Entries      string // the access entries
	Group, Own   int    // machines of the node group, and of Fairlead
	Auth         string // rows of the ConfigMap aws-auth
	Identity     string // the reference to it
	Template     string // the launch template of the node group, with an image of people; empty: it has none
	Ungrouped    bool   // it has no node group
	Deleted      bool
}

// files returns the manifests of a fleet with one cluster.
func (s spec) files() map[string][]byte {
	text := fmt.Sprintf(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: eu-1, namespace: prod, annotations: {fairlead.dev/delete: "%t"}, labels: {rules: all}}
spec:
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AWSManagedControlPlane, name: eu-1}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedCluster, name: eu-1}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: rules, namespace: prod}
spec: {clusterSelector: {matchLabels: {rules: all}}, strategy: Reconcile, resources: [{kind: ConfigMap, name: rules}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, namespace: prod}
data:
  all.yaml: |
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: who-looks}
    rules: [{apiGroups: [""], resources: [secrets], verbs: [list]}]
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: who-looks}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: who-looks}
    subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: watchmen}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedCluster
metadata: {name: eu-1, namespace: prod}
spec: {}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AWSManagedControlPlane
metadata: {name: eu-1, namespace: prod}
spec:
  region: eu-central-1
  version: v%s
  network: {vpc: {id: %s}}
  accessConfig: {%s}
  accessEntries: [%s]
  iamAuthenticatorConfig: {%s}
  identityRef: {%s}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterRoleIdentity
metadata: {name: fleet}
spec: {allowedNamespaces: {}, roleARN: "arn:aws:iam::123456789012:role/teams/fleet", sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
metadata: {name: eu-1-group, namespace: prod}
spec:
  clusterName: eu-1
  replicas: %d
  template:
    spec:
      clusterName: eu-1
      bootstrap: {dataSecretName: ""}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSManagedMachinePool, name: eu-1-group}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: {name: eu-1-group, namespace: prod}
spec:
  roleName: group-nodes
  labels: {tier: web}
  taints: [{key: web, value: "yes", effect: no-schedule}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: eu-1-own, namespace: prod}
spec:
  clusterName: eu-1
  replicas: %d
  selector: {matchLabels: {}}
  template:
    metadata: {labels: {node-role.kubernetes.io/worker: ""}}
    spec:
      clusterName: eu-1
      version: v%s.1
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: NodeadmConfigTemplate, name: own}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AWSMachineTemplate, name: own}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: NodeadmConfigTemplate
metadata: {name: own, namespace: prod}
spec: {template: {spec: {kubelet: {config: {maxPods: 29}, flags: ["--node-labels=disk=fast"]}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {name: own, namespace: prod}
spec: {template: {spec: {instanceType: m6i.large, iamInstanceProfile: own-nodes, sshKeyName: ops, ami: {eksLookupType: AmazonLinux2023}}}}
`, s.Deleted, s.Version, s.VPC, s.Access, s.Entries, s.Auth, cmp.Or(s.Identity, "kind: AWSClusterControllerIdentity, name: default"), s.Group, s.Own, s.Version)
	if s.Own == 0 {
		text, _, _ = strings.Cut(text, "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment")
	}
	if s.Template != "" {
		text = strings.Replace(text, `dataSecretName: ""`, "configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: NodeadmConfig, name: eu-1-group}", 1)
		text = strings.Replace(text, "  roleName: group-nodes\n", "  roleName: group-nodes\n  awsLaunchTemplate: "+s.Template+"\n", 1)
		text += "---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: NodeadmConfig\nmetadata: {name: eu-1-group, namespace: prod}\nspec: {kubelet: {config: {maxPods: 29}}}\n"
	}
	if s.Ungrouped {
		before, group, _ := strings.Cut(text, "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachinePool")
		_, after, _ := strings.Cut(group, "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment")
		text = before + "---\napiVersion: cluster.x-k8s.io/v1beta2\nkind: MachineDeployment" + after
	}
	return map[string][]byte{
		"clusters/eu-1/kustomization.yaml": []byte("resources: [all.yaml]\n"), "clusters/eu-1/all.yaml": []byte(text),
	}
}

// A world is a repository, a double of AWS with API servers that are real, and an agent.
type world struct {
	*testing.T
	cloud   *awstest.Cloud
	runtime *wiring.Runtime
	source  sources.Branch
	status  sources.Branch
	at      fleet.Revision
	spec    spec
	dir     string // of secrets
	log     string // file
	people  int    // that looked

	mu    sync.Mutex
	lines []string // of the double
}

func newWorld(t *testing.T) *world {
	t.Helper()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := binaries.Path(name); err != nil {
			t.Skip(err)
		}
	}
	w := &world{T: t, dir: filepath.Join(t.TempDir(), "secrets")}
	planes, err := eks.New(w.say)
	if err != nil {
		t.Fatal(err)
	}
	w.cloud = awstest.New(awstest.Options{Planes: planes, Delays: awstest.Delays{Lag: 500 * time.Millisecond, Start: time.Second, Terminate: time.Second, Update: time.Second}})
	for _, minor := range []string{"1.35", "1.36"} {
		w.cloud.AddParameter("/aws/service/eks/optimized-ami/"+minor+"/amazon-linux-2023/x86_64/standard/recommended/image_id", "ami-00000000000000002")
	}
	w.spec.VPC, _, _ = w.cloud.AddVPC("10.7.0.0/16")
	w.keep(func(ctx context.Context) error { return planes.Serve(ctx, w.cloud) })
	api := httptest.NewServer(w.cloud)
	t.Cleanup(api.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", awstest.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", awstest.SecretKey)
	w.startAgent(w.repository(), api.URL)
	return w
}

// keep has f run until the test ends.
func (w *world) keep(f func(context.Context) error) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	var kept sync.WaitGroup
	kept.Go(func() {
		if err := f(ctx); err != nil && ctx.Err() == nil {
			w.Error(err)
		}
	})
	w.Cleanup(func() {
		cancel()
		kept.Wait()
	})
}

func (w *world) say(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, time.Now().Format("15:04:05.000 ")+line)
}

// repository makes the repository of the fleet, and returns its URL.
func (w *world) repository() string {
	w.Helper()
	server, err := gitserver.New(w.TempDir(), gitserver.Options{})
	if err == nil {
		_, err = server.Init("fleet.git")
	}
	if err != nil {
		w.Fatal(err)
	}
	http := httptest.NewServer(server)
	w.Cleanup(http.Close)
	r, err := git.New(git.Options{URL: http.URL + "/fleet.git", Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		w.source, err = r.Branch("main", git.BranchOptions{})
	}
	if err == nil {
		w.status, err = r.Branch("fairlead/status", git.BranchOptions{})
	}
	if err != nil {
		w.Fatal(err)
	}
	return http.URL + "/fleet.git"
}

// startAgent runs an agent until the test ends.
func (w *world) startAgent(source, api string) {
	w.Helper()
	w.log = filepath.Join(w.TempDir(), "log")
	file, err := os.Create(w.log)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = file.Close() })
	s := wiring.Settings{
		Built:  wiring.Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm},
		Source: source, Secrets: w.dir, StatusInterval: 100 * time.Millisecond,
		Log:       slog.New(slog.NewTextHandler(io.Writer(file), &slog.HandlerOptions{Level: slog.LevelDebug})),
		Providers: map[string]map[string]string{"aws": {"endpoint": api, "tick": "500ms", "settle": "3s"}},
	}
	m := metrics.New("v0")
	if w.runtime, err = wiring.OpenRuntime(w.Context(), s, wiring.ReadWrite, m); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.runtime.Close() })
	a, err := wiring.NewAgent(s, agent.Options{Name: "eks", Interval: 200 * time.Millisecond, Resync: 2 * time.Second, Workers: 1}, w.runtime, m)
	if err != nil {
		w.Fatal(err)
	}
	w.keep(a.Run)
}

// push pushes what the spec asks for.
func (w *world) push(what string) {
	w.Helper()
	var err error
	if w.at, err = w.source.Commit(w.Context(), w.at, sources.Commit{Edits: w.spec.files(), Message: what}); err != nil {
		w.Fatal(err)
	}
}

// report returns what the status branch says of the cluster.
func (w *world) report() fleet.Report {
	_, tree, err := w.status.Read(w.Context())
	if err != nil {
		return fleet.Report{Failure: err.Error()}
	}
	s, err := status.Read(tree)
	if err != nil {
		return fleet.Report{Failure: err.Error()}
	}
	c, ok := s.Cluster(key())
	if !ok {
		return fleet.Report{Failure: fmt.Sprint("there is no report: ", s.Fleet.Problems)}
	}
	return c.Report
}

// await waits until a report of what was pushed is so, and returns it.
func (w *world) await(what string, so func(r fleet.Report) bool) {
	w.Helper()
	w.wait(what, func() bool {
		r := w.report()
		return r.Revision.Digest == w.at.Digest && so(r)
	})
}

// wait waits until something is so.
func (w *world) wait(what string, so func() bool) {
	w.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if so() {
			w.Logf("%s: after %s", what, time.Since(begun).Round(100*time.Millisecond))
			return
		}
		if time.Since(begun) > patience {
			w.mu.Lock()
			defer w.mu.Unlock()
			r, lines := w.report(), strings.Split(w.logged(), "\n")
			w.Fatalf("%s does not come: %s: %s, waiting %q, %+v, pools %+v, machines %+v\nthe double said\n%s\nthe agent said\n%s", what, r.Phase, r.Failure, r.Waiting, r.Conditions, r.Pools, r.Machines,
				strings.Join(w.lines, "\n"), strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
	}
}

// said reports whether the double said something.
func (w *world) said(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.lines, func(line string) bool { return strings.Contains(line, what) })
}

// logged returns what the agent logged.
func (w *world) logged() string {
	data, err := os.ReadFile(w.log)
	if err != nil {
		w.Error(err)
	}
	return string(data)
}

// complete reports whether all is as Git says, and all Nodes are ready.
func (w *world) complete(r fleet.Report) bool {
	n := 0
	for _, p := range r.Pools {
		if p.Ready != p.Desired || p.Current != p.Desired || p.UpToDate != p.Desired {
			return false
		}
		n += p.Ready
	}
	return r.Phase == fleet.PhaseProvisioned && n == w.spec.Group+w.spec.Own && r.Failure == "" && len(r.Problems) == 0
}

// client returns a client of a session of a role: with the kubeconfig that Fairlead gives people, whose program is a
// stand-in for the AWS CLI that has credentials of the role.
func (w *world) client(role, session string) *kubernetes.Clientset {
	w.Helper()
	d, err := w.runtime.Secrets.Get(w.Context(), key(), fleet.Kubeconfig)
	if err != nil {
		w.Fatal(err)
	}
	token, err := w.cloud.Token(w.cloud.Assume(role, session), atEKS, time.Now())
	if err != nil {
		w.Fatal(err)
	}
	w.awsCLI(token)
	config, err := clientcmd.RESTConfigFromKubeConfig(d[fleet.KubeconfigKey].Reveal())
	if err != nil {
		w.Fatal(err)
	}
	w.people++ // or the token of others would come from the memory of client-go
	config.ExecProvider.Env = append(config.ExecProvider.Env, clientcmdapi.ExecEnvVar{Name: "WHO", Value: fmt.Sprint(w.Name(), w.people)})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	return client
}

// nodes returns what somebody who has a role sees of Nodes, sorted.
func (w *world) nodes(role string) (out []string, err error) {
	w.Helper()
	client := w.client(role, "alice")
	list, err := client.CoreV1().Nodes().List(w.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, n := range list.Items {
		tier := n.Labels["tier"] + n.Labels["disk"]
		var taints []string
		for _, t := range n.Spec.Taints {
			taints = append(taints, t.ToString())
		}
		_, worker := n.Labels["node-role.kubernetes.io/worker"]
		out = append(out, fmt.Sprintf("%s %s worker=%t %q", n.Status.NodeInfo.KubeletVersion, tier, worker, taints))
	}
	slices.Sort(out)
	return out, nil
}

// awsCLI puts a program called aws in the way that gives a token, as the AWS CLI does.
func (w *world) awsCLI(token string) {
	w.Helper()
	dir := w.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
if [ "$*" != "--region eu-central-1 eks get-token --cluster-name %s --output json" ]; then echo "aws $*" >&2; exit 2; fi
echo '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1", "spec": {}, "status": {"token": "%s"}}'
`, atEKS, token)
	if err := os.WriteFile(filepath.Join(dir, "aws"), []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		w.Fatal(err)
	}
	w.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

package chart

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/lab/kube"
)

// A site is a release of the chart and the fleet that its agent follows.
type site struct {
	t         *testing.T
	k         *kube.Server
	client    kubernetes.Interface
	url       string // of the fleet's repository
	namespace string // of the release
	clusters  string // namespace of the fleet's one cluster, eu-2
	bare      string // folder of the fleet's repository
	clone     string // folder of somebody's clone
}

const (
	password = "open sesame" // of the fleet's repository
	version  = "v1.2.3"      // of the agent
)

// newSite makes a fleet of one cluster on a server that asks for a password, and
// installs the chart for it.
func newSite(t *testing.T, k *kube.Server, args ...string) *site {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(k.Config)
	s := &site{t: t, k: k, client: client, namespace: restricted(t, k, client), clone: t.TempDir()}
	s.clusters = s.namespace + "-clusters"

	root := t.TempDir()
	server, err := gitserver.New(root, gitserver.Options{Username: "bot", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	if s.bare, err = server.Init("fleet.git"); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	if err := os.CopyFS(s.clone, inmemory.Files()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.clone, "clusters", "prod")); err != nil {
		t.Fatal(err)
	}
	s.edit("clusters/staging/eu-2/kustomization.yaml", "namespace: staging", "namespace: "+s.clusters)
	mustGit(t, s.clone, "init", "--quiet", "--initial-branch=main")
	mustGit(t, s.clone, "remote", "add", "origin", s.bare)
	s.push("A cluster")

	s.url = web.URL + "/fleet.git"
	s.install(password, args...)
	return s
}

// install installs the chart in the namespace of the site.
func (s *site) install(password string, args ...string) {
	s.t.Helper()
	if !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "rbac.") }) {
		args = append([]string{"--set", "rbac.allNamespaces=true"}, args...)
	}
	addSecret(s.t, s.client, s.namespace, "fleet-git", map[string]string{"username": "bot", "password": password})
	mustHelm(s.t, s.k, append([]string{
		"install", "fairlead", chart, "-n", s.namespace, "--values", values + "minimal.values.yaml",
		"--set", "source.url=" + s.url + ",agent.interval=1s,agent.resync=2s,image.registry=" + registry(s.t) + ",image.tag=" + version,
	}, args...)...)
}

func (s *site) edit(file, old, replacement string) {
	s.t.Helper()
	path := filepath.Join(s.clone, file)
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), old) {
		s.t.Fatalf("there is no %q in %s: %v", old, file, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), old, replacement)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// moveTo pushes the cluster into another namespace, before an agent saw it.
func (s *site) moveTo(namespace string) {
	s.t.Helper()
	s.edit("clusters/staging/eu-2/kustomization.yaml", "namespace: "+s.clusters, "namespace: "+namespace)
	s.clusters = namespace
	s.push("Where the agent may")
}

func (s *site) push(message string) {
	s.t.Helper()
	mustGit(s.t, s.clone, "add", "--all")
	mustGit(s.t, s.clone, "commit", "--quiet", "--message", message)
	mustGit(s.t, s.clone, "push", "--quiet", "origin", "main")
}

// start starts the agent as the release has it.
func (s *site) start() *container {
	s.t.Helper()
	pod, err := createPod(s.t.Context(), s.client, s.namespace, podOf(s.t, s.client, s.namespace, "fairlead"))
	if err != nil {
		s.t.Fatal(err)
	}
	return run(s.t, s.k, pod)
}

// forbidden is what the API server says to who may not.
var forbidden = regexp.MustCompile(`cannot (\w+) resource \\*"(\w+)\\*"`)

// errForbidden says that the agent lacks a right.
type errForbidden struct{ verb, resource string }

func (e errForbidden) Error() string { return "the agent may not " + e.verb + " " + e.resource }

// await waits until done, or until the agent is told that it lacks a right.
func (s *site) await(c *container, what string, done func() bool) (err error) {
	s.t.Helper()
	eventually(s.t, what, func() bool {
		if m := forbidden.FindStringSubmatch(c.said()); m != nil {
			err = errForbidden{m[1], m[2]}
			return true
		}
		return done()
	})
	return err
}

// live lets the agent do all that it uses rights for: bring a cluster up, keep
// its kubeconfig right, delete it, and end.
func (s *site) live(c *container) error {
	s.t.Helper()
	ctx, secrets := s.t.Context(), s.client.CoreV1().Secrets(s.clusters)
	if err := s.await(c, "the agent is ready", func() bool { return ready(s.t, c) }); err != nil {
		return err
	}
	if err := s.await(c, "the cluster is Provisioned on the status branch", func() bool { return s.phase() == "Provisioned" }); err != nil {
		return err
	}
	kubeconfig, err := secrets.Get(ctx, "eu-2-kubeconfig", metav1.GetOptions{})
	if err != nil {
		return err
	}
	good := string(kubeconfig.Data["value"])
	for _, name := range []string{"eu-2-ca", "eu-2-etcd", "eu-2-proxy", "eu-2-sa"} {
		s, err := secrets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s.Type != "cluster.x-k8s.io/secret" {
			return fmt.Errorf("the Secret %s is of type %s, not as Cluster API has it", name, s.Type)
		}
	}

	// A kubeconfig that leads elsewhere is made anew.
	kubeconfig.Data["value"] = []byte(regexp.MustCompile(`(server: https://[^:]+):\d+`).ReplaceAllString(good, "$1:1"))
	if string(kubeconfig.Data["value"]) == good {
		return errors.New("the kubeconfig names no server")
	}
	if _, err := secrets.Update(ctx, kubeconfig, metav1.UpdateOptions{}); err != nil {
		return err
	}
	err = s.await(c, "the kubeconfig is right again", func() bool {
		now, err := secrets.Get(ctx, "eu-2-kubeconfig", metav1.GetOptions{})
		return err == nil && !strings.Contains(string(now.Data["value"]), ":1\n")
	})
	if err != nil {
		return err
	}

	kustomization := filepath.Join(s.clone, "clusters/staging/eu-2/kustomization.yaml")
	b, err := os.ReadFile(kustomization)
	if err != nil {
		return err
	}
	b = append(b, "patches:\n  - target: {kind: Cluster}\n    patch: |-\n      - op: add\n        path: /metadata/annotations\n        value: {fairlead.dev/delete: \"true\"}\n"...)
	if err := os.WriteFile(kustomization, b, 0o600); err != nil {
		return err
	}
	s.push("Delete the cluster")
	err = s.await(c, "the secrets of the deleted cluster are gone", func() bool {
		// Its namespace may be that of the agent, which has Secrets of its own.
		left, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: "cluster.x-k8s.io/cluster-name"})
		return err == nil && len(left.Items) == 0
	})
	if err != nil {
		return err
	}
	c.stop() // what it holds, it gives back
	return s.await(c, "the agent has ended", func() bool { return true })
}

func ready(t *testing.T, c *container) bool {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK
}

// phase returns what the status branch says of the cluster.
func (s *site) phase() string {
	out, err := git(s.bare, "show", "refs/heads/fairlead/status:clusters/"+s.clusters+"/eu-2.yaml")
	if err != nil {
		return ""
	}
	m := regexp.MustCompile(`(?m)^  phase: (\w+)`).FindStringSubmatch(out)
	if m == nil {
		return ""
	}
	return m[1]
}

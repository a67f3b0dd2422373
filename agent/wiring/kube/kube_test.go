package kube

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: home
clusters: [{name: c, cluster: {server: "https://192.0.2.1:6443"}}, {name: d, cluster: {server: "https://192.0.2.2:6443"}}]
users: [{name: u, user: {token: t}}]
contexts:
  - {name: home, context: {cluster: c, user: u, namespace: fairlead-system}}
  - {name: other, context: {cluster: d, user: u}}
`

// TestAccess: all ways to one kubeconfig lead to the same cluster, in the same manner.
func TestAccess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{Timeout: 7 * time.Second}
	for name, find := range map[string]func() (Access, error){
		"FromFile":    func() (Access, error) { return FromFile(file, o) },
		"FromPerson":  func() (Access, error) { return FromPerson(file, "", o) },
		"FromContent": func() (Access, error) { return FromContent(fleet.NewSecret([]byte(kubeconfig)), o) },
	} {
		a, err := find()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c := a.Config
		if c.Host != "https://192.0.2.1:6443" || a.Namespace != "fairlead-system" || c.Timeout != 7*time.Second || c.QPS != -1 || c.UserAgent != "fairlead" {
			t.Errorf("%s: %s in %q, %s, %v a second, as %q", name, c.Host, a.Namespace, c.Timeout, c.QPS, c.UserAgent)
		}
	}
	a, err := FromPerson(file, "other", Options{UserAgent: "fairlead-adopt", QPS: 50, Burst: 100})
	if err != nil || a.Config.Host != "https://192.0.2.2:6443" || a.Namespace != "default" || a.Config.QPS != 50 || a.Config.Burst != 100 || a.Config.UserAgent != "fairlead-adopt" {
		t.Errorf("another context: %+v, %v", a, err)
	}
}

// TestHostileContent: what Fairlead did not write is bounded before it is parsed.
func TestHostileContent(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x]\n" + strings.Repeat("b: &b [*a, *a, *a]\n", 1)
	for _, content := range []string{bomb + strings.Repeat("[", 100_000), ": :", ""} {
		if _, err := FromContent(fleet.NewSecret([]byte(content)), Options{}); err == nil {
			t.Errorf("%.40q was taken", content)
		}
	}
}

func TestNotInCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := FromFile("", Options{}); !errors.Is(err, ErrNotInCluster) {
		t.Errorf("got %v", err)
	}
}

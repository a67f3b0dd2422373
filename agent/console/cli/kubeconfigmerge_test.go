package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

var oneKubeconfig = strings.ReplaceAll(kubeconfigTemplate, "%s", "first")

const kubeconfigTemplate = `apiVersion: v1
kind: Config
clusters: [{name: eu-1, cluster: {server: https://10.0.0.1:6443}}]
users: [{name: admin, user: {token: %s}}]
contexts: [{name: admin@eu-1, context: {cluster: eu-1, user: admin}}]
current-context: admin@eu-1
`

// What a person has in the file stays; what is merged twice is there once.
func TestMergeKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kube", "config")
	k := fleet.Key{Namespace: "prod", Name: "eu-1"}
	merge := func(token string) string {
		t.Helper()
		name, err := mergeKubeconfig(file, k, fleet.NewSecret([]byte(strings.ReplaceAll(kubeconfigTemplate, "%s", token))))
		if err != nil || name != "prod-eu-1" {
			t.Fatalf("context %q, %v", name, err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if got := merge("first"); !strings.Contains(got, "current-context: prod-eu-1") || !strings.Contains(got, "token: first") {
		t.Errorf("a new file is\n%s", got)
	}
	mine := "kind: Config\ncurrent-context: mine\nclusters: [{name: mine, cluster: {server: https://mine}}]\nextensions: [{name: x}]\n"
	if err := os.WriteFile(file, []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	merge("first")
	got := merge("second")
	for _, want := range []string{"current-context: mine", "https://mine", "name: x", "https://10.0.0.1:6443", "token: second"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is there %d times:\n%s", want, strings.Count(got, want), got)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mergeKubeconfig(file, k, fleet.NewSecret([]byte(oneKubeconfig))); err == nil || !strings.Contains(err.Error(), "the file is unchanged") {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// A file that is a link to where a person keeps it stays a link.
func TestMergeKubeconfigLinked(t *testing.T) {
	kept, link := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, link); err != nil {
		t.Fatal(err)
	}
	if _, err := mergeKubeconfig(link, fleet.Key{Namespace: "prod", Name: "eu-1"}, fleet.NewSecret([]byte(oneKubeconfig))); err != nil {
		t.Fatal(err)
	}
	target, err := os.Readlink(link)
	if err != nil || target != kept {
		t.Errorf("the link is to %q, %v", target, err)
	}
	if b, err := os.ReadFile(kept); err != nil || !strings.Contains(string(b), "prod-eu-1") {
		t.Errorf("what it is to holds %q, %v", b, err)
	}
}

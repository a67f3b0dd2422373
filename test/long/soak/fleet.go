package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/fleet-examples/inmemory"
)

// The versions of Kubernetes in use: one minor apart.
const (
	older = "v1.33.5"
	newer = "v1.34.1"
)

// A cluster is what Git says of one.
type cluster struct {
	controlPlanes int
	workers       int
	version       string
	broken        bool // its files make no sense
	deleted       bool // its deletion is wished
	wasDeleted    bool // its deletion was wished before
	gone          bool // its files are not there
}

// A fleet is a person's clone of the fleet repository.
type fleet struct {
	dir      string
	clusters []cluster
	pushes   int
}

var startup = regexp.MustCompile(`startupDuration: "?[0-9a-z]+"?`)

// newFleet makes a clone in dir with n clusters, and pushes them to bare. Without keys nothing is signed.
func newFleet(dir, bare string, n int, keys *keyring) (*fleet, error) {
	if err := os.CopyFS(dir, inmemory.Files()); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(dir, "clusters")); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "bases", "cluster", "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(f, startup.ReplaceAll(b, []byte("startupDuration: 200ms")), 0o600); err != nil {
			return nil, err
		}
	}
	f := &fleet{dir: dir}
	for i := range n {
		f.clusters = append(f.clusters, cluster{controlPlanes: 1 + 2*(i%2), workers: 1 + i%3, version: older})
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"remote", "add", "origin", bare}} {
		if err := f.git(args...); err != nil {
			return nil, err
		}
	}
	if keys != nil {
		if err := keys.sign(f); err != nil {
			return nil, err
		}
	}
	return f, f.push("the fleet")
}

// disturb changes one cluster at random and pushes that.
func (f *fleet) disturb(r *rand.Rand) error {
	i := r.IntN(len(f.clusters))
	c := &f.clusters[i]
	what := ""
	switch n := r.IntN(10); {
	case c.gone:
		c.gone, what = false, "put back"
	case c.deleted && n < 6:
		*c = cluster{controlPlanes: 1, workers: 1, version: c.version, wasDeleted: true} // machines of it may be there
		what = "wished for again"
	case c.deleted:
		c.gone, what = true, "removed while it is deleted"
	case c.broken:
		c.broken, what = false, "repaired"
	case n < 4:
		c.workers, what = r.IntN(4), "workers"
	case n < 5:
		c.controlPlanes, what = 4-c.controlPlanes, "control planes"
	case n < 7 && c.version == older:
		c.version, what = newer, "upgrade"
	case n < 8:
		c.broken, what = true, "broken"
	case n < 9:
		c.deleted, what = true, "deleted"
	default:
		c.gone, what = true, "vanished"
	}
	return f.push(fmt.Sprintf("c%d: %s", i, what))
}

// repair makes sense of everything again. What is deleted stays so.
func (f *fleet) repair() error {
	for i := range f.clusters {
		f.clusters[i].broken, f.clusters[i].gone = false, false
	}
	return f.push("repaired")
}

// wereDeleted names the clusters that are wished for, and whose deletion was before.
func (f *fleet) wereDeleted() (names []string) {
	for i, c := range f.clusters {
		if c.wasDeleted && !c.deleted {
			names = append(names, fmt.Sprintf("soak/c%d", i))
		}
	}
	return names
}

// delete asks for the deletion of the named clusters, or for them again.
func (f *fleet) delete(names []string, deleted bool) error {
	for i := range f.clusters {
		if slices.Contains(names, fmt.Sprintf("soak/c%d", i)) {
			f.clusters[i].deleted = deleted
		}
	}
	return f.push(fmt.Sprintf("deleted %t: %v", deleted, names))
}

// deleteAll asks for the deletion of every cluster.
func (f *fleet) deleteAll() error {
	for i := range f.clusters {
		f.clusters[i].deleted = true
	}
	return f.push("the end")
}

// machines returns how many machines each cluster is to have; none where it is
// deleted.
func (f *fleet) machines() map[string]int {
	out := map[string]int{}
	for i, c := range f.clusters {
		n := c.controlPlanes + c.workers
		if c.deleted {
			n = 0
		}
		out[fmt.Sprintf("soak/c%d", i)] = n
	}
	return out
}

// push writes, commits and pushes the desired clusters.
func (f *fleet) push(message string) error {
	for i, c := range f.clusters {
		if err := f.write(i, c); err != nil {
			return err
		}
	}
	f.pushes++
	for _, args := range [][]string{
		{"add", "--all"}, {"commit", "--quiet", "--allow-empty", "--message", message}, {"push", "--quiet", "origin", "main"},
	} {
		if err := f.git(args...); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) write(i int, c cluster) error {
	dir := filepath.Join(f.dir, "clusters", fmt.Sprintf("c%d", i))
	if err := os.RemoveAll(dir); err != nil || c.gone {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	kustomization := "namespace: soak\nresources: [../../bases/cluster, values.yaml]\n"
	if c.deleted {
		kustomization += `patches:
  - target: {kind: Cluster}
    patch: |-
      - op: add
        path: /metadata/annotations
        value: {fairlead.dev/delete: "true"}
`
	}
	workers := fmt.Sprint(c.workers)
	if c.broken {
		workers = "many"
	}
	values := fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: values
  annotations: {fairlead.dev/substitute: "true"}
data:
  CLUSTER_NAME: c%d
  KUBERNETES_VERSION: %s
  CONTROL_PLANE_MACHINE_COUNT: "%d"
  WORKER_MACHINE_COUNT: "%s"
`, i, c.version, c.controlPlanes, workers)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "values.yaml"), []byte(values), 0o600)
}

// git runs git in the clone.
func (f *fleet) git(args ...string) error {
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), person()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// person is who works with the fleet repository, as variables of git.
func person() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com",
		"GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com",
	}
}

// rename gives the status branch another name.
func (f *fleet) rename(branch string) error {
	name := filepath.Join(f.dir, "fleet.yaml")
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	kept, _, _ := strings.Cut(string(b), "\nspec:\n")
	kept = strings.TrimRight(kept, "\n") + "\nspec:\n  status: {branch: " + branch + "}\n"
	if err := os.WriteFile(name, []byte(kept), 0o600); err != nil {
		return err
	}
	return f.push("the status branch is " + branch)
}

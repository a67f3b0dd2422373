package ha

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"

	"fairlead.dev/fleet-examples/inmemory"
	"fairlead.dev/sources/git/gitserver"
)

var startup = regexp.MustCompile(`startupDuration: "?[0-9a-z]+"?`)

// serveGit makes a repository with the bases of the example and no clusters.
func (w *world) serveGit() {
	root := filepath.Join(w.dir, "git")
	w.must(os.Mkdir(root, 0o700))
	s, err := gitserver.New(root, gitserver.Options{})
	w.must(err)
	w.git = s
	w.bare, err = s.Init("fleet.git")
	w.must(err)
	server := httptest.NewServer(s)
	w.t.Cleanup(server.Close)
	w.url = server.URL + "/fleet.git"
	clone := w.clone()
	w.must(os.CopyFS(clone, inmemory.Files()))
	w.must(os.RemoveAll(filepath.Join(clone, "clusters")))
	files, err := filepath.Glob(filepath.Join(clone, "bases", "cluster", "*.yaml"))
	w.must(err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		w.must(err)
		w.must(os.WriteFile(f, startup.ReplaceAll(b, []byte("startupDuration: 300ms")), 0o600))
	}
	w.must(run(clone, "git", "init", "--quiet", "--initial-branch=main"))
	w.must(run(clone, "git", "remote", "add", "origin", w.bare))
}

func (w *world) clone() string { return filepath.Join(w.dir, "clone") }

const clusters = 6

// push asks for so many workers in each cluster.
func (w *world) push(workers int) {
	w.t.Helper()
	w.write(workers)
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--allow-empty", "--message", "workers"}, {"push", "--quiet", "origin", "main"}} {
		w.must(run(w.clone(), "git", args...))
	}
}

func (w *world) write(workers int) {
	w.t.Helper()
	w.workers = workers
	for i := range clusters {
		w.writeCluster(i, workers)
	}
}

// writeCluster writes the files of cluster i, with so many workers.
func (w *world) writeCluster(i, workers int) {
	w.t.Helper()
	dir := filepath.Join(w.clone(), "clusters", fmt.Sprintf("c%d", i))
	w.must(os.MkdirAll(dir, 0o700))
	w.must(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte("namespace: "+w.namespace+"\nresources: [../../bases/cluster, values.yaml]\n"), 0o600))
	w.must(os.WriteFile(filepath.Join(dir, "values.yaml"), fmt.Appendf(nil, `apiVersion: v1
kind: ConfigMap
metadata:
  name: values
  annotations: {fairlead.dev/substitute: "true"}
data:
  CLUSTER_NAME: c%d
  KUBERNETES_VERSION: v1.34.1
  CONTROL_PLANE_MACHINE_COUNT: "1"
  WORKER_MACHINE_COUNT: "%d"
`, i, workers), 0o600))
}

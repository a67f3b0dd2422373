package e2e

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/test/lab/kubernetes/lab"
)

// installK3s does what the script does that people install K3s with, where the machine
// has K3s already.
//
//go:embed testdata/install-k3s.sh
var installK3s string

// TestK3s: clusters of the real K3s grow, lose servers, outlive their agent and go. The
// binary is named by FAIRLEAD_K3S, and the archive of its images, without which no pod
// runs, by FAIRLEAD_K3S_IMAGES.
func TestK3s(t *testing.T) {
	binary := os.Getenv("FAIRLEAD_K3S")
	if binary == "" {
		t.Skip("FAIRLEAD_K3S names no k3s to run: it is to be had from its releases alone")
	}
	w := newWorld(t, "", "control-plane", "control-plane", "control-plane", "worker", "balancer")
	for _, m := range w.lab.Machines()[:4] {
		w.copy(m, binary, "/usr/local/bin/k3s", "0755")
		w.copy(m, write(t, installK3s), "/opt/install-k3s.sh", "0755")
		if images := os.Getenv("FAIRLEAD_K3S_IMAGES"); images != "" {
			w.copy(m, images, "/var/lib/rancher/k3s/agent/images/"+filepath.Base(images), "0644")
		}
	}
	c := w.cluster("k3s", 1, 1)
	c.Template, c.Version = k3sYAML, k3sVersion(t, binary)
	w.startAgent()

	w.put("a cluster of one and one", c)
	r := w.waitComplete(c)
	w.measure("K3s 1+1: push to Provisioned %s", since(w.pushed))
	config := w.kubeconfig(c)
	w.checkNodes(config, c, r)

	c.ControlPlanes = 3
	w.put("three servers", c)
	w.waitComplete(c)
	w.measure("K3s 3+1: push to Provisioned %s", since(w.pushed))
	w.killAgent(c)

	c.ControlPlanes = 1
	w.put("one server", c)
	r = w.waitComplete(c)
	w.measure("K3s 1+1, from three: push to Provisioned %s", since(w.pushed))
	w.checkNodes(config, c, r)

	c.Delete = true
	w.put("no cluster", c)
	w.waitDeleted(c)
	for _, m := range w.lab.Machines()[:4] {
		out, err := m.Exec(w.ctx, "sh", "-c", "ls -d /var/lib/rancher/k3s/server /etc/rancher/node/password 2>/dev/null; systemctl is-active k3s k3s-agent || true")
		left := slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool { return line == "active" || strings.HasPrefix(line, "/") })
		if err != nil || left {
			t.Errorf("left of K3s on %s: %q, %v", m.Name, out, err)
		}
	}
}

// copy puts a file onto a machine.
func (w *world) copy(m *lab.Machine, from, to, mode string) {
	w.t.Helper()
	f, err := os.Open(from)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	cmd := m.Command(w.ctx, "sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"`, "copy", to, mode)
	cmd.Stdin = f
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("cannot copy %s to %s of %s: %v: %s", from, to, m.Name, err, out)
	}
}

// write returns a file that holds text.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// k3sVersion returns what a k3s says of itself: "k3s version v1.34.1+k3s1 (24fc436e)".
func k3sVersion(t *testing.T, binary string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, "--version").Output()
	if err != nil {
		t.Fatalf("%s --version: %v", binary, err)
	}
	m := regexp.MustCompile(`k3s version (v\S+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("%s --version says %q, and no version", binary, out)
	}
	return string(m[1])
}

package e2e

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/test/lab/kubernetes/lab"
)

// image is what machines call the image of the program.
const image = "lab.fairlead.dev/fairlead:e2e"

// values of the chart make the agent in the home as fast as that of these tests
// elsewhere is, say that its image is there, and have it leave a Node that is gone.
const values = `image: {pullPolicy: Never}
agent: {interval: 1s, logLevel: debug}
tolerations:
- {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}
- {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
- {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
extraArgs:
- --status-interval=1s
`

// One command makes a cluster, installs the agent in it and hands it the fleet,
// though it is killed in the middle. The agent there makes what is pushed next.
// The fleet comes back, and its home is deleted from outside.
func TestPivot(t *testing.T) {
	w := newWorld(t, "", "control-plane", "worker", "other-control-plane", "other-worker", "balancer", "other-balancer")
	w.loadImage("m1", "m2")
	home, other := w.cluster("home", 1, 1), w.clusterOn("other-", "other", 1, 1)
	home.Key, other.Key, home.NoNetwork = "", "", true
	w.fairlead("secrets", "set", "prod/lab-ssh", "--from-file", "ssh-privatekey="+w.lab.Key, "--secrets", w.secrets)
	laptop := w.secrets

	w.put("a home of one and one", home)
	config := w.bootstrap(home)
	w.measure("bootstrap: push to fleet in its home %s", since(w.pushed))
	w.secrets = "kubernetes:" + config
	w.empty(laptop)
	before := w.waitComplete(home)
	w.measure("bootstrap: push to 1+1 Provisioned, the worker by the agent in the home %s", since(w.pushed))
	w.births(config, before)
	w.owned("home.prod.home")
	w.podsReady(config)
	w.checkNodes(config, home, before)

	w.put("another cluster", other)
	r := w.waitComplete(other)
	w.measure("a second cluster by the agent in the home: push to 1+1 Provisioned %s", since(w.pushed))
	there := w.kubeconfig(other)
	w.births(there, r)
	w.podsReady(there)
	w.checkNodes(there, other, r)
	if plan, err := w.plan(); err != nil {
		t.Errorf("the plan is not empty: %v\n%s", err, plan)
	}
	w.same(home, before)

	other.Delete = true
	w.put("no other cluster", other)
	w.waitDeleted(other)
	w.checkFree("m3", "m4", "m6")

	w.secrets = w.rescue(config)
	w.owned("laptop")
	w.same(home, before)
	home.Delete = true
	w.put("no home", home)
	w.waitDeleted(home)
	w.checkFree("m1", "m2", "m5")
}

// loadImage puts the image of the program into machines.
func (w *world) loadImage(machines ...string) {
	w.t.Helper()
	for _, name := range machines {
		m, err := w.lab.Machine(name)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := loadImage(w.ctx, m); err != nil {
			w.t.Fatal(err)
		}
	}
}

// loadImage puts the image of the program, an OCI layout, into a machine that is on.
func loadImage(ctx context.Context, m *lab.Machine) error {
	layout := os.Getenv("FAIRLEAD_TEST_E2E_IMAGE")
	if layout == "" {
		return errors.New("FAIRLEAD_TEST_E2E_IMAGE is to be the folder of the image: make makes it")
	}
	if out, err := m.Exec(ctx, "systemctl", "start", "containerd"); err != nil { // SSH answers before it does
		return fmt.Errorf("%s has no containerd: %w: %s", m.Name, err, out)
	}
	archive, in := io.Pipe()
	go func() {
		tw := tar.NewWriter(in)
		err := tw.AddFS(os.DirFS(layout))
		if err == nil {
			err = tw.Close()
		}
		in.CloseWithError(err)
	}()
	cmd := m.Command(ctx, "ctr", "--namespace", "k8s.io", "images", "import", "--local", "--index-name", image, "-")
	cmd.Stdin = archive
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot load the image into %s: %w: %s", m.Name, err, out)
	}
	return nil
}

// fairlead runs the program to its end.
func (w *world) fairlead(args ...string) {
	w.t.Helper()
	if out, err := exec.CommandContext(w.ctx, w.binary, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("fairlead %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// bootstrap moves the fleet into c, and returns the file of its kubeconfig. It is
// killed when it is about to install the agent, and run again.
func (w *world) bootstrap(c cluster) string {
	w.t.Helper()
	dir := w.t.TempDir()
	agent := values
	for _, flag := range w.flags {
		agent += "- " + strconv.Quote(flag) + "\n"
	}
	for name, text := range map[string]string{"cni.yaml": c.CNI(), "values.yaml": agent} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "home.kubeconfig")
	run := func() *exec.Cmd {
		args := append([]string{
			"bootstrap", "--source", w.source, "--secrets", w.secrets, "--name", "laptop", "--home", "prod/" + c.Name, "--interval", "1s",
			"--addons", "cni.yaml", "--image", image, "--values", "values.yaml", "--kubeconfig", config,
			"--log-level", "debug", "--log-file", filepath.Join(w.logs, "bootstrap.log"),
		}, w.flags...)
		return w.here(dir, args...)
	}
	killed := run()
	w.follow(killed, "→ install the agent")
	if err := killed.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	_ = killed.Wait()
	again := run()
	w.follow(again, "")
	if err := again.Wait(); err != nil {
		w.t.Fatalf("bootstrap: %v", err)
	}
	return config
}

// here prepares the program as a person on a laptop runs it, in folder dir.
func (w *world) here(dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.ctx, w.binary, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, os.Stderr
	return cmd
}

// follow starts cmd and prints what it says, until it says something that begins
// with line, or to its end where line is empty.
func (w *world) follow(cmd *exec.Cmd, line string) {
	w.t.Helper()
	start := time.Now()
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		w.measure("%s: %s", since(start), s.Text())
		if line != "" && strings.HasPrefix(s.Text(), line) {
			return
		}
	}
	if line != "" {
		w.t.Fatalf("fairlead %s ended before it said %q: %v", cmd.Args[1], line, cmd.Wait())
	}
}

// rescue brings the fleet out of its home to an agent that runs here until the
// test ends, and returns where that has its secrets.
func (w *world) rescue(config string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	into := filepath.Join(dir, "secrets")
	start := time.Now()
	args := append([]string{
		"pivot", "--source", w.source, "--secrets", "kubernetes:" + config, "--here", "--into", into, "--name", "laptop", "--interval", "1s",
		"--log-level", "debug", "--log-file", filepath.Join(w.logs, "rescue.log"),
	}, w.flags...)
	cmd := w.here(dir, args...)
	w.follow(cmd, "agent laptop owns the fleet")
	w.measure("rescue: the fleet is out of its home %s after it was asked for", since(start))
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return into
}

// empty checks that a folder of secrets has none but the key that it is encrypted with.
func (w *world) empty(dir string) {
	w.t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && name != "identity.txt" && name != ".place" && !strings.HasPrefix(name, ".locks/") {
			w.t.Errorf("on the laptop there is still %s", name)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

// owned checks who owns the fleet.
func (w *world) owned(agent string) {
	w.t.Helper()
	s, err := w.status()
	if err != nil {
		w.t.Fatal(err)
	}
	if s.Owner.Agent != agent || s.Next != (fleet.Succession{}) {
		w.t.Errorf("the owner is %+v, on the way is %+v; want %s", s.Owner, s.Next, agent)
	}
}

// same checks that c has the machines that it had.
func (w *world) same(c cluster, before fleet.Report) {
	w.t.Helper()
	ids := func(r fleet.Report) (out []string) {
		for _, m := range r.Machines {
			out = append(out, string(m.Machine.Name)+" "+string(m.Machine.ProviderID))
		}
		return out
	}
	if r, _ := w.report(c); !slices.Equal(ids(r), ids(before)) {
		w.t.Errorf("%s has other machines:\n%s\nhad\n%s", c.Name, describe(r), describe(before))
	}
}

// machines returns those of the lab that have the names, or all.
func (w *world) machines(names ...string) []*lab.Machine {
	return slices.DeleteFunc(slices.Clone(w.lab.Machines()), func(m *lab.Machine) bool { return len(names) > 0 && !slices.Contains(names, m.Name) })
}

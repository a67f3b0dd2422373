package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// logDir is where logs go: FAIRLEAD_TEST_LOGS, or a folder that goes with the test.
func logDir(t *testing.T) string {
	t.Helper()
	d := os.Getenv("FAIRLEAD_TEST_LOGS")
	if d == "" {
		return t.TempDir()
	}
	if err := os.MkdirAll(d, 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

// startAgent starts the program, with nothing but its secrets on its disk.
func (w *world) startAgent() {
	w.t.Helper()
	log, err := os.OpenFile(filepath.Join(w.logs, "agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command(w.binary, "agent", "--source", w.source, "--secrets", w.secrets, "--name", "e2e", "--interval", "1s",
		"--status-interval", "1s", "--listen", "", "--log-level", "debug")
	c.Args = append(c.Args, w.flags...)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.t.TempDir()}, w.env...)
	c.Stdout, c.Stderr = log, log
	w.background(w.resolving(c))
}

// resolving has c resolve names as machines of the lab do, if w.resolver is set.
func (w *world) resolving(c *exec.Cmd) *exec.Cmd {
	if w.resolver == "" {
		return c
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		w.t.Fatalf("%v: it is in the package util-linux", err)
	}
	c.Args = append([]string{unshare, "--mount", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, w.resolver, c.Path}, c.Args[1:]...)
	c.Path = unshare
	return c
}

// background starts a process in the place of the agent. It ends with the world,
// and with a test that is killed.
func (w *world) background(c *exec.Cmd) {
	w.t.Helper()
	w.agentEnded = bound(w.t, c)
	w.agent = c.Process
}

// bound starts a process that ends with that of the test. What it returns is closed when
// the process has ended.
func bound(t *testing.T, c *exec.Cmd) chan struct{} {
	t.Helper()
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the parent that it dies with is a thread
		started <- c.Start()
		_ = c.Wait()
		close(ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return ended
}

// stopAgent kills the agent: it gets to say nothing.
func (w *world) stopAgent() {
	if w.agent != nil {
		_ = w.agent.Kill()
		<-w.agentEnded
		w.agent = nil
	}
}

// kubeconfig writes that of c and returns its file.
func (w *world) kubeconfig(c cluster) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, w.binary, "kubeconfig", "--source", w.source, "--secrets", w.secrets, "prod/"+c.Name)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("fairlead kubeconfig: %v: %s", err, complaint.String())
	}
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// kubectl runs the real one against c and returns what it prints.
func (w *world) kubectl(config, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(w.ctx, w.lab.Kubectl(), append([]string{"--kubeconfig", config}, args...)...)
	cmd = w.resolving(cmd)
	cmd.Stdin = strings.NewReader(stdin)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, complaint.String())
	}
	return strings.TrimSpace(out.String()), nil
}

package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fairlead.dev/agent/console/cli"
	"fairlead.dev/agent/wiring/supervise"
	"fairlead.dev/test/run/race"
)

// TestMain runs the program where the tests start it. The variable says how many bytes of
// memory it gets in addition to what it has.
func TestMain(m *testing.M) {
	more := os.Getenv("FAIRLEAD_TEST_MEMORY")
	if more == "" {
		os.Exit(m.Run())
	}
	args := os.Args[1:]
	supervise.Main(args, func() int {
		var bytes, pages uint64
		_, _ = fmt.Sscan(more, &bytes)
		statm, _ := os.ReadFile("/proc/self/statm")
		_, _ = fmt.Sscan(string(statm), &pages)
		if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: pages*uint64(os.Getpagesize()) + bytes, Max: pages*uint64(os.Getpagesize()) + bytes}); err != nil {
			panic(err)
		}
		return cli.Main(Options{Version: "test"}.program(), args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	})
}

// large is a fleet whose rendering takes more than a few megabytes.
func large(t *testing.T) string {
	t.Helper()
	if race.Detector {
		t.Skip("the race detector needs memory of its own, and ends otherwise")
	}
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		t.Skip("there is no /proc: what a process needs is not known")
	}
	dir := t.TempDir()
	for i := range 3 {
		folder := filepath.Join(dir, "clusters", fmt.Sprint("a", i))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n")
		for k := range 24_000 {
			fmt.Fprintf(&b, "  k%d: %q\n", k, strings.Repeat("x", 50))
		}
		text := b.String()
		for name, content := range map[string]string{"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": text} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// The exit code of a process without memory is not that of changes.
func TestOutOfMemory(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "plan", large(t))
	cmd.Env = append(os.Environ(), "FAIRLEAD_TEST_MEMORY=1048576")
	out, err := cmd.CombinedOutput()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("got %v, want SIGABRT:\n%.500s", err, out)
	}
	if status.CoreDump() {
		t.Error("there is a core dump")
	}
}

// The same holds for the first process of a container, which cannot end by its own signals.
func TestOutOfMemoryInAContainer(t *testing.T) {
	empty := t.TempDir()
	if err := os.Mkdir(filepath.Join(empty, "clusters"), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir, memory string
		want        int
	}{{large(t), "1048576", 134}, {empty, "4294967296", 0}} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "plan", c.dir)
		cmd.Env = append(os.Environ(), "FAIRLEAD_TEST_MEMORY="+c.memory)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Skipf("a process namespace cannot be made here: %v", err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != c.want {
			t.Errorf("with %s bytes: got exit code %d, want %d:\n%.500s", c.memory, got, c.want, out.String())
		}
	}
}

package images

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// makeStore makes a containerd store that has all images unpacked, by running
// that containerd once on it.
func (m *maker) makeStore(ctx context.Context) error {
	built, err := programs(m.versions)
	if err != nil {
		return err
	}
	var list []string
	for _, b := range built {
		list = append(list, b.Name+" "+b.Version)
	}
	m.store, err = m.folder("store", []any{list, packages(), Shell, 3}, func(dir string) error {
		work, err := os.MkdirTemp("", "fairlead-lab-store-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(work) }()
		pause := filepath.Join(work, "pause")
		c := m.command(ctx, m.root, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", pause, "./test/lab/kubernetes/pause")
		c.Env = append(c.Env, "CGO_ENABLED=0")
		if err := c.Run(); err != nil {
			return err
		}
		images, err := m.contents(ctx, pause)
		if err != nil {
			return err
		}
		archive := filepath.Join(m.dir, ".making-archive.tar")
		defer func() { _ = os.Remove(archive) }()
		if err := pack(archive, images); err != nil {
			return err
		}
		return m.load(ctx, dir, work, archive)
	})
	return err
}

func pack(path string, images []image) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := writeArchive(w, images); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// load imports the archive into a containerd whose root is store. It mounts what
// it unpacks in a mount namespace of its own.
func (m *maker) load(ctx context.Context, store, work, archive string) error {
	config, socket := filepath.Join(work, "config.toml"), filepath.Join(work, "containerd.sock")
	const text = `version = 3
disabled_plugins = ['io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime', 'io.containerd.nri.v1.nri']
`
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(work, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	c := m.command(ctx, "", m.programs["containerd"], "--config", config, "--root", store, "--state", filepath.Join(work, "run"), "--address", socket)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { _, _ = c.Process.Wait() }()
	defer func() { _ = c.Process.Signal(syscall.SIGTERM) }()
	ctr := func(args ...string) *exec.Cmd {
		return m.command(ctx, "", m.programs["ctr"], append([]string{"--address", socket, "--namespace", "k8s.io"}, args...)...)
	}
	if err := until(ctx, time.Minute, func() error {
		ping := ctr("version")
		ping.Stdout, ping.Stderr = log, log
		return ping.Run()
	}); err != nil {
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("containerd does not answer: %w\n%s", err, said)
	}
	return ctr("images", "import", "--local", archive).Run()
}

// until calls try every 100 ms until it succeeds, for at most patience, and
// returns its last error.
func until(ctx context.Context, patience time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

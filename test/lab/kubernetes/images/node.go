package images

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// nodeFiles is what a node has of its own; the word PAUSE in it is the image of
// a pod's sandbox.
//
//go:embed all:node
var nodeFiles embed.FS

// enabled returns the units that start with a machine.
func enabled() []string { return []string{"containerd.service", "kubelet.service"} }

// masked returns the units that make no sense in a machine that shares the
// host's kernel: they would wait for devices, or set what is the host's.
func masked() []string {
	return []string{
		"apt-daily-upgrade.timer", "apt-daily.timer", "console-getty.service", "dev-hugepages.mount", "dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service",
		"fstrim.timer", "getty@tty1.service", "haproxy.service", "networking.service", "sys-fs-fuse-connections.mount", "sys-kernel-debug.mount", "sys-kernel-tracing.mount",
		"systemd-binfmt.service", "systemd-logind.service", "systemd-modules-load.service",
		"systemd-networkd-wait-online.service", "systemd-oomd.service", "systemd-resolved.service", "systemd-sysctl.service", "systemd-timesyncd.service",
		"systemd-udev-settle.service", "systemd-udev-trigger.service", "systemd-udevd.service",
	}
}

// makeNode makes what is laid over the root filesystem: containerd, the
// Kubernetes of each version below /opt/kubernetes, the newest of which is in
// use, and the units that run them.
func (m *maker) makeNode(ctx context.Context) error {
	pause, err := m.pauseImage(ctx)
	if err != nil {
		return err
	}
	files, err := m.nodeFiles(pause)
	if err != nil {
		return err
	}
	programs := map[string]string{} // where in the node: where it was built
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		programs["usr/local/bin/"+name] = m.programs[name]
	}
	for _, v := range m.versions {
		for _, name := range node() {
			programs["opt/kubernetes/"+v+"/"+name] = m.programs[name+"-"+v]
		}
	}
	m.node, err = m.folder("node", []any{files, programs, enabled(), masked()}, func(dir string) error {
		for name, text := range files {
			mode := fs.FileMode(0o644)
			if strings.HasPrefix(text, "#!") {
				mode = 0o755
			}
			if err := write(filepath.Join(dir, name), text, mode); err != nil {
				return err
			}
		}
		for name, from := range programs {
			if err := link(from, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		for _, name := range node() {
			if err := symlink("/opt/kubernetes/"+m.versions[0]+"/"+name, filepath.Join(dir, "usr/bin", name)); err != nil {
				return err
			}
		}
		units := filepath.Join(dir, "etc/systemd/system")
		for _, unit := range enabled() {
			if err := symlink("/etc/systemd/system/"+unit, filepath.Join(units, "multi-user.target.wants", unit)); err != nil {
				return err
			}
		}
		for _, unit := range masked() {
			if err := symlink("/dev/null", filepath.Join(units, unit)); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// nodeFiles returns the texts of the files of a node by their path.
func (m *maker) nodeFiles(pause string) (map[string]string, error) {
	files, err := embedded(nodeFiles, "node")
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "PAUSE", pause)
	}
	return files, err
}

// embedded returns the texts of the files below a folder by their path in it.
func embedded(from embed.FS, dir string) (map[string]string, error) {
	files := make(map[string]string)
	err := fs.WalkDir(from, dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := from.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	})
	return files, err
}

func write(path, text string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

func symlink(target, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

// link makes path the same file as from, or a copy where that is on another
// filesystem.
func link(from, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := os.Link(from, path)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o755)
}

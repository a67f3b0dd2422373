package images

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// suite is the release of Debian that machines have.
const suite = "bookworm"

// packages returns what its minimal system gets: an init system, what a cloud
// image has, what kubeadm, kubelet, kube-proxy and containerd call, and what
// load balancers are made of.
func packages() []string {
	return []string{
		"systemd", "systemd-sysv", "dbus", "cloud-init", "openssh-server", "sudo", "ca-certificates", "curl", "iputils-ping", "procps",
		"runc", "containernetworking-plugins", "busybox-static",
		"iproute2", "iptables", "nftables", "ethtool", "conntrack", "kmod", "socat", "util-linux", "mount", "netbase", "haproxy",
	}
}

// makeRootfs makes the Debian root filesystem of machines.
func (m *maker) makeRootfs(ctx context.Context) (err error) {
	m.rootfs, err = m.debian(ctx, "rootfs", packages())
	return err
}

// debianMaker is the program that makes a Debian.
const debianMaker = "mmdebstrap"

// debian makes a folder with a Debian that has these packages, by mmdebstrap. What
// belongs to one machine alone is taken out of it: keys of sshd, the machine id.
func (m *maker) debian(ctx context.Context, kind string, packages []string) (string, error) {
	return m.folder(kind, []any{suite, packages, 1}, func(dir string) error {
		mirror := os.Getenv("FAIRLEAD_LAB_DEBIAN")
		if mirror == "" {
			mirror = "http://deb.debian.org/debian"
		}
		c := m.command(ctx, "", debianMaker, "--mode=root", "--variant=minbase", "--components=main",
			"--include="+strings.Join(packages, ","),
			"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*", "--dpkgopt=path-exclude=/usr/share/locale/*",
			"--dpkgopt=force-unsafe-io", `--aptopt=Acquire::Languages "none"`, suite, dir, mirror)
		if err := c.Run(); err != nil {
			return err
		}
		keys, err := filepath.Glob(filepath.Join(dir, "etc/ssh/ssh_host_*"))
		if err != nil {
			return err
		}
		for _, file := range append(keys, filepath.Join(dir, "etc/hostname"), filepath.Join(dir, "etc/resolv.conf")) {
			if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
		return os.WriteFile(filepath.Join(dir, "etc/machine-id"), nil, 0o644)
	})
}

package images

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"fairlead.dev/test/lab/kube/binaries"
)

// Versions returns the versions of Kubernetes that the lab can have, the newest
// first: two minors, so that a cluster can be upgraded.
func Versions() []string { return []string{"v1.36.3", "v1.35.4"} }

// wrapper returns where a version is built, as fairlead.dev/test/lab/kube/binaries
// names it.
func wrapper(version string) (string, error) {
	switch version {
	case "v1.36.3":
		return "kubernetes", nil
	case "v1.35.4":
		return "kubernetes-1.35", nil
	}
	return "", fmt.Errorf("the lab has no Kubernetes %s; there are %s", version, strings.Join(Versions(), ", "))
}

// kubernetes returns what is built of each version of Kubernetes.
func kubernetes() []string {
	return append(node(), "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
}

// node returns what of it a machine has; the others are in images.
func node() []string { return []string{"kubeadm", "kubelet", "kubectl"} }

// programs returns all that is built, that of the newest version first.
func programs(versions []string) ([]binaries.Binary, error) {
	var out []binaries.Binary
	for _, v := range versions {
		from, err := wrapper(v)
		if err != nil {
			return nil, err
		}
		for _, name := range kubernetes() {
			out = append(out, binaries.Kubernetes(from, name, v))
		}
	}
	const containerd, version = "github.com/containerd/containerd/v2", "v2.4.2"
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		out = append(out, binaries.Binary{
			Name: name, Module: containerd, Version: version, Package: containerd + "/cmd/" + name, Tags: "no_btrfs no_devmapper no_zfs",
			Set: []string{containerd + "/version.Version=" + version},
		})
	}
	for _, name := range []string{"etcd", "kube-vip"} {
		b, err := binaries.Find(name)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return append(out,
		binaries.Binary{Name: "coredns", Module: "github.com/coredns/coredns", Version: "v1.15.0", Package: "github.com/coredns/coredns"},
	), nil
}

// makePrograms builds what is not built yet.
func (m *maker) makePrograms(ctx context.Context) error {
	list, err := programs(m.versions)
	if err != nil {
		return err
	}
	m.programs = make(map[string]string)
	for i, b := range list {
		m.say("program %d of %d: %s %s", i+1, len(list), b.Name, b.Version)
		path, err := b.Build(ctx, m.root, m.progress)
		if err != nil {
			return err
		}
		m.programs[b.Name], m.programs[b.Name+"-"+b.Version] = path, path
	}
	return nil
}

// command returns a command whose words go to progress.
func (m *maker) command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, os.Environ(), m.progress, m.progress
	return c
}

// output returns what a command prints, without its last newline.
func (m *maker) output(ctx context.Context, dir, name string, args ...string) (string, error) {
	c := m.command(ctx, dir, name, args...)
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	return strings.TrimSpace(out.String()), err
}

package images

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fairlead.dev/test/kube/binaries"
)

// Versions returns the versions of Kubernetes that the lab can have, the newest
// first: two minors, so that a cluster can be upgraded.
func Versions() []string { return []string{"v1.36.3", "v1.35.4"} }

// kubernetes returns what is built of each version of Kubernetes.
func kubernetes() []string {
	return append(node(), "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
}

// node returns what of it a machine has; the others are in images.
func node() []string { return []string{"kubeadm", "kubelet", "kubectl"} }

// minor returns "1.36" for v1.36.3.
func minor(version string) (string, error) {
	for _, v := range Versions() {
		if v == version {
			return v[1:strings.LastIndex(v, ".")], nil
		}
	}
	return "", fmt.Errorf("the lab has no Kubernetes %s; there are %s", version, strings.Join(Versions(), ", "))
}

// A program is built from a Go module, without cgo.
type program struct {
	name, version, pkg string

	// wrapper is the folder, below the root of the repository, of a module that
	// requires the program: one that has `replace` lines, as Kubernetes has, is
	// built only so. Without one, the program is built as its own module says.
	wrapper string
	tags    string
	set     []string // package variables that the linker sets: PATH.NAME=VALUE
}

func programs(versions []string) []program {
	const (
		containerd = "github.com/containerd/containerd/v2"
		base       = "k8s.io/component-base/version."
	)
	var out []program
	for _, v := range versions {
		of, err := minor(v)
		if err != nil {
			continue // Build has refused it
		}
		for _, name := range kubernetes() {
			out = append(out, program{
				name: name, version: v, pkg: "k8s.io/kubernetes/cmd/" + name, wrapper: "test/lab/kubernetes/modules/kubernetes-" + of,
				set: []string{base + "gitVersion=" + v, base + "gitMajor=1", base + "gitMinor=" + strings.TrimPrefix(of, "1.")},
			})
		}
	}
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		out = append(out, program{
			name: name, version: "v2.4.2", pkg: containerd + "/cmd/" + name, tags: "no_btrfs no_devmapper no_zfs",
			set: []string{containerd + "/version.Version=v2.4.2"},
		})
	}
	return append(out,
		program{name: "etcd", version: "v3.7.3", pkg: "go.etcd.io/etcd/server/v3", wrapper: "test/kube/binaries/etcd"},
		program{name: "coredns", version: "v1.15.0", pkg: "github.com/coredns/coredns"},
	)
}

// makePrograms builds what is not built yet. Programs lie where those of
// fairlead.dev/test/kube/binaries do, under the same names.
func (m *maker) makePrograms(ctx context.Context) error {
	etcd, err := binaries.Find("etcd")
	if err != nil {
		return err
	}
	place, err := etcd.Path()
	if err != nil {
		return err
	}
	m.programs = make(map[string]string)
	list := programs(m.versions)
	for i, p := range list {
		path := filepath.Join(filepath.Dir(place), p.name+"-"+p.version)
		m.programs[p.name], m.programs[p.name+"-"+p.version] = path, path
		if _, err := os.Stat(path); err == nil {
			continue
		}
		m.say("building %s %s, %d of %d; the first of a version takes minutes", p.name, p.version, i+1, len(list))
		start := time.Now()
		if err := m.compile(ctx, p, path); err != nil {
			return fmt.Errorf("cannot build %s %s: %w", p.name, p.version, err)
		}
		m.say("built in %s", time.Since(start).Round(time.Second))
	}
	return nil
}

// compile builds p and puts it in its place when it is whole.
func (m *maker) compile(ctx context.Context, p program, path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	flags := "-s -w"
	for _, set := range p.set {
		flags += " -X " + set
	}
	whole := filepath.Join(tmp, p.name)
	args := []string{"-trimpath", "-buildvcs=false", "-tags", p.tags, "-ldflags", flags}
	var c *exec.Cmd
	if p.wrapper == "" {
		c = m.command(ctx, tmp, "go", append(append([]string{"install"}, args...), p.pkg+"@"+p.version)...)
		c.Env = append(c.Env, "GOBIN="+tmp, "GOFLAGS=")
	} else {
		c = m.command(ctx, filepath.Join(m.root, p.wrapper), "go", append(append([]string{"build", "-mod=readonly"}, args...), "-o", whole, p.pkg)...)
	}
	c.Env = append(c.Env, "CGO_ENABLED=0")
	if err := c.Run(); err != nil {
		return err
	}
	return os.Rename(whole, path)
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

// Package binaries knows the servers and tools that tests run: which they are,
// how they are built from Go modules alone, and where the built ones lie.
//
// Each module has a wrapper, a module of its own in the folder of that name, so
// that its dependencies move none of Fairlead's; its go.mod names the package as
// a tool. What is built is kept by name and version in one folder for all
// checkouts: $FAIRLEAD_KUBE, or fairlead/kube in the user's cache directory.
//
//	make kube                                      # builds what is missing
//	go run ./test/lab/kube/binaries/build etcd         # only that
package binaries

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fairlead.dev/test/run/needs"
)

// A Binary is a program that tests run.
type Binary struct {
	Name    string   // of the file
	Module  string   // that it is part of
	Version string   // of the module; its wrapper requires the same one
	Package string   // its main package
	Wrapper string   // folder of the module that requires it, below this one; none: its own module says how it is built
	Tags    string   // for the compiler
	Set     []string // package variables that its linker sets: PATH.NAME=VALUE
	Asked   bool     // it is built only where somebody asks for it by name
}

// List returns all binaries.
func List() []Binary {
	const release = "../../../../tools/release" // what packs Fairlead, and tries the pack
	return []Binary{
		{Name: "etcd", Module: "go.etcd.io/etcd/server/v3", Version: "v3.7.3", Package: "go.etcd.io/etcd/server/v3", Wrapper: "etcd"},
		Kubernetes("kubernetes", "kube-apiserver", "v1.36.3"),
		older(Kubernetes("kubernetes-1.35", "kube-apiserver", "v1.35.4")),
		{
			Name: "helm", Module: "helm.sh/helm/v4", Version: "v4.3.1", Package: "helm.sh/helm/v4/cmd/helm", Wrapper: release,
			Set: []string{"helm.sh/helm/v4/internal/version.version=v4.3.1"},
		},
		{Name: "kubeconform", Module: "github.com/yannh/kubeconform", Version: "v0.8.0", Package: "github.com/yannh/kubeconform/cmd/kubeconform", Wrapper: release},
		{Name: "crane", Module: "github.com/google/go-containerregistry", Version: "v0.22.1", Package: "github.com/google/go-containerregistry/cmd/crane", Wrapper: release},
		{Name: "ko", Module: "github.com/google/ko", Version: "v0.19.1", Package: "github.com/google/ko", Wrapper: release},
		{Name: "registry", Module: "github.com/distribution/distribution/v3", Version: "v3.1.2", Package: "github.com/distribution/distribution/v3/cmd/registry", Asked: true},
		{
			Name: "kube-vip", Module: "github.com/kube-vip/kube-vip", Version: "v1.0.0", Package: "github.com/kube-vip/kube-vip", Wrapper: "kube-vip", Asked: true,
			Set: []string{"main.Version=v1.0.0"},
		},
		{Name: "sops", Module: "github.com/getsops/sops/v3", Version: "v3.12.2", Package: "github.com/getsops/sops/v3/cmd/sops", Asked: true},
		kubeadm("kubernetes-1.33", "v1.33.13", false),
		kubeadm("kubernetes-1.34", "v1.34.4", true),
		kubeadm("kubernetes-1.35", "v1.35.4", true),
		kubeadm("kubernetes", "v1.36.3", false),
	}
}

// Kubeadm returns the minor versions of Kubernetes that there is a kubeadm of,
// like "1.36": those that Fairlead is tried with, the oldest first.
func Kubeadm() []string {
	var out []string
	for _, b := range List() {
		if minor, ok := strings.CutPrefix(b.Name, "kubeadm-"); ok {
			out = append(out, minor)
		}
	}
	return out
}

// Kubernetes returns a program of a version of Kubernetes that has a wrapper,
// such as kubelet.
func Kubernetes(wrapper, name, version string) Binary {
	const set = "k8s.io/component-base/version."
	minor, _, _ := strings.Cut(strings.TrimPrefix(version, "v1."), ".")
	return Binary{
		Name: name, Module: "k8s.io/kubernetes", Version: version, Package: "k8s.io/kubernetes/cmd/" + name, Wrapper: wrapper,
		Set: []string{set + "gitVersion=" + version, set + "gitMajor=1", set + "gitMinor=" + minor},
	}
}

// kubeadm returns the kubeadm of a version of Kubernetes. Its name has the minor
// version: kubeadm-1.36.
func kubeadm(wrapper, version string, asked bool) Binary {
	b := older(Kubernetes(wrapper, "kubeadm", version))
	b.Asked = asked
	return b
}

// older returns b with the minor version in its name, as kube-apiserver-1.35, and asked for by it.
func older(b Binary) Binary {
	b.Name, b.Asked = b.Name+"-"+b.Version[1:strings.LastIndex(b.Version, ".")], true
	return b
}

// Find returns the binary of that name.
func Find(name string) (Binary, error) {
	all := List()
	if i := slices.IndexFunc(all, func(b Binary) bool { return b.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, b := range all {
		names[i] = b.Name
	}
	return Binary{}, fmt.Errorf("there is no binary %q; there are %s", name, strings.Join(names, ", "))
}

// Path returns the file of the binary of that name. One that is not built gives
// an error that says how to build it.
func Path(name string) (string, error) {
	b, err := Find(name)
	if err != nil {
		return "", err
	}
	path, err := b.Path()
	if err != nil {
		return "", err
	}
	if _, err := needs.Stat(path); err != nil {
		if b.Asked {
			return "", fmt.Errorf("%s %s is not built: run go run ./test/lab/kube/binaries/build %s", b.Name, b.Version, b.Name)
		}
		return "", fmt.Errorf("%s %s is not built: run make kube", b.Name, b.Version)
	}
	return path, nil
}

// Path returns where b lies once it is built.
func (b Binary) Path() (string, error) {
	dir := os.Getenv("FAIRLEAD_KUBE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for what is built: %w; set FAIRLEAD_KUBE to a folder", err)
		}
		dir = filepath.Join(cache, "fairlead", "kube")
	}
	return filepath.Join(dir, b.Name+"-"+b.Version), nil
}

package images

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Shell is the image of what a lab's own pods run: a busybox, a kubectl and a curl.
// It is what a small CNI from Git is made with, and workloads of tests.
const Shell = "lab.fairlead.dev/shell:1"

// KubeVIP is the image of kube-vip, whose program is all that is in it.
const KubeVIP = "ghcr.io/kube-vip/kube-vip:v1.0.0"

// An image is a container image of one layer, made of files alone.
type image struct {
	refs       []string          // names with a tag
	files      map[string]string // path in the image: file of the lab's host
	links      map[string]string // path in the image: what it points to
	entrypoint []string
}

// pauseImage returns the image of a pod's sandbox of the newest version.
func (m *maker) pauseImage(ctx context.Context) (string, error) {
	refs, err := m.kubeadmImages(ctx, m.versions[0])
	if err != nil {
		return "", err
	}
	return find(refs, "pause:")
}

// kubeadmImages returns the images that the kubeadm of a version wants.
func (m *maker) kubeadmImages(ctx context.Context, version string) ([]string, error) {
	out, err := m.output(ctx, "", m.programs["kubeadm-"+version], "config", "images", "list", "--kubernetes-version", version)
	if err != nil {
		return nil, fmt.Errorf("cannot ask kubeadm %s for its images: %w", version, err)
	}
	return strings.Fields(out), nil
}

// find returns the one of refs that has part in it.
func find(refs []string, part string) (string, error) {
	for _, ref := range refs {
		if strings.Contains(ref, "/"+part) {
			return ref, nil
		}
	}
	return "", fmt.Errorf("kubeadm names no image %s among %s", part, strings.Join(refs, ", "))
}

// contents returns all images of the lab. Those of etcd, CoreDNS and pause are
// the same programs under the name that each version asks for.
func (m *maker) contents(ctx context.Context, pause string) ([]image, error) {
	shared := map[string]*image{
		"etcd:":    {files: map[string]string{"usr/local/bin/etcd": m.programs["etcd"]}, entrypoint: []string{"/usr/local/bin/etcd"}},
		"coredns:": {files: map[string]string{"coredns": m.programs["coredns"]}, entrypoint: []string{"/coredns"}},
		"pause:":   {files: map[string]string{"pause": pause}, entrypoint: []string{"/pause"}},
	}
	kinds := []string{"etcd:", "coredns/coredns:", "pause:"}
	var out []image
	for _, v := range m.versions {
		refs, err := m.kubeadmImages(ctx, v)
		if err != nil {
			return nil, err
		}
		for _, kind := range kinds {
			ref, err := find(refs, kind)
			if err != nil {
				return nil, err
			}
			i := shared[kind[strings.LastIndex(kind, "/")+1:]]
			i.refs = append(i.refs, ref)
		}
		for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			bin := "/usr/local/bin/" + name
			out = append(out, image{
				refs:  []string{"registry.k8s.io/" + name + ":" + v},
				files: map[string]string{bin[1:]: m.programs[name+"-"+v]}, entrypoint: []string{bin},
			})
		}
		proxy, err := m.proxyImage(v)
		if err != nil {
			return nil, err
		}
		out = append(out, proxy)
	}
	for _, kind := range kinds {
		out = append(out, *shared[kind[strings.LastIndex(kind, "/")+1:]])
	}
	out = append(out, image{refs: []string{KubeVIP}, files: map[string]string{"kube-vip": m.programs["kube-vip"]}, entrypoint: []string{"/kube-vip"}})
	shell, err := m.shellImage()
	return append(out, shell), err
}

// shellImage is Shell: every command of it is the busybox, but kubectl, and curl,
// since a busybox that is linked statically cannot look up names and addresses.
func (m *maker) shellImage() (image, error) {
	i := image{
		refs: []string{Shell}, entrypoint: []string{"/bin/sh"}, links: map[string]string{"lib": "usr/lib", "lib64": "usr/lib64"},
		files: map[string]string{"bin/busybox": filepath.Join(m.rootfs, "bin/busybox"), "bin/kubectl": m.programs["kubectl-"+m.versions[0]]},
	}
	for _, name := range strings.Fields("sh cat cp mv rm ls mkdir sleep ip echo date grep sed awk cut tr sort head tail test timeout true false httpd hostname env ps") {
		i.links["bin/"+name] = "busybox"
	}
	return i, m.addDynamic(&i, "usr/bin/curl")
}

// proxyImage is kube-proxy with the tools that it calls, which are Debian's, and
// the libraries of these.
func (m *maker) proxyImage(version string) (image, error) {
	i := image{
		refs: []string{"registry.k8s.io/kube-proxy:" + version}, entrypoint: []string{"/usr/local/bin/kube-proxy"},
		files: map[string]string{"usr/local/bin/kube-proxy": m.programs["kube-proxy-"+version]},
		links: map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"},
	}
	for _, name := range []string{"usr/sbin/nft", "usr/sbin/xtables-nft-multi", "usr/sbin/conntrack", "usr/bin/kmod"} {
		if err := m.addDynamic(&i, name); err != nil {
			return image{}, err
		}
	}
	modules, err := filepath.Glob(filepath.Join(m.rootfs, "usr/lib/x86_64-linux-gnu/xtables/*.so"))
	if err != nil {
		return image{}, err
	}
	for _, path := range modules {
		if err := m.addDynamic(&i, strings.TrimPrefix(path, m.rootfs+"/")); err != nil {
			return image{}, err
		}
	}
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"} {
		i.links["usr/sbin/"+name] = "xtables-nft-multi"
	}
	return i, nil
}

// addDynamic adds a program or library of the root filesystem to i, its loader
// and all libraries that it needs.
func (m *maker) addDynamic(i *image, name string) error {
	if _, ok := i.files[name]; ok {
		return nil
	}
	path := filepath.Join(m.rootfs, name)
	if target, err := os.Readlink(path); err == nil && filepath.IsAbs(target) {
		path = filepath.Join(m.rootfs, target) // seen from within
	}
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	i.files[name] = path
	libs, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, lib := range libs {
		place := "usr/lib/x86_64-linux-gnu/" + lib
		if strings.HasPrefix(lib, "ld-linux") {
			place = "usr/lib64/" + lib
		}
		if _, err := os.Lstat(filepath.Join(m.rootfs, place)); err != nil {
			return fmt.Errorf("%s needs %s: %w", name, lib, err)
		}
		if err := m.addDynamic(i, place); err != nil {
			return err
		}
	}
	if loader := "usr/lib64/ld-linux-x86-64.so.2"; len(libs) > 0 {
		return m.addDynamic(i, loader)
	}
	return nil
}

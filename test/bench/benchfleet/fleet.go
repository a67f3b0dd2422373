package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// A shape is one kind of cluster of a fleet: machines without simulated delay.
type shape struct {
	controlPlanes int
	workers       int
	version       string
	deleted       bool
}

const base = `apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata:
  name: machine
spec:
  template:
    spec:
      backend:
        inMemory:
          vm:
            provisioning: {startupDuration: "0s"}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevCluster
metadata:
  name: cluster
spec:
  backend:
    inMemory: {}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata:
  name: worker
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration:
          criSocket: unix:///var/run/containerd/containerd.sock
`

const baseKustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [base.yaml]
`

// overlay returns the files of the cluster called name, below its folder.
func overlay(name string, s shape) map[string]string {
	annotations := ""
	if s.deleted {
		annotations = "\n  annotations: {fairlead.dev/delete: \"true\"}"
	}
	cluster := fmt.Sprintf(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: %[1]s%[2]s
spec:
  clusterNetwork:
    pods: {cidrBlocks: [192.168.0.0/16]}
    services: {cidrBlocks: [10.96.0.0/12]}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: %[1]s-cp}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: cluster}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata:
  name: %[1]s-cp
spec:
  replicas: %[3]d
  version: %[5]s
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: machine}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: %[1]s-md
spec:
  clusterName: %[1]s
  replicas: %[4]d
  template:
    spec:
      clusterName: %[1]s
      version: %[5]s
      bootstrap:
        configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: worker}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: machine}
`, name, annotations, s.controlPlanes, s.workers, s.version)
	return map[string]string{
		"kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../../base, cluster.yaml]\n",
		"cluster.yaml":       cluster,
	}
}

// name returns the name of cluster i.
func name(i int) string { return fmt.Sprintf("c%04d", i) }

// repository is a bare Git repository that is written to with git fast-import.
type repository struct{ dir string }

// commit puts the overlays of clusters [from, to) on the branch main. The first
// commit brings the base too.
func (r repository) commit(message string, s shape, from, to int, first bool) error {
	files := overlays(s, from, to)
	if first {
		files["base/kustomization.yaml"], files["base/base.yaml"] = baseKustomization, base
	}
	return r.write(message, files, first)
}

// overlays returns the files of clusters [from, to).
func overlays(s shape, from, to int) map[string]string {
	files := make(map[string]string)
	for i := from; i < to; i++ {
		for path, content := range overlay(name(i), s) {
			files["clusters/"+name(i)+"/"+path] = content
		}
	}
	return files
}

// write puts files on the branch main, which the first commit makes.
func (r repository) write(message string, files map[string]string, first bool) error {
	return r.push("main", message, files, first)
}

// push puts files onto main, as another branch or as main.
func (r repository) push(branch, message string, files map[string]string, first bool) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter Bench <bench@example.org> now\ndata %d\n%s\n", branch, len(message), message)
	if !first {
		b.WriteString("from refs/heads/main^0\n")
	}
	for path, content := range files {
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	cmd := exec.Command("git", "-C", r.dir, "fast-import", "--quiet", "--date-format=now")
	cmd.Stdin = &b
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot commit %q: %w: %s", message, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// git returns what a command of Git prints about the repository.
func (r repository) git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", r.dir}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

// until asks done again until it is so.
func (r repository) until(ctx context.Context, done func() bool) error {
	for !done() {
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// size returns that of what is stored, in MB.
func (r repository) size(ctx context.Context) (float64, error) {
	text, err := r.git(ctx, "count-objects", "-v")
	if err != nil {
		return 0, err
	}
	var kib float64
	for line := range strings.Lines(text) {
		var n float64
		if _, err := fmt.Sscanf(line, "size-pack: %f", &n); err == nil {
			kib = n
		}
	}
	return kib * 1024 / 1e6, nil
}

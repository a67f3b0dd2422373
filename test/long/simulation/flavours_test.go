package simulation

import "strings"

// A flavour is what people write where a cluster is of one distribution and not another.
type flavour struct {
	name                string
	build               string // of versions
	hosted              bool   // its control plane is no machine
	cluster, pool, lone string // manifests
}

func kubeadmFlavour() flavour {
	return flavour{name: "kubeadm", cluster: clusterManifest, pool: poolManifest, lone: loneManifest}
}

// others are those beside kubeadm.
func otherFlavours() []flavour {
	return []flavour{
		rancher("k3s", "+k3s1", "KThrees", `
  machineTemplate: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DevMachineTemplate, name: %[1]s-m}}
  kthreesConfigSpec: {preK3sCommands: ["echo template %[6]d"]}
`, "preK3sCommands"),
		rancher("rke2", "+rke2r1", "RKE2", `
  rolloutStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: %[4]d}}
  machineTemplate: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachineTemplate, name: %[1]s-m}}}
  registrationMethod: control-plane-endpoint
  serverConfig: {disableComponents: {kubernetesComponents: [cloudController]}}
  preRKE2Commands: ["echo template %[6]d"]
`, "preRKE2Commands"),
	}
}

// rancher returns the flavour whose kinds begin with a name: what its control plane says
// beside replicas and version, and where it has commands.
func rancher(name, build, kinds, plane, commands string) flavour {
	from, _, _ := strings.Cut(clusterManifest, "kind: KubeadmControlPlane\nmetadata")
	_, to, _ := strings.Cut(clusterManifest, "preKubeadmCommands: [\"echo template %[6]d\"]\n")
	both := strings.NewReplacer("KubeadmControlPlane", kinds+"ControlPlane", "KubeadmConfig", kinds+"Config",
		"joinConfiguration: %[9]s, preKubeadmCommands", commands, "joinConfiguration: %[5]s, preKubeadmCommands", commands)
	return flavour{
		name: name, build: build,
		cluster: both.Replace(from) + "kind: " + kinds + `ControlPlane
metadata: {name: %[1]s-cp, namespace: %[2]s}
spec:
  replicas: %[3]s
  version: %[5]s` + plane + to,
		pool: both.Replace(poolManifest), lone: both.Replace(loneManifest),
	}
}

// flavour returns that of the cluster with a number.
func (l *life) flavour(i int) flavour {
	switch {
	case l.hosted:
		return hostedFlavour(l.keepPlane(i).Endpoint)
	case l.reboots:
		return rebootFlavour()
	case !l.others:
		return kubeadmFlavour()
	}
	all := otherFlavours()
	return all[(int(l.seed)+i)%len(all)]
}

// of returns w as a cluster of f. Classes and other names of Nodes are kubeadm's alone, and
// a class makes no hosted control plane.
func (w wish) of(f flavour) wish {
	w.flavour = f
	if f.build != "" {
		w.classy, w.renamed = false, false
	}
	if f.hosted {
		w.classy, w.controlPlanes = false, 0
	}
	return w
}

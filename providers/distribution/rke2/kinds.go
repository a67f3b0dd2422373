package rke2

import (
	"maps"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/rancher"
	"fairlead.dev/providers/kinds"
)

const (
	name              = "rke2"
	controlPlaneKind  = "RKE2ControlPlane"
	configKind        = "RKE2Config"
	bootstrapGroup    = "bootstrap.cluster.x-k8s.io"
	controlPlaneGroup = "controlplane.cluster.x-k8s.io"
	joinPort          = 9345
)

// Kinds returns the kinds of Cluster API's provider for RKE2.
func Kinds() []fleet.Kind {
	const newest, older = "v1beta2", "v1beta1"
	plane := kind(fleet.Kind{
		Role: fleet.ControlPlaneKind, Group: controlPlaneGroup, Kind: controlPlaneKind, Rotations: []fleet.Rotation{fleet.RotateCertificates},
		Unused: rancher.Machines("spec.machineTemplate.", "infrastructureRef", "spec.infrastructureRef"),
		Renamed: map[string]map[string]string{
			"v1beta2": {"spec.rollout.strategy": "spec.rolloutStrategy"},
			"v1beta1": {"spec.machineTemplate.spec": "spec.machineTemplate", "spec.rollout.strategy": "spec.rolloutStrategy"},
		},
	}, "spec.", kinds.Objects(normaliseControlPlane, newest), kinds.Objects(normaliseOldControlPlane, older))
	servers(&plane, "spec.")
	template := kind(fleet.Kind{
		Role: fleet.ControlPlaneTemplateKind, Group: controlPlaneGroup, Kind: controlPlaneKind + "Template",
		Unused: rancher.Machines("spec.template.spec.machineTemplate.", "infrastructureRef", ""),
	}, "spec.template.spec.", kinds.Templates[templateSpec](nil, newest))
	servers(&template, "spec.template.spec.")
	return []fleet.Kind{
		plane, template,
		kind(fleet.Kind{Role: fleet.BootstrapConfigKind, Group: bootstrapGroup, Kind: configKind},
			"spec.", kinds.Objects(normaliseConfig, newest, older)),
		kind(fleet.Kind{Role: fleet.BootstrapConfigTemplateKind, Group: bootstrapGroup, Kind: configKind + "Template"},
			"spec.template.spec.", kinds.BareTemplates(normaliseConfig, newest, older)),
	}
}

// kind completes k, whose configuration of machines is at prefix.
func kind(k fleet.Kind, prefix string, versions ...kinds.Version) fleet.Kind {
	const asFile = "put the content into files, and name the path"
	k.Distribution, k.NonNegative = name, true
	k.Refused = map[string]string{
		prefix + "privateRegistriesConfig":                      "put it into files as /etc/rancher/rke2/registries.yaml",
		prefix + "agentConfig.dataDir":                          "CA certificates are where RKE2 looks for them by default",
		prefix + "agentConfig.nodeAnnotations":                  "put them on the machines: machineTemplate.metadata, or the template of the MachineDeployment",
		prefix + "agentConfig.nodeName":                         "Nodes are called as their machines",
		prefix + "agentConfig.cisProfile":                       "prepare the image for it, and write profile into files as /etc/rancher/rke2/config.yaml.d/50-cis.yaml",
		prefix + "agentConfig.imageCredentialProviderConfigMap": asFile + " in files as /etc/rancher/rke2/config.yaml.d/50-credentials.yaml",
		prefix + "agentConfig.resolvConf":                       asFile + " with the argument resolv-conf in kubelet.extraArgs",
		prefix + "agentConfig.additionalUserData":               "use files and commands",
		prefix + "agentConfig.kubelet.extraEnv":                 "RKE2 gives kubelets no environment",
		prefix + "agentConfig.kubelet.extraMounts":              "a kubelet is no pod",
		prefix + "agentConfig.kubelet.overrideImage":            "a kubelet is no pod; use kubeletPath",
		prefix + "files.contentFrom.configMap":                  "use a Secret",
	}
	k.Limited = map[string]string{
		prefix + "files.contentFrom.secret": "a Secret in the same overlay",
		prefix + "agentConfig.airGapped":    "the image has RKE2 in /opt/rke2-artifacts and the script that installs it as /opt/install.sh",
		prefix + "agentConfig.format":       "cloud-config",
	}
	if k.Unused == nil {
		k.Unused = make(map[string]string)
	}
	k.Unused[prefix+"gzipUserData"] = "providers compress user data where they have to"
	k.Values = map[string][]string{
		prefix + "files.encoding":     {"base64", "gzip", "gzip+base64"},
		prefix + "agentConfig.format": {"cloud-config"},
	}
	return kinds.Of(k, versions...)
}

// servers adds to k the fields of servers at prefix.
func servers(k *fleet.Kind, prefix string) {
	const address = "servers come and go: use control-plane-endpoint, or address with one that leads to all of them"
	maps.Copy(k.Refused, map[string]string{
		prefix + "manifestsConfigMapReference":             "use a ClusterResourceSet, or files in /var/lib/rancher/rke2/server/manifests",
		prefix + "serverConfig.auditPolicySecret":          "put it into files, and name the path with kubeAPIServer.extraArgs",
		prefix + "serverConfig.secretsEncryption":          "put it into files, and name the path with kubeAPIServer.extraArgs",
		prefix + "serverConfig.cloudProviderConfigMap":     "put it into files, and name the path in what reads it",
		prefix + "serverConfig.externalDatastoreSecret":    "servers have their data in etcd of their own",
		prefix + "serverConfig.etcd.backupConfig.s3":       "put it into files as /etc/rancher/rke2/config.yaml.d/50-s3.yaml",
		prefix + "serverConfig.cloudControllerManager":     "RKE2's own is on or off: disableComponents.kubernetesComponents",
		prefix + "serverConfig.etcd.customConfig.extraEnv": "RKE2 runs it without",
	})
	k.Limited[prefix+"registrationMethod"] = address
	maps.Copy(k.Values, map[string][]string{
		prefix + "registrationMethod":                                  {"", "control-plane-endpoint", "address"},
		prefix + "rolloutStrategy.type":                                {"", "RollingUpdate"},
		prefix + "serverConfig.cni":                                    {"", "none", "calico", "canal", "cilium"},
		prefix + "serverConfig.ingressController":                      {"none", "traefik", "ingress-nginx"},
		prefix + "serverConfig.disableComponents.kubernetesComponents": {"scheduler", "kubeProxy", "cloudController"},
		prefix + "serverConfig.disableComponents.pluginComponents": {
			"rke2-coredns", "rke2-ingress-nginx", "rke2-metrics-server", "rke2-snapshot-controller", "rke2-snapshot-controller-crd",
			"rke2-snapshot-validation-webhook", "rke2-traefik", "rke2-traefik-crd",
		},
	})
}

// Package all lists what Fairlead is built with: infrastructure providers, distributions and
// Helm.
package all

import (
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/k3s"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/distribution/managed"
	"fairlead.dev/providers/distribution/managed/eks"
	"fairlead.dev/providers/distribution/rke2"
	"fairlead.dev/providers/hosted/external"
	"fairlead.dev/providers/infrastructure/aws"
	"fairlead.dev/providers/infrastructure/azure"
	"fairlead.dev/providers/infrastructure/docker"
	"fairlead.dev/providers/infrastructure/hosts"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/infrastructure/maas"
	"fairlead.dev/providers/infrastructure/metal3"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/infrastructure/vsphere"
	"fairlead.dev/providers/workload"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/providers/workload/helm/sdk"
)

// Factories returns the factory of each provider.
func Factories() []providers.Factory {
	return []providers.Factory{
		aws.Factory(eks.NodegroupUserData),
		azure.Factory(),
		docker.Factory(),
		hosts.Factory(),
		inmemory.Factory(),
		maas.Factory(),
		metal3.Factory(),
		openstack.Factory(),
		vsphere.Factory(),
	}
}

// Registry returns the registry of all of them.
func Registry() (*providers.Registry, error) {
	r, err := providers.NewRegistry(Factories()...)
	if err != nil {
		return nil, err
	}
	return r.WithKinds(Kinds()...), nil
}

// Distributions returns the distributions, which reach clusters through c; nil is good
// for what is pure.
func Distributions(c *workload.Client) providers.Distributions {
	return providers.Distributions{
		"KubeadmControlPlane": kubeadm.New(c), k3s.ControlPlane: k3s.New(c), rke2.ControlPlane: rke2.New(c),
		external.Kind:             kubeadm.NewHosted(c),
		aws.ManagedControlPlane:   eks.New(c),
		azure.ManagedControlPlane: managed.New(c, "AKS", "AzureManagedMachinePool"),
	}
}

// ControlPlanes returns what sees to hosted control planes.
func ControlPlanes(o providers.Options) providers.HostedControlPlanes {
	return providers.HostedControlPlanes{external.Kind: external.New(o.Secret), aws.ManagedControlPlane: aws.OpenControlPlane(o), azure.ManagedControlPlane: azure.OpenControlPlane(o)}
}

// Kinds returns the kinds of the distributions, but for kubeadm's, which are Cluster API's
// own.
func Kinds() []fleet.Kind {
	return slices.Concat(k3s.Kinds(), rke2.Kinds(), external.Kinds(), aws.ControlPlaneKinds(), eks.Kinds(), azure.ControlPlaneKinds())
}

// Helm returns what installs charts.
func Helm() helm.Engine { return sdk.New() }

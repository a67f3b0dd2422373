// Package all lists what Fairlead is built with: infrastructure providers, distributions and
// Helm.
package all

import (
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/helm"
	"fairlead.dev/providers/helm/sdk"
	"fairlead.dev/providers/infrastructure/hosts"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/infrastructure/openstack"
	"fairlead.dev/providers/workload"
)

// Factories returns the factory of each provider.
func Factories() []providers.Factory {
	return []providers.Factory{
		hosts.Factory(),
		inmemory.Factory(),
		openstack.Factory(),
	}
}

// Registry returns the registry of all of them.
func Registry() (*providers.Registry, error) { return providers.NewRegistry(Factories()...) }

// Distributions returns the distributions, which reach clusters through c; nil is good
// for what is pure.
func Distributions(c *workload.Client) providers.Distributions {
	return providers.Distributions{"KubeadmControlPlane": kubeadm.New(c)}
}

// Helm returns what installs charts.
func Helm() helm.Engine { return sdk.New() }

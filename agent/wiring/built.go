package wiring

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
	"fairlead.dev/providers/workload/helm"
	"fairlead.dev/render/decode"
)

// Built is what a program was built with: what it makes clusters on, and of which kinds
// their control planes are.
type Built struct {
	Providers []providers.Factory
	// Distributions returns those that reach clusters through c; nil is good for what is
	// pure.
	Distributions func(c *workload.Client) providers.Distributions
	// Kinds are those of the distributions, but for kubeadm's.
	Kinds []fleet.Kind
	// ControlPlanes returns the hosted ones.
	ControlPlanes func(o providers.Options) providers.HostedControlPlanes
	// Helm returns what installs charts; nil: nothing does.
	Helm func() helm.Engine
}

// Charts returns what installs charts; nil: nothing does.
func (b Built) Charts() helm.Engine {
	if b.Helm == nil {
		return nil
	}
	return b.Helm()
}

// Registry returns the registry of b's providers. Two of one name are an error.
func (b Built) Registry() (*providers.Registry, error) {
	r, err := providers.NewRegistry(b.Providers...)
	if err != nil {
		return nil, err
	}
	return r.WithKinds(b.Kinds...), nil
}

// distributions returns those of b; none where it has none.
func (b Built) distributions(c *workload.Client) providers.Distributions {
	if b.Distributions == nil {
		return nil
	}
	return b.Distributions(c)
}

// limits returns those of b's providers.
func (b Built) limits() providers.Limits {
	out := make(providers.Limits)
	for _, f := range b.Providers {
		out[f.Name] = providers.Limit{UserData: f.Limit, VirtualIP: f.VirtualIP}
	}
	return out
}

// draft returns what makes user data of machines that do not exist. A cluster whose kind of
// control plane is not built in is not judged.
func (b Built) draft() decode.Draft {
	distributions, drafter := b.distributions(nil), providers.NewDrafter(b.limits())
	return func(c *fleet.Cluster, p fleet.Pool, join fleet.Join) error {
		d, err := distributions.Of(c)
		if err != nil {
			return nil // who looks at the cluster says so
		}
		return drafter.Draft(d, c, p, join)
	}
}

package wiring

import (
	"fairlead.dev/providers"
	"fairlead.dev/providers/helm"
	"fairlead.dev/providers/workload"
)

// Built is what a program was built with: what it makes clusters on, and of which kinds
// their control planes are.
type Built struct {
	Providers []providers.Factory
	// Distributions returns those that reach clusters through c; nil is good for what is
	// pure.
	Distributions func(c *workload.Client) providers.Distributions
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
	return providers.NewRegistry(b.Providers...)
}

// distributions returns those of b; none where it has none.
func (b Built) distributions(c *workload.Client) providers.Distributions {
	if b.Distributions == nil {
		return nil
	}
	return b.Distributions(c)
}

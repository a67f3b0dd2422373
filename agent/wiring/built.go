package wiring

import (
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

// Built is what a program was built with: what it makes clusters on, and of which kinds
// their control planes are.
type Built struct {
	Providers []providers.Factory
	// Distributions returns those that reach clusters through c; nil is good for what is
	// pure.
	Distributions func(c *workload.Client) providers.Distributions
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

// Package all lists the infrastructure providers that Fairlead is built with.
package all

import (
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/hosts"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/infrastructure/openstack"
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

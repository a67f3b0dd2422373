package providers

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/endpoint"
)

// A Factory creates one kind of Infrastructure.
type Factory struct {
	Name     string
	Kinds    []fleet.Kind
	Settings []Setting
	New      func(ctx context.Context, o Options) (Infrastructure, error)
	// Limit refuses user data with which no machine can boot, as CreateMachine does. Nil: a limit is
	// not known without a request to the infrastructure.
	Limit func(u UserData) error
	// VirtualIP returns what VirtualIPs returns, from the manifests alone. Nil: no cluster has a
	// virtual address.
	VirtualIP func(c *fleet.Cluster) (*endpoint.VirtualIP, error)
}

// Options are the options of every provider.
type Options struct {
	Log *slog.Logger
	// Settings are the values of the factory's settings, by name. Missing and empty ones have
	// their defaults.
	Settings map[string]string
	// Secret returns a Secret that is not in Git from the agent's secret store. If it does not
	// exist, the error has the kind NotFound.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
	// Requested is called for each request to the provider's cloud, from any goroutine; nil:
	// it is not called.
	Requested func(r Request)
	// Opened returns the provider with that name as its factory opened it, for a hosted control plane on its cloud: both
	// share its connections, budgets and memory. Nil: the control plane opens one of its own with these options.
	Opened func(name string) (Infrastructure, error)
}

// A Request is one request that a provider sent to its cloud.
type Request struct {
	Service string // of the cloud, in its own words: "compute"
	Method  string // of HTTP
	Status  int    // of HTTP; 0 where there was no answer
	Took    time.Duration
}

// A Registry has the factories of a program, and the kinds of its distributions.
type Registry struct {
	factories map[string]Factory
	kinds     []fleet.Kind
}

// NewRegistry returns a registry of fs. A repeated name is an error.
func NewRegistry(fs ...Factory) (*Registry, error) {
	r := &Registry{factories: make(map[string]Factory, len(fs))}
	for _, f := range fs {
		if _, ok := r.factories[f.Name]; ok {
			return nil, fmt.Errorf("two infrastructure providers are named %q", f.Name)
		}
		r.factories[f.Name] = f
	}
	return r, nil
}

// Open creates the provider with that name.
func (r *Registry) Open(ctx context.Context, name string, o Options) (Infrastructure, error) {
	f, ok := r.factories[name]
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, "open infrastructure provider",
			"%q is not built in; there are %q", name, r.Names())
	}
	for key := range o.Settings {
		if !slices.ContainsFunc(f.Settings, func(s Setting) bool { return s.Name == key }) {
			return nil, fleet.Errorf(fleet.Invalid, "open infrastructure provider "+name, "it has no setting %q", key)
		}
	}
	return f.New(ctx, o)
}

// Names returns the names of the providers, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.factories)) }

// WithKinds returns r with the kinds of distributions, too.
func (r *Registry) WithKinds(kinds ...fleet.Kind) *Registry {
	return &Registry{factories: r.factories, kinds: append(slices.Clone(r.kinds), kinds...)}
}

// Kinds returns the kinds of all providers, by provider name, then those of distributions.
func (r *Registry) Kinds() []fleet.Kind {
	var out []fleet.Kind
	for _, name := range r.Names() {
		out = append(out, r.factories[name].Kinds...)
	}
	return append(out, r.kinds...)
}

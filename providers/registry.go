package providers

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// A Factory makes one kind of Infrastructure.
type Factory struct {
	Name     string
	Kinds    []fleet.Kind
	Settings []Setting
	New      func(ctx context.Context, o Options) (Infrastructure, error)
	// Limit refuses user data with which no machine can boot, as CreateMachine does. Nil: none is
	// known without asking the infrastructure.
	Limit func(u UserData) error
}

// A Setting is what people may choose of a provider: flag "--<provider>-<name>",
// or environment FAIRLEAD_<PROVIDER>_<NAME>.
type Setting struct{ Name, Usage string }

// Options are what every provider is made with.
type Options struct {
	Log *slog.Logger
	// Settings are values of those of the factory, by name; those that are not there,
	// or empty, have their defaults.
	Settings map[string]string
	// Secret returns a Secret that Git does not hold, from where the agent keeps
	// secrets. One that is not there gives the kind NotFound.
	Secret func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
	// Requested is told of each request to the provider's cloud, from any
	// goroutine; nil: nobody is.
	Requested func(r Request)
}

// A Request is one request that a provider sent to its cloud.
type Request struct {
	Service string // of the cloud, in its own words: "compute"
	Method  string // of HTTP
	Status  int    // of HTTP; 0 where there was no answer
	Took    time.Duration
}

// A Registry holds the factories that a program was built with, and the kinds of its
// distributions.
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

// Open makes the provider called name.
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

package azure

import (
	"context"

	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/infrastructure/azure/api"
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	return providers.Factory{
		Name: api.ProviderName, Kinds: api.Kinds(), New: open, Limit: limitUserData,
		Settings: providers.SettingsOf(Options{Tick: DefaultTick, Settle: DefaultSettle}),
	}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	p, err := fromOptions(o)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// fromOptions returns a provider with the settings of people.
func fromOptions(o providers.Options) (*Provider, error) {
	own := Options{Secret: o.Secret, Log: o.Log}
	if o.Requested != nil {
		own.ARM.Sent = func(c transport.Call) {
			o.Requested(providers.Request{Service: c.URL.Host, Method: c.Method, Status: c.Status, Took: c.Took})
		}
	}
	if err := o.ReadSettings(api.ProviderName, &own, "cannot be (durations are above zero, managed-identity is true or false)"); err != nil {
		return nil, err
	}
	return New(own), nil
}

package maas

import (
	"context"

	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/infrastructure/maas/api"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	defaults := Options{Region: region.Options{Rate: DefaultRate}, Tick: DefaultTick, Settle: DefaultSettle, Relist: DefaultRelist}
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open, Limit: limitUserData, Settings: providers.SettingsOf(defaults)}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	own := Options{Secret: o.Secret, Log: o.Log}
	if o.Requested != nil {
		own.Region.Sent = func(c transport.Call) {
			o.Requested(providers.Request{Service: "maas", Method: c.Method, Status: c.Status, Took: c.Took})
		}
	}
	if err := o.ReadSettings(api.ProviderName, &own, "cannot be (rates and durations are above zero)"); err != nil {
		return nil, err
	}
	return New(own), nil
}

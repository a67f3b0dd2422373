package openstack

import (
	"context"

	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	defaults := Options{Cloud: cloud.Options{Tick: cloud.DefaultTick, Rate: cloud.DefaultRate}, Settle: DefaultSettle}
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open, Limit: machine.LimitUserData, Settings: providers.SettingsOf(defaults)}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	own := Options{Cloud: cloud.Options{Log: o.Log}, Secret: o.Secret}
	if o.Requested != nil {
		own.Cloud.Observe = func(c openstackauth.Call) {
			o.Requested(providers.Request{Service: c.Service, Method: c.Method, Status: c.Status, Took: c.Took})
		}
	}
	if err := o.ReadSettings(api.ProviderName, &own, "is not above zero"); err != nil {
		return nil, err
	}
	return New(own), nil
}

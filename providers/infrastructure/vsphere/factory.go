package vsphere

import (
	"context"

	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	defaults := Options{VCenter: vcenter.Options{Tick: vcenter.DefaultTick, Rate: vcenter.DefaultRate}, Settle: DefaultSettle}
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open, Limit: machine.LimitUserData, VirtualIP: virtualIP, Settings: providers.SettingsOf(defaults)}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	own := Options{VCenter: vcenter.Options{Log: o.Log}, Secret: o.Secret, Log: o.Log}
	if o.Requested != nil {
		own.VCenter.Observe = func(c vcenter.Call) {
			o.Requested(providers.Request{Service: c.Service, Method: c.Method, Status: c.Status, Took: c.Took})
		}
	}
	if err := o.ReadSettings(api.ProviderName, &own, "cannot be (rates and durations are above zero, insecure is true or false)"); err != nil {
		return nil, err
	}
	return New(own), nil
}

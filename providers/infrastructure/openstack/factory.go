package openstack

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
)

// The settings of the provider.
const (
	SettingTick   = "tick"   // a duration
	SettingRate   = "rate"   // requests per second
	SettingSettle = "settle" // a duration
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open, Limit: machine.LimitUserData, Settings: []providers.Setting{
		{Name: SettingTick, Usage: fmt.Sprintf("maximum age of cached data of an OpenStack project, as a `duration`; clusters of that project share the cache (default %s)", cloud.DefaultTick)},
		{Name: SettingRate, Usage: fmt.Sprintf("requests per second to an OpenStack project (default %d)", cloud.DefaultRate)},
		{Name: SettingSettle, Usage: fmt.Sprintf("maximum `duration` until a change is visible in OpenStack (default %s)", DefaultSettle)},
	}}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	const op = "open infrastructure provider " + api.ProviderName
	out := Options{Cloud: cloud.Options{Log: o.Log}, Secret: o.Secret}
	if o.Requested != nil {
		out.Cloud.Observe = func(c openstackauth.Call) {
			o.Requested(providers.Request{Service: c.Service, Method: c.Method, Status: c.Status, Took: c.Took})
		}
	}
	duration := func(to *time.Duration) func(string) bool {
		return func(text string) bool {
			d, err := time.ParseDuration(text)
			*to = d
			return err == nil && d > 0
		}
	}
	settings := map[string]func(string) bool{
		SettingTick:   duration(&out.Cloud.Tick),
		SettingSettle: duration(&out.Settle),
		SettingRate: func(text string) bool {
			r, err := strconv.ParseFloat(text, 64)
			out.Cloud.Rate = r
			return err == nil && r > 0
		},
	}
	for name, text := range o.Settings {
		if text != "" && !settings[name](text) {
			return nil, fleet.Errorf(fleet.Invalid, op, "setting %s: %q is not above zero", name, text)
		}
	}
	return New(out), nil
}

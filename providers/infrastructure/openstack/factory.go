package openstack

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// The settings of the provider.
const (
	SettingTick   = "tick"   // how old a look at a project may be, a duration; default 10s
	SettingRate   = "rate"   // requests per second and project; default 20
	SettingSettle = "settle" // how long a cloud may take to show a change, a duration; default 75s
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	const op = "open infrastructure provider " + api.ProviderName
	out := Options{Cloud: cloud.Options{Log: o.Log}, Secret: o.Secret}
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
		set, ok := settings[name]
		if !ok {
			return nil, fleet.Errorf(fleet.Invalid, op, "there is no setting %q; there are %q", name, slices.Sorted(maps.Keys(settings)))
		}
		if text != "" && !set(text) {
			return nil, fleet.Errorf(fleet.Invalid, op, "setting %s: %q is not above zero", name, text)
		}
	}
	return New(out), nil
}

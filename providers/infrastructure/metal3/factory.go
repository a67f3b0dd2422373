package metal3

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

// The settings of the provider.
const (
	SettingTick   = "tick"   // a duration
	SettingRate   = "rate"   // requests per second
	SettingSettle = "settle" // a duration
	SettingRetry  = "retry"  // a duration
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open, Limit: limitUserData, Settings: []providers.Setting{
		{Name: SettingTick, Usage: fmt.Sprintf("maximum age of cached Ironic data, as a `duration`; clusters of that Ironic share the cache (default %s)", DefaultTick)},
		{Name: SettingRate, Usage: fmt.Sprintf("requests per second to an Ironic (default %d)", DefaultRate)},
		{Name: SettingSettle, Usage: fmt.Sprintf("maximum `duration` until a change is visible in Ironic (default %s)", DefaultSettle)},
		{Name: SettingRetry, Usage: fmt.Sprintf("`duration` before a failed step of a host is repeated (default %s)", DefaultRetry)},
	}}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	const op = "open infrastructure provider " + api.ProviderName
	out := Options{Secret: o.Secret, Log: o.Log}
	if o.Requested != nil {
		out.Ironic.Sent = func(c transport.Call) {
			o.Requested(providers.Request{Service: "baremetal", Method: c.Method, Status: c.Status, Took: c.Took})
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
		SettingTick:   duration(&out.Tick),
		SettingSettle: duration(&out.Settle),
		SettingRetry:  duration(&out.Retry),
		SettingRate: func(text string) bool {
			r, err := strconv.ParseFloat(text, 64)
			out.Ironic.Rate = r
			return err == nil && r > 0
		},
	}
	for name, text := range o.Settings {
		if text != "" && !settings[name](text) {
			return nil, fleet.Errorf(fleet.Invalid, op, "setting %s: %q cannot be (rates and durations are above zero)", name, text)
		}
	}
	return New(out), nil
}

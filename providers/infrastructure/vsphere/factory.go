package vsphere

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/vsphere/api"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// The settings of the provider.
const (
	SettingTick     = "tick"     // a duration
	SettingRate     = "rate"     // requests per second
	SettingSettle   = "settle"   // a duration
	SettingInsecure = "insecure" // true or false
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open, Limit: machine.LimitUserData, Settings: []providers.Setting{
		{Name: SettingTick, Usage: fmt.Sprintf("maximum age of cached vCenter data, as a `duration`; clusters of that vCenter share the cache (default %s)", vcenter.DefaultTick)},
		{Name: SettingRate, Usage: fmt.Sprintf("requests per second to a vCenter (default %d)", vcenter.DefaultRate)},
		{Name: SettingSettle, Usage: fmt.Sprintf("maximum `duration` until a change is visible in vCenter (default %s)", DefaultSettle)},
		{Name: SettingInsecure, Usage: "accept any certificate of a vCenter whose thumbprint is not in Git, as Cluster API does: true or false (default false)"},
	}}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	const op = "open infrastructure provider " + api.ProviderName
	out := Options{VCenter: vcenter.Options{Log: o.Log}, Secret: o.Secret, Log: o.Log}
	if o.Requested != nil {
		out.VCenter.Observe = func(c vcenter.Call) {
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
		SettingTick:   duration(&out.VCenter.Tick),
		SettingSettle: duration(&out.Settle),
		SettingRate: func(text string) bool {
			r, err := strconv.ParseFloat(text, 64)
			out.VCenter.Rate = r
			return err == nil && r > 0
		},
		SettingInsecure: func(text string) bool {
			b, err := strconv.ParseBool(text)
			out.Insecure = b
			return err == nil
		},
	}
	for name, text := range o.Settings {
		if text != "" && !settings[name](text) {
			return nil, fleet.Errorf(fleet.Invalid, op, "setting %s: %q cannot be (rates and durations are above zero, insecure is true or false)", name, text)
		}
	}
	return New(out), nil
}

package hosts

import (
	"context"
	"fmt"
	"os"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

// The settings of the provider.
const (
	SettingTick   = "tick"         // a duration
	SettingSettle = "settle"       // a duration
	SettingAgent  = "agent-socket" // a path
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	return providers.Factory{Name: api.ProviderName, Kinds: api.Kinds(), New: open, Limit: func(u providers.UserData) error { return limitUserData("run user data", u) }, Settings: []providers.Setting{
		{Name: SettingTick, Usage: fmt.Sprintf("maximum age of cached data of a host, as a `duration`; clusters share the cache (default %s)", DefaultTick)},
		{Name: SettingSettle, Usage: fmt.Sprintf("maximum `duration` until a change of a host is visible (default %s)", DefaultSettle)},
		{Name: SettingAgent, Usage: "socket of the SSH agent for pools with agent: true (default $SSH_AUTH_SOCK)"},
	}}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	const op = "open infrastructure provider " + api.ProviderName
	out := Options{Log: o.Log, Secret: o.Secret, AgentSocket: os.Getenv("SSH_AUTH_SOCK")}
	if socket := o.Settings[SettingAgent]; socket != "" {
		out.AgentSocket = socket
	}
	for name, to := range map[string]*time.Duration{SettingTick: &out.Tick, SettingSettle: &out.Settle} {
		text := o.Settings[name]
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, fleet.Errorf(fleet.Invalid, op, "setting %s: %q is no duration above zero", name, text)
		}
		*to = d
	}
	return New(out), nil
}

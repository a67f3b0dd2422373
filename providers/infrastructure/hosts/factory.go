package hosts

import (
	"context"
	"os"

	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

// Factory returns the factory of this provider.
func Factory() providers.Factory {
	return providers.Factory{
		Name: api.ProviderName, Kinds: api.Kinds(), New: open, Settings: providers.SettingsOf(Options{Tick: DefaultTick, Settle: DefaultSettle}),
		Limit: func(u providers.UserData) error { return limitUserData("run user data", u) }, VirtualIP: virtualIP,
	}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	own := Options{Log: o.Log, Secret: o.Secret, AgentSocket: os.Getenv("SSH_AUTH_SOCK")}
	if err := o.ReadSettings(api.ProviderName, &own, "is no duration above zero"); err != nil {
		return nil, err
	}
	return New(own), nil
}

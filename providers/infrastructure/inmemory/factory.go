package inmemory

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// The settings of the provider.
const (
	SettingURL    = "url"    // without it the cloud is in this process
	SettingSettle = "settle" // a duration
)

// defaultSettle is much longer than a call on this computer takes.
const defaultSettle = time.Second

// Factory returns the factory of this provider. A cloud in this process is made
// by each New and lives until its Close; [Provider.API] gives it out:
//
//	p, ok := infrastructure.(*inmemory.Provider)
//	cloud, ok := p.API().(*inmemory.Cloud)
func Factory() providers.Factory {
	return providers.Factory{Name: ProviderName, Kinds: Kinds(), New: open, Settings: []providers.Setting{
		{Name: SettingURL, Usage: "`URL` of an in-memory cloud in another process, such as http://127.0.0.1:8080/inmemory"},
		{Name: SettingSettle, Usage: fmt.Sprintf("maximum `duration` until a change is visible in the in-memory cloud (default %s)", defaultSettle)},
	}}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	const op = "open infrastructure provider inmemory"
	settle := defaultSettle
	if text := o.Settings[SettingSettle]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return nil, fleet.Errorf(fleet.Invalid, op, "setting %s: %q is no duration", SettingSettle, text)
		}
		settle = d
	}
	if base := o.Settings[SettingURL]; base != "" {
		client, err := Dial(base)
		if err != nil {
			return nil, err
		}
		client.requested = o.Requested
		return NewProvider(client, settle), nil
	}
	return NewProvider(NewCloud(CloudOptions{Log: o.Log}), settle), nil
}

package inmemory

import (
	"context"
	"time"

	"fairlead.dev/providers"
)

// SettingURL is the setting without which the cloud is in this process.
const SettingURL = "url"

type settings struct {
	URL    string        `setting:"url" usage:"'URL' of an in-memory cloud in another process, such as http://127.0.0.1:8080/inmemory"`
	Settle time.Duration `setting:"settle" zero:"true" usage:"maximum 'duration' until a change is visible in the in-memory cloud"`
}

// defaults has a time to settle that is much longer than a call on this computer takes.
func defaults() settings { return settings{Settle: time.Second} }

// Factory returns the factory of this provider. A cloud in this process is made
// by each New and lives until its Close; [Provider.API] gives it out:
//
//	p, ok := infrastructure.(*inmemory.Provider)
//	cloud, ok := p.API().(*inmemory.Cloud)
func Factory() providers.Factory {
	return providers.Factory{Name: ProviderName, Kinds: Kinds(), New: open, VirtualIP: virtualIP, Settings: providers.SettingsOf(defaults())}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	own := defaults()
	if err := o.ReadSettings(ProviderName, &own, "is no duration"); err != nil {
		return nil, err
	}
	if own.URL != "" {
		client, err := Dial(own.URL)
		if err != nil {
			return nil, err
		}
		client.requested = o.Requested
		return NewProvider(client, own.Settle), nil
	}
	return NewProvider(NewCloud(CloudOptions{Log: o.Log}), own.Settle), nil
}

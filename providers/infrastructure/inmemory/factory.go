package inmemory

import (
	"context"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// The settings of the provider.
const (
	SettingURL    = "url"    // of a cloud in another process; without it the cloud is in this one
	SettingSettle = "settle" // how long the cloud may take to show a change, a duration
	SettingID     = "id"     // of the cloud in this process
)

// defaultSettle is much longer than a call on this computer takes.
const defaultSettle = time.Second

// Factory returns the factory of this provider. A cloud in this process is made
// by each New and lives until its Close; [Provider.API] gives it out:
//
//	p, _ := providers.As[*inmemory.Provider](infrastructure)
//	cloud, ok := p.API().(*inmemory.Cloud)
func Factory() providers.Factory {
	return providers.Factory{Name: ProviderName, Kinds: Kinds(), New: open}
}

func open(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
	const op = "open infrastructure provider inmemory"
	known := []string{SettingURL, SettingSettle, SettingID}
	for name := range o.Settings {
		if !slices.Contains(known, name) {
			return nil, fleet.Errorf(fleet.Invalid, op, "there is no setting %q; there are %q", name, known)
		}
	}
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
		return NewProvider(client, settle), nil
	}
	return NewProvider(NewCloud(CloudOptions{ID: o.Settings[SettingID], Log: o.Log}), settle), nil
}

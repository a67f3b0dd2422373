package providers_test

import (
	"context"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

func TestOpen(t *testing.T) {
	var got map[string]string
	r, err := providers.NewRegistry(providers.Factory{
		Name: "cloud", Settings: []providers.Setting{{Name: "region"}},
		New: func(_ context.Context, o providers.Options) (providers.Infrastructure, error) {
			got = o.Settings
			return nil, nil //nolint:nilnil // nobody uses it
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for reason, tc := range map[string]struct {
		name    string
		setting string
		want    string
	}{
		"a known setting":     {"cloud", "region", ""},
		"an unknown setting":  {"cloud", "regoin", `has no setting "regoin"`},
		"an unknown provider": {"clowd", "region", `"clowd" is not built in; there are ["cloud"]`},
	} {
		t.Run(reason, func(t *testing.T) {
			got = nil
			_, err := r.Open(t.Context(), tc.name, providers.Options{Settings: map[string]string{tc.setting: "x"}})
			if tc.want == "" {
				if err != nil || got["region"] != "x" {
					t.Errorf("settings %v, %v", got, err)
				}
				return
			}
			if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), tc.want) || got != nil {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

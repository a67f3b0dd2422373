package fleet_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// The JSON of kubeadm's configuration is bare: digests of definitions that were
// released are made of it.
func TestBootstrapInJSON(t *testing.T) {
	for want, b := range map[string]fleet.Bootstrap{
		`{}`:                                   {},
		`{"files":[{"path":"/a\u003c"}]}`:      {Spec: json.RawMessage(`{"files":[{"path":"/a\u003c"}]}`)},
		`{"kind":"RKE2Config"}`:                {Kind: "RKE2Config"},
		`{"kind":"RKE2Config","spec":{"a":1}}`: {Kind: "RKE2Config", Spec: json.RawMessage(`{"a":1}`)},
	} {
		got, err := json.Marshal(b)
		if err != nil || string(got) != want {
			t.Errorf("%+v is %s, %v", b, got, err)
		}
		var back fleet.Bootstrap
		if err := json.Unmarshal(got, &back); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(b, back); d != "" {
			t.Errorf("%s is read as (-want +got):\n%s", want, d)
		}
	}
}

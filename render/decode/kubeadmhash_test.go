package decode

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
)

// TestFalseIsNothing: false and no value are the same for hashes of each schema that machines have.
func TestFalseIsNothing(t *testing.T) {
	for name, c := range map[string]struct{ without, with string }{
		"layout": {`{"diskSetup":{"partitions":[{"device":"/dev/a"}]}}`, `{"diskSetup":{"partitions":[{"device":"/dev/a","layout":false}]}}`},
		"strict": {
			`{"format":"ignition","ignition":{"containerLinuxConfig":{"additionalConfig":"a"}}}`,
			`{"format":"ignition","ignition":{"containerLinuxConfig":{"additionalConfig":"a","strict":false}}}`,
		},
	} {
		for schema, part := range map[string]func(*fleet.Pool) json.RawMessage{"2": hashedKubeadm, "3": settledKubeadm} {
			pool := func(spec string) *fleet.Pool {
				return &fleet.Pool{Role: fleet.RoleWorker, Version: "v1.34.1", Bootstrap: fleet.Bootstrap{Spec: json.RawMessage(spec)}}
			}
			if want, got := part(pool(c.without)), part(pool(c.with)); string(want) != string(got) {
				t.Errorf("%s, schema %s: %s counts, without it %s", name, schema, got, want)
			}
		}
	}
}

// TestSortedByKey: entries of one key keep their order, also in long lists.
func TestSortedByKey(t *testing.T) {
	var args []bootstrapv1.Arg
	for i := range 60 {
		args = append(args, bootstrapv1.Arg{Name: string(rune('c' - i%3)), Value: new(fmt.Sprintf("%02d", i))})
	}
	var got strings.Builder
	for _, a := range sortedArgs(args) {
		got.WriteString(a.Name + *a.Value)
	}
	var want strings.Builder
	for n, name := range []string{"a", "b", "c"} {
		for i := 2 - n; i < 60; i += 3 {
			fmt.Fprintf(&want, "%s%02d", name, i)
		}
	}
	if got.String() != want.String() {
		t.Errorf("got  %s\nwant %s", got.String(), want.String())
	}
	if args[0].Name != "c" {
		t.Error("the list that was given is changed")
	}
}

package addresses

import (
	"net/netip"
	"slices"
	"testing"

	"fairlead.dev/fleet"
)

func TestTag(t *testing.T) {
	want := []Claim{{"InClusterIPPool/prod/nodes", netip.MustParseAddr("10.0.0.10")}, {"GlobalInClusterIPPool/six", netip.MustParseAddr("fd00::1")}}
	text := Format(want)
	if text != "InClusterIPPool/prod/nodes=10.0.0.10,GlobalInClusterIPPool/six=fd00::1" {
		t.Errorf("the tag is %q", text)
	}
	if got, err := Parse(text); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, damaged := range []string{"10.0.0.10", "pool=10.0.0", "=10.0.0.10", "a=10.0.0.1,"} {
		if _, err := Parse(damaged); fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("%q: %v, want kind Conflict", damaged, err)
		}
	}
}

// Where two have one address everybody who looks says the same of them.
func TestHolders(t *testing.T) {
	h := make(Holders)
	for id, tag := range map[string]string{"c": "p=10.0.0.1", "a": "p=10.0.0.1,q=10.0.0.2", "b": "q=10.0.0.1", "d": ""} {
		if err := h.Add(id, tag); err != nil {
			t.Fatal(err)
		}
	}
	runs := ""
	for _, tc := range []struct {
		id, address, runs string
		want              bool
	}{
		{"c", "10.0.0.1", "", true}, {"b", "10.0.0.1", "", true}, {"a", "10.0.0.1", "", false}, // whichever pool gave it
		{"a", "10.0.0.1", "c", true}, {"a", "10.0.0.2", "", false}, {"d", "10.0.0.9", "", false},
	} {
		runs = tc.runs
		if got := h.Loses(tc.id, netip.MustParseAddr(tc.address), func(id string) bool { return id == runs }); got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
	if got := h.Taken(); len(got) != 2 {
		t.Errorf("taken %v, want both addresses", got)
	}
	if err := h.Add("e", "?"); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("%v, want kind Conflict", err)
	}
}

// All machines of a cluster hold the address of its endpoint as one.
func TestEndpoints(t *testing.T) {
	tags := func(cluster, value string) map[string]string {
		return map[string]string{"fairlead.dev/fleet": "acme", "fairlead.dev/cluster": cluster, "fairlead.dev/endpoint-address": value}
	}
	h := make(Holders)
	if err := h.Add("vm-1", "p=10.0.0.2"); err != nil {
		t.Fatal(err)
	}
	const eu1 = "the endpoint of cluster prod/eu-1 of fleet acme"
	for _, tc := range []struct{ cluster, value, want string }{
		{"prod/eu-1", "p=10.0.0.1", eu1},
		{"prod/eu-1", "p=10.0.0.1", eu1},
		{"prod/eu-2", "q=10.0.0.1", "the endpoint of cluster prod/eu-2 of fleet acme"},
		{"prod/eu-3", "", ""},
	} {
		if got, err := h.AddEndpoint(tags(tc.cluster, tc.value)); err != nil || got != tc.want {
			t.Errorf("%s %q: %q, %v, want %q", tc.cluster, tc.value, got, err, tc.want)
		}
	}
	if got := h[Claim{"p", netip.MustParseAddr("10.0.0.1")}]; !slices.Equal(got, []string{eu1}) {
		t.Errorf("holders %q, want one for both machines", got)
	}
	if got := h.Taken(); len(got) != 2 {
		t.Errorf("taken %v, want those of machine and endpoint", got)
	}
	for own, want := range map[string]string{"": eu1, eu1: "the endpoint of cluster prod/eu-2 of fleet acme"} {
		if got := h.HolderOf(netip.MustParseAddr("10.0.0.1"), own); got != want {
			t.Errorf("beside %q it is of %q, want %q", own, got, want)
		}
	}
	if got := h.HolderOf(netip.MustParseAddr("10.0.0.9"), ""); got != "" {
		t.Errorf("%s has an address that nobody has", got)
	}
	if _, err := h.AddEndpoint(tags("prod/eu-4", "?")); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("%v, want kind Conflict", err)
	}
}

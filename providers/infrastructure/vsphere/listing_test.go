package vsphere

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"fairlead.dev/providers/driver/addresses"
)

// TestHoldersOfTwoVCenters: a cluster knows the holders of all its vCenters, and that those of one are
// not known. What clusters share is not changed.
func TestHoldersOfTwoVCenters(t *testing.T) {
	claim := addresses.Claim{Address: netip.MustParseAddr("10.0.0.1")}
	damaged := errors.New("damaged tags")
	for _, unknown := range []int{0, 1} {
		list := []*listing{
			{holders: addresses.Holders{claim: {"a/1"}}, running: map[string]bool{"a/1": true}},
			{holders: addresses.Holders{claim: {"b/1"}}, running: map[string]bool{"b/1": true}},
		}
		list[unknown].unknown = damaged
		var o observation
		for _, l := range list {
			o.hold(l)
		}
		if got := o.holders[claim]; !slices.Equal(got, []string{"a/1", "b/1"}) || !o.running["a/1"] || !o.running["b/1"] || !errors.Is(o.unknown, damaged) {
			t.Errorf("holders %v, running %v, unknown %v", got, o.running, o.unknown)
		}
		if len(list[0].holders[claim]) != 1 || len(list[0].running) != 1 {
			t.Errorf("the first listing was changed: %+v", list[0])
		}
	}
}

package driver_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/addresses"
)

func claim(pool, address string) addresses.Claim {
	return addresses.Claim{Pool: pool, Address: netip.MustParseAddr(address)}
}

// TestAdoptions: two machines are two things, with addresses and indexes of their own.
func TestAdoptions(t *testing.T) {
	first := driver.Adoption[string]{ID: "1", Where: "host prod/n0", Index: "prod/t/0", Claims: []addresses.Claim{claim("p", "10.0.0.1")}}
	for reason, tc := range map[string]struct {
		second driver.Adoption[string]
		err    string
	}{
		"apart":        {driver.Adoption[string]{ID: "2", Index: "prod/t/1", Claims: []addresses.Claim{claim("p", "10.0.0.2")}}, ""},
		"no index":     {driver.Adoption[string]{ID: "2"}, ""},
		"one thing":    {driver.Adoption[string]{ID: "1", Where: "host prod/n0"}, "cannot take over machine b: cannot find where it is: host prod/n0 is that of machine a too"},
		"one index":    {driver.Adoption[string]{ID: "2", Index: "prod/t/0"}, "keep its index: machine a is prod/t/0 too"},
		"one address":  {driver.Adoption[string]{ID: "2", Claims: []addresses.Claim{claim("p", "10.0.0.1")}}, "keep its addresses: machine a has 10.0.0.1 of p too"},
		"none is told": {driver.Adoption[string]{}, "take over machine b: it is gone"},
	} {
		t.Run(reason, func(t *testing.T) {
			got, err := driver.Adoptions([]providers.AdoptedMachine{{Name: "a"}, {Name: "b"}}, func(m providers.AdoptedMachine) (driver.Adoption[string], error) {
				x := first
				if m.Name == "b" {
					x = tc.second
				}
				x.Machine = m.Name
				if x.ID == "" {
					return x, errors.New("it is gone")
				}
				return x, nil
			}, wrap)
			if (err == nil) != (tc.err == "") || err != nil && (!strings.Contains(err.Error(), tc.err) || got != nil) || err == nil && len(got) != 2 {
				t.Errorf("%v, %v, want %q", got, err, tc.err)
			}
		})
	}
}

func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fleet.Error{Kind: fleet.KindOf(err), Op: op, Err: err}
}

func TestKeepsAddresses(t *testing.T) {
	unknown := errors.New("tags were changed")
	x := driver.Adoption[string]{ID: "1", Claims: []addresses.Claim{claim("p", "10.0.0.1")}}
	if err := x.KeepsAddresses(addresses.Holders{x.Claims[0]: {"1"}, claim("p", "10.0.0.2"): {"2"}}, nil); err != nil {
		t.Error(err)
	}
	if err := x.KeepsAddresses(addresses.Holders{x.Claims[0]: {"1", "2"}}, nil); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("another one has its address: %v", err)
	}
	if err := x.KeepsAddresses(nil, unknown); !errors.Is(err, unknown) {
		t.Errorf("nobody knows who has its address: %v", err)
	}
	if err := new(driver.Adoption[string]).KeepsAddresses(nil, unknown); err != nil {
		t.Errorf("it has no address: %v", err)
	}
}

func TestClaimsOf(t *testing.T) {
	m := providers.AdoptedMachine{Addresses: addresses.Format([]addresses.Claim{claim("p", "10.0.0.1"), claim("q", "10.1.0.1"), claim("p", "10.0.0.2")})}
	for reason, tc := range map[string]struct {
		pools []string
		want  string
		kind  fleet.ErrorKind
		err   string
	}{
		"in their order": {[]string{"q", "p", "p"}, "q=10.1.0.1,p=10.0.0.1,p=10.0.0.2", "", ""},
		"one is missing": {[]string{"q", "p", "p", "p"}, "", fleet.NotFound, "no IPClaim of it has one of p, which Git names"},
		"one is left":    {[]string{"q", "p"}, "", fleet.Conflict, "it has 10.0.0.2 of p, and no device of it names that pool"},
	} {
		t.Run(reason, func(t *testing.T) {
			got, err := driver.ClaimsOf(m, tc.pools, "IPClaim", "no device of it names that pool")
			if d := cmp.Diff(tc.want, addresses.Format(got)); d != "" {
				t.Errorf("claims (-want +have): %s", d)
			}
			if (err == nil) != (tc.err == "") || err != nil && (fleet.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%v, want %s, %q", err, tc.kind, tc.err)
			}
		})
	}
}

func TestMayRelease(t *testing.T) {
	c := &fleet.Cluster{Fleet: "acme", Key: key("eu-1")}
	adopted := []providers.AdoptedMachine{{Name: "a", ID: "X://1"}}
	for reason, tc := range map[string]struct {
		change func(*fleet.Machine)
		may    bool
	}{
		"as it was adopted": {func(*fleet.Machine) {}, true},
		"another machine":   {func(m *fleet.Machine) { m.ProviderID = "x://2" }, false},
		"made since":        {func(m *fleet.Machine) { m.Operation = "other" }, false},
		"being deleted":     {func(m *fleet.Machine) { m.State = fleet.MachineDeleting }, false},
		"damaged":           {func(m *fleet.Machine) { m.Damaged = "a tag is missing" }, false},
	} {
		m := fleet.Machine{Name: "a", ProviderID: "x://1", Operation: providers.AdoptionID(c.Key), State: fleet.MachineRunning}
		tc.change(&m)
		err := driver.MayRelease("release prod/eu-1", c, []fleet.Machine{m}, adopted, func(id fleet.ProviderID) string { return strings.ToLower(string(id)) })
		if (err == nil) != tc.may || err != nil && fleet.KindOf(err) != fleet.Conflict {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

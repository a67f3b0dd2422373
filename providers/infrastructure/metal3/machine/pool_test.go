package machine

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/metal3/api"
)

func ptr[T any](v T) *T { return &v }

// spec is of two entries: three addresses, then two.
func spec() *api.IPPoolSpec {
	return &api.IPPoolSpec{
		Pools: []api.Pool{
			{Start: ptr("10.0.0.10"), End: ptr("10.0.0.13"), DNSServers: []string{"10.0.0.3"}},
			{Subnet: ptr("10.0.1.0/30"), Prefix: 30, Gateway: ptr("10.0.1.2")},
		},
		PreAllocations: map[string]string{"host-7-p": "10.0.0.12", "workers-1-p": "10.0.1.1"},
		Prefix:         24, Gateway: ptr("10.0.0.11"), DNSServers: []string{"10.0.0.2"},
	}
}

func pool(t *testing.T, s *api.IPPoolSpec) *Pool {
	t.Helper()
	p, err := NewPool("metal", "p", s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAllocate: all addresses are given, once, the first entry's before the second's; what is
// pre-allocated, and gateways, are not.
func TestAllocate(t *testing.T) {
	s := spec()
	s.PreAllocations = map[string]string{"host-7-p": "10.0.0.12"}
	p := pool(t, s)
	taken := make(map[netip.Addr]bool)
	var got []string
	for _, name := range []string{"a", "b", "c"} {
		a, err := p.Allocate(Claim{Name: name}, taken)
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.Allocate(Claim{Name: name}, taken)
		if again != a || err != nil {
			t.Errorf("%s: %s, and asked again %s %v", name, a, again, err)
		}
		taken[a] = true
		got = append(got, a.String())
	}
	if first := got[0] + got[1]; first != "10.0.0.1010.0.0.13" && first != "10.0.0.1310.0.0.10" || got[2] != "10.0.1.1" {
		t.Errorf("got %v", got)
	}
	if a, err := p.Allocate(Claim{Name: "d"}, taken); fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "all of its 3 addresses") {
		t.Errorf("got %s %v, want Exhausted", a, err)
	}
	if a, err := p.Allocate(Claim{Name: "d", Host: "host-7"}, taken); a.String() != "10.0.0.12" || err != nil {
		t.Errorf("pre-allocated: got %s %v", a, err)
	}
}

func TestPreAllocations(t *testing.T) {
	for name, tc := range map[string]struct {
		claim Claim
		taken string
		want  string // of an address, or an error
	}{
		"Host":       {Claim{Name: "a", Host: "host-7", Template: "workers", Index: 5}, "", "10.0.0.12"},
		"Index":      {Claim{Name: "a", Host: "host-8", Template: "workers", Index: 1}, "", "10.0.1.1"},
		"HostFirst":  {Claim{Name: "a", Host: "host-7", Template: "workers", Index: 1}, "", "10.0.0.12"},
		"NoTemplate": {Claim{Name: "a", Host: "host-8", Index: 1}, "", "10.0.0.1"},
		"Taken":      {Claim{Name: "a", Host: "host-7"}, "10.0.0.12", "pre-allocated to host host-7"},
	} {
		taken := make(map[netip.Addr]bool)
		if tc.taken != "" {
			taken[netip.MustParseAddr(tc.taken)] = true
		}
		a, err := pool(t, spec()).Allocate(tc.claim, taken)
		if err != nil && fleet.KindOf(err) == fleet.Exhausted && tc.taken != "" && strings.Contains(err.Error(), tc.want) {
			continue
		}
		if !strings.HasPrefix(a.String(), tc.want) || err != nil {
			t.Errorf("%s: got %s %v, want %s", name, a, err, tc.want)
		}
	}
}

func TestReserve(t *testing.T) {
	p, r, now := pool(t, spec()), new(addresses.Ledger), time.Unix(0, 0)
	got := make(map[netip.Addr]bool)
	for _, name := range []string{"a", "b"} {
		for range 2 {
			a, err := p.Reserve(r, Claim{Name: name}, addresses.Known{}, now, now.Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			got[a] = true
		}
	}
	if len(got) != 2 || !got[netip.MustParseAddr("10.0.0.10")] || !got[netip.MustParseAddr("10.0.0.13")] {
		t.Errorf("two claims, each asked for twice, have %v", got)
	}
	seen := map[netip.Addr]bool{netip.MustParseAddr("10.0.0.10"): true, netip.MustParseAddr("10.0.0.13"): true}
	wide := spec()
	delete(wide.PreAllocations, "workers-1-p")
	if a, err := pool(t, wide).Reserve(new(addresses.Ledger), Claim{Name: "a"}, addresses.Known{Seen: seen}, now, now.Add(time.Minute)); err != nil || !strings.HasPrefix(a.String(), "10.0.1.") {
		t.Errorf("where those of the first entry are said to be taken: got %s %v, want one of the second", a, err)
	}
	if a, err := p.Reserve(r, Claim{Name: "c"}, addresses.Known{}, now, now.Add(time.Minute)); fleet.KindOf(err) != fleet.Exhausted {
		t.Errorf("a third one: got %s %v, want Exhausted", a, err)
	}
	if a, err := p.Reserve(r, Claim{Name: "c"}, addresses.Known{}, now.Add(time.Hour), now.Add(time.Hour)); err != nil {
		t.Errorf("when they ran out: got %s %v", a, err)
	}
}

// TestPreAllocatedOnce: an address that is pre-allocated is given once as well: not if it is an endpoint, if the pool
// gave it in another place, or while it is reserved.
func TestPreAllocatedOnce(t *testing.T) {
	a, now := netip.MustParseAddr("10.0.0.12"), time.Unix(0, 0)
	object, err := json.Marshal(spec())
	if err != nil {
		t.Fatal(err)
	}
	of := func(neighbors fleet.Neighbors) *Pool {
		p, err := FindPool(&fleet.Cluster{Neighbors: neighbors, Companions: []fleet.Object{{
			GVK: schema.GroupVersionKind{Group: "ipam.metal3.io", Kind: "IPPool"}, Namespace: "metal", Name: "p", Spec: object,
		}}}, api.IPPoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	elsewhere, reserved := new(addresses.Ledger), new(addresses.Ledger)
	elsewhere.Saw("another", addresses.Holders{{Pool: "IPPool/metal/p", Address: a}: {"node"}})
	if _, err := of(fleet.Neighbors{}).Reserve(reserved, Claim{Name: "b", Host: "host-7"}, addresses.Known{}, now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for reason, tc := range map[string]struct {
		pool   *Pool
		ledger *addresses.Ledger
		given  bool
	}{
		"free":                       {of(fleet.Neighbors{}), new(addresses.Ledger), true},
		"the endpoint of a cluster":  {of(fleet.Neighbors{Endpoints: []string{a.String()}}), new(addresses.Ledger), false},
		"given in another place":     {of(fleet.Neighbors{}), elsewhere, false},
		"reserved for another claim": {of(fleet.Neighbors{}), reserved, false},
	} {
		got, err := tc.pool.Reserve(tc.ledger, Claim{Name: "a", Host: "host-7"}, addresses.Known{}, now, now.Add(time.Minute))
		if tc.given && (err != nil || got != a) || !tc.given && fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("%s: got %s %v", reason, got, err)
		}
	}
}

// TestAddress: what a machine is told is its entry's, or the pool's.
func TestAddress(t *testing.T) {
	p := pool(t, spec())
	for address, want := range map[string]string{
		"10.0.0.10": "10.0.0.10/24 10.0.0.11 [10.0.0.3]",
		"10.0.0.12": "10.0.0.12/24 10.0.0.11 [10.0.0.3]", // pre-allocated
		"10.0.1.1":  "10.0.1.1/30 10.0.1.2 [10.0.0.2]",
	} {
		a, err := p.Address(netip.MustParseAddr(address))
		var dns []string
		for _, s := range a.DNS {
			dns = append(dns, s.String())
		}
		if got := a.Prefix.String() + " " + a.Gateway.String() + " [" + strings.Join(dns, " ") + "]"; got != want || err != nil {
			t.Errorf("got %s %v, want %s", got, err, want)
		}
	}
	if _, err := p.Address(netip.MustParseAddr("10.0.0.20")); fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("one that it does not give: got %v, want Conflict", err)
	}
}

// TestSmallNetworks: a network of one or two addresses reserves none.
func TestSmallNetworks(t *testing.T) {
	for subnet, want := range map[string]int{"10.0.0.8/32": 1, "10.0.0.8/31": 2, "10.0.0.8/30": 2, "fd00::8/127": 2, "fd00::8/126": 3} {
		p := pool(t, &api.IPPoolSpec{Pools: []api.Pool{{Subnet: &subnet, Prefix: netip.MustParsePrefix(subnet).Bits()}}})
		if got := p.parts[0].pool.Size(); got != want {
			t.Errorf("%s: gives %d addresses, want %d", subnet, got, want)
		}
	}
}

func TestFindPool(t *testing.T) {
	object := func(group, version, kind string, spec any) fleet.Object {
		data, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		return fleet.Object{GVK: schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, Namespace: "metal", Name: "p", Spec: data}
	}
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "metal", Name: "eu"}, Companions: []fleet.Object{
		object("ipam.metal3.io", "v1alpha1", "IPPool", spec()),
		object("ipam.cluster.x-k8s.io", "v1alpha2", "InClusterIPPool", addresses.PoolSpec{Addresses: []string{"10.9.0.4"}, Prefix: 24, Gateway: "10.9.0.1"}),
	}}
	for kind, want := range map[string]string{"IPPool": "10.0.0.1", "InClusterIPPool": "10.9.0.4"} {
		group := map[string]string{"IPPool": "ipam.metal3.io", "InClusterIPPool": "ipam.cluster.x-k8s.io"}[kind]
		p, err := FindPool(c, api.IPPoolReference{Name: "p", Kind: kind, APIGroup: group})
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Allocate(Claim{Name: "a"}, nil)
		if p.ID != kind+"/metal/p" || !strings.HasPrefix(a.String(), want) || err != nil {
			t.Errorf("%s: got %s of %s, %v", kind, a, p.ID, err)
		}
		c.Endpoint.Host = a.String()
		p, err = FindPool(c, api.IPPoolReference{Name: "p", Kind: kind, APIGroup: group})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := p.Allocate(Claim{Name: "a"}, nil); err == nil && b == a {
			t.Errorf("%s: %s is given, which is the endpoint", kind, b)
		}
		holders := addresses.Holders{}
		if err := holders.Add("m", addresses.Format([]addresses.Claim{{Pool: p.ID, Address: a}})); err != nil || !holders.Taken()[a] {
			t.Errorf("%s: %s is not taken: %v", kind, a, err)
		}
		if _, err := FindPool(c, api.IPPoolReference{Name: "x", Kind: kind, APIGroup: group}); fleet.KindOf(err) != fleet.Invalid {
			t.Errorf("one that is not there: got %v, want Invalid", err)
		}
	}
}

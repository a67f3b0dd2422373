package addresses

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
)

// pool is that of a spec that people write.
func pool(t *testing.T, s PoolSpec) *Pool {
	t.Helper()
	v, errs := normalise(nil, field.NewPath("spec"), &s)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	spec := v.(PoolSpec)
	p, err := NewPool("InClusterIPPool/prod/nodes", &spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// everything gives all addresses of p, until it is exhausted.
func everything(t *testing.T, p *Pool) (out []string) {
	t.Helper()
	taken := make(map[netip.Addr]bool)
	for {
		a, err := p.Allocate("one", taken)
		if err != nil {
			if fleet.KindOf(err) != fleet.Exhausted || !strings.Contains(err.Error(), "InClusterIPPool/prod/nodes") {
				t.Errorf("%v, want that the pool is exhausted", err)
			}
			break
		}
		if taken[a] || !p.Contains(a) {
			t.Fatalf("%s is given twice, or is not the pool's", a)
		}
		taken[a] = true
	}
	for i := range p.Size() {
		out = append(out, p.at(uint64(i)).String()) //nolint:gosec // it is not negative
	}
	if len(taken) != p.Size() {
		t.Errorf("%d addresses were given, want %d", len(taken), p.Size())
	}
	return out
}

func TestAllocate(t *testing.T) {
	for reason, tc := range map[string]struct {
		spec PoolSpec
		want string
	}{
		"ranges, single ones and prefixes": {
			PoolSpec{Addresses: []string{"10.0.0.10-10.0.0.12", "10.0.0.20", "10.0.0.32/31"}, Prefix: 24},
			"10.0.0.10 10.0.0.11 10.0.0.12 10.0.0.20 10.0.0.32 10.0.0.33",
		},
		"a whole network without what it reserves": {
			PoolSpec{Addresses: []string{"10.0.0.0/29"}, Prefix: 29, Gateway: "10.0.0.1"},
			"10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6",
		},
		"with what it reserves": {
			PoolSpec{Addresses: []string{"10.0.0.0/30"}, Prefix: 30, AllocateReservedIPAddresses: true},
			"10.0.0.0 10.0.0.1 10.0.0.2 10.0.0.3",
		},
		"without what is excluded": {
			PoolSpec{Addresses: []string{"10.0.0.10-10.0.0.15"}, Prefix: 24, ExcludedAddresses: []string{"10.0.0.11-10.0.0.13", "10.0.0.15"}},
			"10.0.0.10 10.0.0.14",
		},
		"IPv6, whose last address is none that is reserved": {
			PoolSpec{Addresses: []string{"fd00::/126"}, Prefix: 126},
			"fd00::1 fd00::2 fd00::3",
		},
		"an overlap counts once": {
			PoolSpec{Addresses: []string{"10.0.0.10-10.0.0.11", "10.0.0.11-10.0.0.12"}, Prefix: 24},
			"10.0.0.10 10.0.0.11 10.0.0.12",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := strings.Join(everything(t, pool(t, tc.spec)), " "); got != tc.want {
				t.Errorf("addresses %s, want %s", got, tc.want)
			}
		})
	}
}

// TestEndpointIsNotGiven: the address that kube-vip or a load balancer answers for is nobody else's.
func TestEndpointIsNotGiven(t *testing.T) {
	for host, want := range map[string]int{"10.0.0.11": 2, "10.0.0.9": 3, "api.example.com": 3, "": 3, "infrastructure 10.0.0.11": 2, "neighbor 10.0.0.11": 2} {
		c := &fleet.Cluster{Endpoint: fleet.Endpoint{Host: host, Port: 6443}, Companions: []fleet.Object{{
			GVK: schema.GroupVersionKind{Kind: "InClusterIPPool"}, Namespace: "prod", Name: "nodes",
			Spec: []byte(`{"addresses":["10.0.0.10-10.0.0.12"],"prefix":24}`),
		}}}
		if of, ok := strings.CutPrefix(host, "infrastructure "); ok { // Git names it in the provider's object
			host, c.Endpoint = of, fleet.Endpoint{}
			c.Infrastructure.Spec = []byte(`{"controlPlaneEndpoint":{"host":"` + host + `"}}`)
		}
		if of, ok := strings.CutPrefix(host, "neighbor "); ok { // of another cluster
			host, c.Endpoint, c.Neighbors.Endpoints = of, fleet.Endpoint{}, []string{"api.example.com", of}
		}
		p, err := Find(c, Ref{Kind: "InClusterIPPool", Name: "nodes"})
		if err != nil {
			t.Fatal(err)
		}
		taken := make(map[netip.Addr]bool)
		for {
			a, err := p.Allocate("one", taken)
			if err != nil {
				break
			}
			taken[a] = true
		}
		if at, err := netip.ParseAddr(host); len(taken) != want || err == nil && taken[at] {
			t.Errorf("endpoint %q: %v were given, want %d", host, taken, want)
		}
		if _, err := p.Allocate("one", map[netip.Addr]bool{netip.MustParseAddr("10.0.0.10"): true, netip.MustParseAddr("10.0.0.11"): true}); err != nil {
			t.Errorf("endpoint %q: %v, and one is free", host, err)
		}
	}
}

// A pool larger than a number is searched as fast as a small one, across what a half of an
// address holds.
func TestAllocateOfALargePool(t *testing.T) {
	p := pool(t, PoolSpec{Addresses: []string{"fd00::ffff:ffff:ffff:fff0-fd00:0:0:1::10"}, Prefix: 32})
	if got := len(everything(t, p)); got != 33 {
		t.Errorf("%d addresses of %d", got, p.Size())
	}
	if a := p.at(16); a.String() != "fd00:0:0:1::" {
		t.Errorf("address 16 is %s, want fd00:0:0:1::", a)
	}
	huge := pool(t, PoolSpec{Addresses: []string{"fd00::/32"}, Prefix: 32})
	a, err := huge.Allocate("one", nil)
	if err != nil || !huge.Contains(a) {
		t.Errorf("%s, %v, want an address of the pool", a, err)
	}
}

// The same question has the same answer, whoever asks; another claim seldom has it, and what
// was let go is seldom the next that is given.
func TestAllocateIsDeterministic(t *testing.T) {
	p := pool(t, PoolSpec{Addresses: []string{"10.0.0.0/16"}, Prefix: 16})
	seen := make(map[netip.Addr]int)
	for _, name := range strings.Split("a b c d e f g h i j k l m n o p", " ") {
		a, err := p.Allocate(name, nil)
		again, _ := p.Allocate(name, nil)
		if err != nil || a != again {
			t.Errorf("%s: %s and %s, %v", name, a, again, err)
		}
		seen[a]++
	}
	if len(seen) < 15 {
		t.Errorf("16 claims begin at %d addresses", len(seen))
	}
}

func TestNormalise(t *testing.T) {
	good := func(change func(*PoolSpec)) PoolSpec {
		s := PoolSpec{Addresses: []string{"10.0.0.10-10.0.0.20"}, Prefix: 24, Gateway: "10.0.0.1"}
		change(&s)
		return s
	}
	for reason, tc := range map[string]struct {
		spec PoolSpec
		want string
	}{
		"no addresses":             {good(func(s *PoolSpec) { s.Addresses = nil }), "spec.addresses: Required"},
		"no address":               {good(func(s *PoolSpec) { s.Addresses = []string{"10.0.0.300"} }), "spec.addresses[0]"},
		"a range backwards":        {good(func(s *PoolSpec) { s.Addresses = []string{"10.0.0.20-10.0.0.10"} }), "spec.addresses[0]"},
		"an address with a zone":   {good(func(s *PoolSpec) { s.Addresses = []string{"fe80::1%eth0"} }), "spec.addresses[0]"},
		"families that mix":        {good(func(s *PoolSpec) { s.Addresses = append(s.Addresses, "fd00::1") }), "is not within the network 10.0.0.0/24"},
		"a gateway of the other":   {good(func(s *PoolSpec) { s.Gateway = "fd00::1" }), "do not mix"},
		"an exclusion of another":  {good(func(s *PoolSpec) { s.ExcludedAddresses = []string{"fd00::1"} }), "do not mix"},
		"two networks":             {good(func(s *PoolSpec) { s.Addresses = append(s.Addresses, "10.0.1.10") }), "spec.addresses[1]"},
		"no prefix":                {good(func(s *PoolSpec) { s.Prefix = 0 }), "spec.prefix"},
		"a prefix of IPv6":         {good(func(s *PoolSpec) { s.Prefix = 64 }), "spec.prefix"},
		"nothing left to be given": {good(func(s *PoolSpec) { s.Addresses = []string{"10.0.0.1"} }), "nothing is left"},
		"nothing wrong":            {good(func(*PoolSpec) {}), ""},
	} {
		t.Run(reason, func(t *testing.T) {
			_, errs := normalise(nil, field.NewPath("spec"), &tc.spec)
			if tc.want == "" != (len(errs) == 0) || tc.want != "" && !strings.Contains(errs.ToAggregate().Error(), tc.want) {
				t.Errorf("%v, want %q", errs.ToAggregate(), tc.want)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	var errs field.ErrorList
	refs := NormaliseRefs(&errs, field.NewPath("pools"), []Ref{
		{Kind: PoolKind, Name: "nodes"}, {Kind: "Pool", Name: "nodes"}, {APIGroup: "other", Kind: GlobalPoolKind}, {Kind: GlobalPoolKind, Name: "rack"},
	})
	if refs[0].APIGroup != Group || len(errs) != 3 {
		t.Errorf("%+v, %v", refs, errs)
	}
	git := map[string]map[string]any{PoolKind: {"nodes": PoolSpec{}}, GlobalPoolKind: {}}
	got := Resolve([]Ref{refs[0], refs[3]}, field.NewPath("pools"), func(kind string) map[string]any { return git[kind] })
	if len(got) != 1 || got[0].Field != "pools[1]" {
		t.Errorf("%v, want that pools[1] is not there", got)
	}
	if got := Resolve(refs[3:], field.NewPath("pools"), func(string) map[string]any { return nil }); len(got) > 0 {
		t.Errorf("%v, where it is not known what Git holds", got)
	}
}

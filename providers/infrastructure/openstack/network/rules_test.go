package network

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"fairlead.dev/providers/infrastructure/openstack/api"
)

// Two rules that Neutron takes for one are equal.
func TestNormalRule(t *testing.T) {
	base := rule{ingress, ipv4, tcp, 80, 80, "", "10.0.0.0/8"}
	cases := map[string]struct {
		a, b rule
		same bool
	}{
		"protocol by number":   {base, rule{ingress, ipv4, "6", 80, 80, "", "10.0.0.0/8"}, true},
		"protocol in capitals": {base, rule{ingress, ipv4, "TCP", 80, 80, "", "10.0.0.0/8"}, true},
		"host bits":            {base, rule{ingress, ipv4, tcp, 80, 80, "", "10.1.2.3/8"}, true},
		"another port":         {base, rule{ingress, ipv4, tcp, 80, 81, "", "10.0.0.0/8"}, false},
		"another direction":    {base, rule{egress, ipv4, tcp, 80, 80, "", "10.0.0.0/8"}, false},
		"everywhere":           {rule{ingress, ipv4, "", 0, 0, "", "0.0.0.0/0"}, rule{ingress, ipv4, "any", 0, 0, "", ""}, true},
		"everywhere, IPv6":     {rule{ingress, ipv6, "icmp", 0, 0, "", "::/0"}, rule{ingress, ipv6, "58", 0, 0, "", ""}, true},
		"all ports":            {rule{ingress, ipv4, udp, 1, 65535, "", ""}, rule{ingress, ipv4, udp, 0, 0, "", ""}, true},
		"an address":           {rule{ingress, ipv4, tcp, 22, 22, "", "192.0.2.1"}, rule{ingress, ipv4, tcp, 22, 22, "", "192.0.2.1/32"}, true},
		"another group":        {rule{ingress, ipv4, tcp, 22, 22, "a", ""}, rule{ingress, ipv4, tcp, 22, 22, "b", ""}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.normal() == tc.b.normal(); got != tc.same {
				t.Errorf("%v and %v: same %v, want %v", tc.a.normal(), tc.b.normal(), got, tc.same)
			}
		})
	}
}

func set(spec api.ManagedSecurityGroups) ruleSet {
	return ruleSet{
		spec: &spec, apiPort: 6443, families: []string{ipv4}, cidrs: []string{"10.6.0.0/24"},
		ids: groupIDs{api.SecurityGroupControlPlane: "CP", api.SecurityGroupWorker: "W", api.SecurityGroupBastion: "B"},
	}
}

func wantedText(t *testing.T, s ruleSet) string {
	t.Helper()
	all, err := s.wanted()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for group, rs := range all {
		for _, r := range rs {
			lines = append(lines, string(group)+": "+r.String())
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// The rules that a cluster gets which asks for nothing.
func TestDefaultRules(t *testing.T) {
	const want = `controlplane: egress IPv4 all
controlplane: egress IPv6 all
controlplane: ingress IPv4 tcp 10250 from group CP
controlplane: ingress IPv4 tcp 10250 from group W
controlplane: ingress IPv4 tcp 2379-2380 from group CP
controlplane: ingress IPv4 tcp 6443
worker: egress IPv4 all
worker: egress IPv6 all
worker: ingress IPv4 tcp 10250 from group CP
worker: ingress IPv4 tcp 10250 from group W
worker: ingress IPv4 tcp 30000-32767 from 10.6.0.0/24
worker: ingress IPv4 tcp 30000-32767 from group CP
worker: ingress IPv4 tcp 30000-32767 from group W
worker: ingress IPv4 udp 30000-32767 from 10.6.0.0/24
worker: ingress IPv4 udp 30000-32767 from group CP
worker: ingress IPv4 udp 30000-32767 from group W`
	if got := wantedText(t, set(api.ManagedSecurityGroups{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRules(t *testing.T) {
	in := func(r api.SecurityGroupRuleSpec) []api.SecurityGroupRuleSpec {
		r.Name, r.Direction = "r", ingress
		return []api.SecurityGroupRuleSpec{r}
	}
	p := func(s string) *string { return &s }
	cases := map[string]struct {
		spec   api.ManagedSecurityGroups
		change func(s *ruleSet)
		have   []string
		lack   []string
	}{
		"all traffic in the cluster": {
			api.ManagedSecurityGroups{AllowAllInClusterTraffic: true},
			nil,
			[]string{"controlplane: ingress IPv4 all from group CP", "controlplane: ingress IPv4 all from group W", "worker: ingress IPv4 all from group CP", "worker: ingress IPv4 all from group W"},
			[]string{"2379", "10250"},
		},
		"both families": {
			api.ManagedSecurityGroups{},
			func(s *ruleSet) { s.families, s.cidrs = []string{ipv4, ipv6}, append(s.cidrs, "fd00::/64") },
			[]string{"controlplane: ingress IPv6 tcp 2379-2380 from group CP", "controlplane: ingress IPv6 tcp 6443", "worker: ingress IPv6 tcp 30000-32767 from fd00::/64"},
			[]string{"IPv4 tcp 30000-32767 from fd00", "IPv6 tcp 30000-32767 from 10."},
		},
		"bastion": {
			api.ManagedSecurityGroups{},
			func(s *ruleSet) { s.bastion = true },
			[]string{"bastion: ingress IPv4 tcp 22", "bastion: egress IPv4 all", "controlplane: ingress IPv4 tcp 22 from group B", "worker: ingress IPv4 tcp 22 from group B"},
			nil,
		},
		"more ports": {
			api.ManagedSecurityGroups{},
			func(s *ruleSet) { s.apiPort, s.ports = 8443, []int32{8132} },
			[]string{"controlplane: ingress IPv4 tcp 8443", "controlplane: ingress IPv4 tcp 8132"},
			[]string{"6443", "worker: ingress IPv4 tcp 8132"},
		},
		"nodes": {
			api.ManagedSecurityGroups{ClusterNodesSecurityGroupRules: in(api.SecurityGroupRuleSpec{Protocol: p("4"), RemoteManagedGroups: []api.ManagedSecurityGroupName{"controlplane", "worker"}})},
			nil,
			[]string{"controlplane: ingress IPv4 ipip from group CP", "controlplane: ingress IPv4 ipip from group W", "worker: ingress IPv4 ipip from group CP", "worker: ingress IPv4 ipip from group W"},
			nil,
		},
		"family of a prefix": {
			api.ManagedSecurityGroups{WorkerNodesSecurityGroupRules: in(api.SecurityGroupRuleSpec{Protocol: p("icmp"), RemoteIPPrefix: p("fd00::/8")})},
			nil,
			[]string{"worker: ingress IPv6 ipv6-icmp from fd00::/8"},
			[]string{"controlplane: ingress IPv6"},
		},
		"group of another": {
			api.ManagedSecurityGroups{ControlPlaneNodesSecurityGroupRules: in(api.SecurityGroupRuleSpec{RemoteGroupID: p("X")})},
			nil,
			[]string{"controlplane: ingress IPv4 all from group X"},
			[]string{"worker: ingress IPv4 all"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := set(tc.spec)
			if tc.change != nil {
				tc.change(&s)
			}
			got := strings.Split(wantedText(t, s), "\n")
			for _, h := range tc.have {
				if !slices.Contains(got, h) {
					t.Errorf("lacks %q:\n%s", h, strings.Join(got, "\n"))
				}
			}
			for _, l := range tc.lack {
				if strings.Contains(strings.Join(got, "\n"), l) {
					t.Errorf("has %q:\n%s", l, strings.Join(got, "\n"))
				}
			}
		})
	}
}

// What is there stays, twice wanted is made once, and what nobody wants goes.
func TestDiffRules(t *testing.T) {
	want := []described{{rule{ingress, ipv4, tcp, 22, 22, "", ""}, "a"}, {rule{ingress, ipv4, tcp, 22, 22, "", ""}, "b"}, {rule{ingress, ipv4, tcp, 80, 80, "", ""}, ""}}
	have := []rules.SecGroupRule{
		{ID: "1", Direction: ingress, EtherType: ipv4, Protocol: tcp, PortRangeMin: 80, PortRangeMax: 80, RemoteIPPrefix: "0.0.0.0/0", Description: "other words"},
		{ID: "2", Direction: ingress, EtherType: ipv4, Protocol: tcp, PortRangeMin: 23, PortRangeMax: 23},
		{ID: "3", Direction: ingress, EtherType: ipv4, Protocol: tcp, PortRangeMin: 22, PortRangeMax: 22, RemoteAddressGroupID: "g"},
	}
	add, remove := diffRules(want, have)
	if len(add) != 1 || add[0].min != 22 {
		t.Errorf("add %v, want port 22 once", add)
	}
	if len(remove) != 2 || remove[0].ID != "2" || remove[1].ID != "3" {
		t.Errorf("remove %v, want 2 and 3", remove)
	}
}

package network_test

import (
	"strings"
	"testing"

	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// A cluster gets ready on a Neutron without tags, which Git asks for.
func TestNoTags(t *testing.T) {
	spec := managed()
	spec.Tags = []string{"blue"}
	inBubble(t, spec, func(w *world) {
		w.cloud.Set(func(o *ost.Options) { o.WithoutExtensions = []string{"standard-attr-tag"} })
		w.settle()
		if got := w.one(ost.LoadBalancers, all).Strings("tags"); len(got) != 1 || got[0] != "blue" {
			t.Errorf("tags of the load balancer %q, want blue: Octavia has its own", got)
		}
		for _, c := range w.client.Calls() {
			if strings.HasSuffix(c.Path, "/tags") {
				t.Errorf("call %s %s, want none for what Neutron does not have", c.Method, c.Path)
			}
		}
	})
}

// With the provider ovn a cluster gets ready; what ovn does not have is refused in
// its words.
func TestOVN(t *testing.T) {
	spec := managed()
	spec.APIServer.ManagedLoadBalancer = balancer()
	spec.APIServer.ManagedLoadBalancer.Provider = ptr("ovn")
	inBubble(t, spec, func(w *world) {
		w.settle()
		if got := w.one(ost.Pools, all).String("lb_algorithm"); got != "SOURCE_IP_PORT" {
			t.Errorf("algorithm %s", got)
		}
		spec.APIServer.ManagedLoadBalancer.AllowedCIDRs = []string{"192.0.2.0/24"}
		if _, errs := w.work(); len(errs) == 0 || !strings.Contains(errs[0].Error(), "OVN provider does not support allowed_cidrs option") {
			t.Errorf("allowed CIDRs: %v, want what ovn says", errs)
		}
	})
}

package openstacktest

import (
	"fmt"
	"net/http"
	"slices"
)

// What Octavia's provider ovn refuses, as Octavia puts it.
// Source: openstack/ovn-octavia-provider, ovn_octavia_provider/driver.py.

// isOVN reports whether a load balancer is of the provider ovn.
func (k *call) isOVN(lb string) bool {
	return k.r.tables[LoadBalancers].get(lb).String("provider") == "ovn"
}

// ovnLacks refuses an action or an option.
func ovnLacks(what, format string, args ...any) error {
	return refuse(http.StatusNotImplemented, "", "Provider 'ovn' does not support a requested %s: %s", what, fmt.Sprintf(format, args...))
}

// ovnListener refuses a listener of ovn, or a change of one.
func (k *call) ovnListener(lb string, o Object) error {
	switch p := o.String("protocol"); {
	case !k.isOVN(lb):
	case p != "" && !slices.Contains([]string{"TCP", "UDP", "SCTP"}, p):
		return ovnLacks("option", "OVN provider does not support %s protocol", p)
	case len(o.Strings("allowed_cidrs")) > 0:
		return ovnLacks("option", "OVN provider does not support allowed_cidrs option")
	}
	return nil
}

package network

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// things are what this package works with.
type things struct {
	networks      []cloud.Network
	subnets       []subnets.Subnet
	routers       []routers.Router
	ports         []cloud.Port
	groups        []groups.SecGroup
	floatingIPs   []floatingips.FloatingIP
	loadBalancers []loadbalancers.LoadBalancer
	listeners     []listeners.Listener
	pools         []pools.Pool // with their members
}

func values[T any](in []*T) []T {
	out := make([]T, len(in))
	for i, t := range in {
		out[i] = *t
	}
	return out
}

// pick returns the one of things, all of the cluster and for the same purpose,
// that counts: the oldest of those in use, else the oldest. Of the others it
// returns those that nothing uses, and those that are in use too.
func pick[T any](things []T, age func(T) (time.Time, string), used func(T) bool) (keep *T, surplus, extra []T) {
	sorted := slices.SortedFunc(slices.Values(things), func(a, b T) int {
		at, ai := age(a)
		bt, bi := age(b)
		return cmp.Or(at.Compare(bt), cmp.Compare(ai, bi))
	})
	switch len(sorted) {
	case 0:
		return nil, nil, nil
	case 1: // the usual case needs no look at all ports
		return &sorted[0], nil, nil
	}
	i := max(slices.IndexFunc(sorted, used), 0)
	for j, t := range sorted {
		switch {
		case j == i:
			keep = &t
		case used(t):
			extra = append(extra, t)
		default:
			surplus = append(surplus, t)
		}
	}
	return keep, surplus, extra
}

// filter returns those of all that f lets through.
func filter[T any](all []T, f func(T) bool) []T {
	var out []T
	for _, t := range all {
		if f(t) {
			out = append(out, t)
		}
	}
	return out
}

func find[T any](all []T, f func(T) bool) (T, bool) {
	i := slices.IndexFunc(all, f)
	if i < 0 {
		var zero T
		return zero, false
	}
	return all[i], true
}

// put adds t to both lists, instead of what same finds in them. The lists are
// created again.
func put[T any](all, mine *[]T, t T, same func(T) bool) {
	for _, l := range []*[]T{all, mine} {
		*l = append(without(*l, same), t)
	}
}

// drop takes what same finds out of both lists.
func drop[T any](all, mine *[]T, same func(T) bool) {
	for _, l := range []*[]T{all, mine} {
		*l = without(*l, same)
	}
}

func without[T any](all []T, f func(T) bool) []T { return filter(all, func(t T) bool { return !f(t) }) }

func sameAddress(a, b string) bool {
	x, err := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	if err != nil || err2 != nil {
		return a == b
	}
	return x.Unmap() == y.Unmap()
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

package render

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fairlead.dev/fleet"
)

// checkNetworks holds the addresses of each cluster of o against each other. The deletion of a
// cluster is never refused.
func (o *overlay) checkNetworks() {
	const field, hint = "spec.clusterNetwork", "choose ranges that do not overlap"
	o.clusters = slices.DeleteFunc(o.clusters, func(c fleet.Cluster) bool {
		if c.Delete || c.Abandon {
			return false
		}
		before := len(o.problems)
		pods, services := ranges(c.Network.Pods.CIDRBlocks), ranges(c.Network.Services.CIDRBlocks)
		if x, y, found := overlap(pods, services); found {
			o.problems = append(o.problems, o.problemOf(&c, field, hint, "pods %s and services %s overlap", x.text, y.text))
		}
		host := endpointOf(&c).Host
		for what, list := range map[string][]addressRange{"pods": pods, "services": services} { // problems are sorted
			if _, y, found := overlap(ranges([]string{host}), list); found {
				o.problems = append(o.problems, o.problemOf(&c, field, "choose another endpoint, or another range", "the endpoint %s and %s %s overlap", host, what, y.text))
			}
			for _, object := range append([]fleet.Object{c.Infrastructure}, c.Companions...) {
				if x, y, found := overlap(ranges(object.Networks), list); found {
					o.warnings = append(o.warnings, o.problemOf(&c, field, hint,
						"addresses of machines (%s %s: %s) and %s %s overlap", object.GVK.Kind, object.Name, x.text, what, y.text))
				}
			}
		}
		return len(o.problems) > before
	})
}

// problemOf is a problem of a cluster of o.
func (o *overlay) problemOf(c *fleet.Cluster, field, hint, format string, args ...any) fleet.Problem {
	return fleet.Problem{
		Overlay: o.dir, Cluster: c.Key, File: o.file, Object: "Cluster " + c.Key.String(),
		Field: field, Message: fmt.Sprintf(format, args...), Hint: hint,
	}
}

// shareNothing refuses clusters of f that name one endpoint, and tells of pools that overlap: what
// one gave the other does not give. Messages have no values, which may be secret in one overlay.
func (b *Builder) shareNothing(f *fleet.Fleet) {
	answering := make(map[fleet.Endpoint][]fleet.Key)
	for i := range f.Clusters {
		if e := endpointOf(&f.Clusters[i]); e.Host != "" {
			answering[e] = append(answering[e], f.Clusters[i].Key)
		}
	}
	b.tellOverlaps(f)
	b.tellTaken(f)
	f.Clusters = slices.DeleteFunc(f.Clusters, func(c fleet.Cluster) bool {
		all := answering[endpointOf(&c)]
		i := slices.IndexFunc(all, func(k fleet.Key) bool { return k != c.Key })
		if i < 0 || c.Delete || c.Abandon {
			return false
		}
		f.Problems = append(f.Problems, b.built[c.Overlay].problemOf(&c, "", "give each cluster an endpoint of its own; where the other one is to go, wait until it left Git",
			"its endpoint is that of cluster %s as well", all[i]))
		return true
	})
}

// tellOverlaps tells of pools that overlap, of those of a namespace and those without one that its
// clusters have.
func (b *Builder) tellOverlaps(f *fleet.Fleet) {
	type pool struct {
		name    string
		cluster *fleet.Cluster // the first that has it
		ranges  []addressRange
	}
	all := make(map[string][]pool) // by namespace of their clusters
	for i := range f.Clusters {
		c := &f.Clusters[i]
		for _, o := range c.AddressPools() {
			name := o.GVK.Kind + " " + strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
			if list := all[c.Key.Namespace]; !slices.ContainsFunc(list, func(p pool) bool { return p.name == name }) {
				all[c.Key.Namespace] = append(list, pool{name, c, ranges(o.Networks)})
			}
		}
	}
	for _, list := range all {
		for i, p := range list {
			for _, q := range list[i+1:] {
				if _, _, found := overlap(p.ranges, q.ranges); found {
					f.Warnings = append(f.Warnings, b.built[p.cluster.Overlay].problemOf(p.cluster, "", "give each pool addresses of its own",
						"%s and %s overlap: an address that one gave the other does not give", p.name, q.name))
				}
			}
		}
	}
	slices.SortStableFunc(f.Warnings, compareProblems)
	f.Warnings = slices.Compact(f.Warnings)
}

// tellTaken tells of clusters whose endpoint is the address of a host that another cluster has and that
// they have not. It may be right: people may run a load balancer there.
func (b *Builder) tellTaken(f *fleet.Fleet) {
	type owner struct{ cluster, object string }
	hosts := make(map[string][]owner) // by address
	for i := range f.Clusters {
		c := &f.Clusters[i]
		for _, o := range hostsOf(c) {
			for _, a := range o.Networks {
				hosts[a] = append(hosts[a], owner{c.Key.String(), o.GVK.Kind + " " + o.Namespace + "/" + o.Name})
			}
		}
	}
	for i := range f.Clusters {
		c := &f.Clusters[i]
		all := hosts[endpointOf(c).Host]
		if len(all) == 0 || c.Delete || c.Abandon || slices.ContainsFunc(all, func(o owner) bool { return o.cluster == c.Key.String() }) {
			continue
		}
		f.Warnings = append(f.Warnings, b.built[c.Overlay].problemOf(c, "", "give each cluster an endpoint of its own",
			"its endpoint is the address of a host of %s, which cluster %s has", all[0].object, all[0].cluster))
	}
	slices.SortStableFunc(f.Warnings, compareProblems)
}

// hostsOf returns the companions of c that name addresses of single hosts.
func hostsOf(c *fleet.Cluster) []fleet.Object {
	list := c.Companions
	for _, g := range c.Guests {
		list = slices.Concat(list, g.Companions)
	}
	return slices.DeleteFunc(slices.Clone(list), func(o fleet.Object) bool { return strings.HasPrefix(o.GVK.Group, "ipam.") })
}

// endpointOf returns the endpoint that Git names for c in canonical form; zero: none.
func endpointOf(c *fleet.Cluster) fleet.Endpoint {
	e := c.NamedEndpoint()
	e.Host = strings.ToLower(strings.TrimSuffix(e.Host, "."))
	if a, err := netip.ParseAddr(e.Host); err == nil {
		e.Host = a.Unmap().String()
	}
	e.Port = cmp.Or(e.Port, c.Network.APIServerPort, 6443)
	return e
}

// An addressRange is a range of addresses as somebody wrote it.
type addressRange struct {
	text        string
	first, last netip.Addr
}

// ranges parses addresses, prefixes and ranges, and skips invalid ones, which the decoder reports.
func ranges(list []string) []addressRange {
	var out []addressRange
	for _, text := range list {
		from, to, _ := strings.Cut(text, "-")
		r := addressRange{text: text}
		if p, err := netip.ParsePrefix(text); err == nil {
			r.first, r.last = p.Masked().Addr(), lastOf(p)
		} else {
			r.first, _ = netip.ParseAddr(from)
			r.last, _ = netip.ParseAddr(cmp.Or(to, from))
		}
		if r.first.IsValid() && r.last.IsValid() {
			out = append(out, r)
		}
	}
	return out
}

// lastOf returns the last address of p.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	last, _ := netip.AddrFromSlice(b)
	return last
}

// overlap returns the first two of xs and ys that have an address in common.
func overlap(xs, ys []addressRange) (x, y addressRange, found bool) {
	for _, x := range xs {
		for _, y := range ys {
			if x.first.Is4() == y.first.Is4() && x.first.Compare(y.last) <= 0 && y.first.Compare(x.last) <= 0 {
				return x, y, true
			}
		}
	}
	return addressRange{}, addressRange{}, false
}

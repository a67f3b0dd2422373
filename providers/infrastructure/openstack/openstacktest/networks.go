package openstacktest

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// External is the name of the external network of every region, which has the
// addresses of 198.18.0.0/16.
const External = "public"

func networkSpec() *spec {
	return &spec{
		kind: Networks, one: "network", label: "Network", typ: "Network",
		defaults: Object{
			"name": "", "description": "", "admin_state_up": true, "shared": false, "router:external": false,
			"port_security_enabled": true, "mtu": 1450, "availability_zone_hints": []string{}, "dns_domain": "",
			"qos_policy_id": nil, "is_default": false,
			"provider:network_type": "vxlan", "provider:physical_network": nil, "provider:segmentation_id": nil,
		},
		wide: []string{"subnets", "ipv4_address_scope", "ipv6_address_scope", "availability_zones"},
		create: func(k *call, o Object) error {
			o["status"], o["availability_zones"] = "ACTIVE", []string{}
			return nil
		},
		remove: func(k *call, o Object) error {
			all := k.r.tables[Ports].where("network_id", o.ID())
			if held := slices.DeleteFunc(slices.Clone(all), goesAlong); len(held) > 0 {
				return refuse(http.StatusConflict, "NetworkInUse", "Unable to complete operation on network %s. "+
					"There are one or more ports still in use on the network, id for these ports is %s.", o.ID(), ids(held))
			}
			for _, p := range all {
				k.drop(Ports, p.ID())
			}
			for _, s := range k.r.tables[Subnets].where("network_id", o.ID()) {
				k.drop(Subnets, s.ID())
			}
			return nil
		},
		show: func(k *call, o Object) Object {
			v := o.without()
			subnets := []string{}
			for _, s := range k.r.tables[Subnets].where("network_id", o.ID()) {
				subnets = append(subnets, s.ID())
			}
			v["subnets"] = subnets
			if !k.admin() {
				return v.without("provider:network_type", "provider:physical_network", "provider:segmentation_id")
			}
			return v
		},
	}
}

// ids returns the ids of objects, separated by commas.
func ids(objects []Object) string {
	var out []string
	for _, o := range objects {
		out = append(out, o.ID())
	}
	return strings.Join(out, ",")
}

func subnetSpec() *spec {
	return &spec{
		kind: Subnets, one: "subnet", label: "Subnet", typ: "Subnet",
		required: []string{"network_id", "ip_version"},
		defaults: Object{
			"name": "", "description": "", "cidr": nil, "enable_dhcp": true, "gateway_ip": nil, "dns_nameservers": []string{},
			"allocation_pools": nil, "host_routes": []Object{}, "ipv6_address_mode": nil, "ipv6_ra_mode": nil,
			"subnetpool_id": nil, "prefixlen": nil, "segment_id": nil, "service_types": []string{}, "dns_publish_fixed_ip": false,
		},
		fixed:  []string{"network_id", "ip_version", "cidr", "ipv6_address_mode", "ipv6_ra_mode"},
		create: createSubnet,
		remove: func(k *call, o Object) error {
			all := k.r.tables[Ports].all(func(p Object) bool { return p.on(o.ID()) })
			if slices.ContainsFunc(all, func(p Object) bool { return !goesAlong(p) }) {
				return refuse(http.StatusConflict, "SubnetInUse", "Unable to complete operation on subnet %s: "+
					"One or more ports have an IP allocation from this subnet.", o.ID())
			}
			for _, p := range all {
				p["fixed_ips"] = slices.DeleteFunc(p.Objects("fixed_ips"), func(ip Object) bool { return ip.String("subnet_id") == o.ID() })
			}
			return nil
		},
	}
}

// goesAlong reports whether Neutron removes a port with its network, and its addresses with their
// subnets.
// Source: Neutron, neutron/db/db_base_plugin_v2.py, AUTO_DELETE_PORT_OWNERS.
func goesAlong(port Object) bool {
	return slices.Contains([]string{"network:dhcp", "network:distributed", "network:floatingip_agent_gateway"}, port.String("device_owner"))
}

// on reports whether a port has an address of a subnet.
func (o Object) on(subnet string) bool {
	return slices.ContainsFunc(o.Objects("fixed_ips"), func(ip Object) bool { return ip.String("subnet_id") == subnet })
}

func createSubnet(k *call, o Object) error {
	n := k.find(Networks, o.String("network_id"))
	if n == nil {
		return k.kinds[Networks].missing(o.String("network_id"))
	}
	prefix, err := netip.ParsePrefix(o.String("cidr"))
	if err != nil {
		return refuse(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: %s is not in a CIDR format.", o.String("cidr"))
	}
	if prefix.Addr().Is4() != (o.Int("ip_version") == 4) {
		return refuse(http.StatusBadRequest, "BadRequest", "Bad subnets request: ip_version %d does not match cidr %s", o.Int("ip_version"), prefix)
	}
	for _, other := range k.r.tables[Subnets].where("network_id", n.ID()) {
		if p, err := netip.ParsePrefix(other.String("cidr")); err == nil && other.ID() != o.ID() && p.Overlaps(prefix) {
			return refuse(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: Requested subnet with cidr: %s for network: %s "+
				"overlaps with another subnet.", prefix, n.ID())
		}
	}
	first := prefix.Masked().Addr().Next()
	if !o.has("gateway_ip") {
		o["gateway_ip"] = first.String()
	}
	if !o.has("allocation_pools") {
		o["allocation_pools"] = []Object{{"start": first.Next().String(), "end": last(prefix).String()}}
	}
	return nil
}

// last returns the last address of a subnet that hosts may have.
func last(p netip.Prefix) netip.Addr {
	raw := p.Masked().Addr().AsSlice()
	host := len(raw)*8 - p.Bits()
	for i := range host {
		raw[len(raw)-1-i/8] |= 1 << (i % 8)
	}
	a, _ := netip.AddrFromSlice(raw)
	if a.Is4() {
		return a.Prev()
	}
	return a
}

// allocate returns a free address of a subnet for a port.
func (k *call) allocate(subnet Object, port string) (string, error) {
	used := k.addresses(subnet.String("network_id"), port)
	for _, pool := range subnet.Objects("allocation_pools") {
		a, err1 := netip.ParseAddr(pool.String("start"))
		end, err2 := netip.ParseAddr(pool.String("end"))
		if err1 != nil || err2 != nil {
			continue
		}
		for ; !end.Less(a); a = a.Next() {
			if !used[a.String()] && a.String() != subnet.String("gateway_ip") {
				return a.String(), nil
			}
		}
	}
	return "", refuse(http.StatusConflict, "IpAddressGenerationFailure", "No more IP addresses available on network %s.", subnet.String("network_id"))
}

// addresses returns the addresses that ports have on a network, but one.
func (k *call) addresses(network, but string) map[string]bool {
	used := make(map[string]bool)
	for _, p := range k.r.tables[Ports].where("network_id", network) {
		for _, ip := range p.Objects("fixed_ips") {
			if p.ID() == but {
				continue
			}
			used[ip.String("ip_address")] = true
		}
	}
	return used
}

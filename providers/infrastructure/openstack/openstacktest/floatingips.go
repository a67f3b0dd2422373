package openstacktest

import (
	"net/http"
	"slices"
)

func floatingIPSpec() *spec {
	return &spec{
		kind: FloatingIPs, one: "floatingip", label: "Floating IP", typ: "FloatingIP", ending: "could not be found",
		required: []string{"floating_network_id"},
		defaults: Object{
			"description": "", "port_id": nil, "fixed_ip_address": nil, "floating_ip_address": nil, "subnet_id": nil,
			"dns_name": "", "dns_domain": "", "qos_policy_id": nil,
		},
		wide:  []string{"router_id", "port_details"},
		fixed: []string{"floating_network_id", "floating_ip_address", "subnet_id"},
		create: func(k *call, o Object) error {
			o["status"], o["router_id"] = "DOWN", nil
			n := k.find(Networks, o.String("floating_network_id"))
			if n == nil {
				return k.kinds[Networks].missing(o.String("floating_network_id"))
			}
			if !n.Bool("router:external") {
				return refuse(http.StatusBadRequest, "BadRequest", "Bad floatingip request: Network %s is not a valid external network.", n.ID())
			}
			p := Object{"network_id": n.ID(), "device_owner": "network:floatingip", "device_id": o.ID(), "status": "N/A", "security_groups": []string{}}
			if o.has("floating_ip_address") {
				p["fixed_ips"] = []Object{{"ip_address": o["floating_ip_address"]}}
			} else if o.has("subnet_id") {
				p["fixed_ips"] = []Object{{"subnet_id": o["subnet_id"]}}
			}
			if err := k.address(p, p); err != nil {
				return err
			}
			o["floating_ip_address"] = p.Objects("fixed_ips")[0]["ip_address"]
			if o.has("port_id") {
				if err := k.attachFloating(o, o); err != nil {
					return err
				}
			}
			k.put(k.r, Ports, "", p)
			return nil
		},
		update: func(k *call, o, change Object) error {
			if _, ok := change["port_id"]; !ok {
				return nil
			}
			if !change.has("port_id") {
				change["fixed_ip_address"] = nil
				o["router_id"], o["status"] = nil, "DOWN"
				return nil
			}
			return k.attachFloating(o, change)
		},
		remove: func(k *call, o Object) error {
			for _, p := range k.r.tables[Ports].where("device_id", o.ID()) {
				k.drop(Ports, p.ID())
			}
			return nil
		},
		show: func(_ *call, o Object) Object { return o.without("subnet_id") },
	}
}

// attachFloating ties the floating IP o to the port that want names.
func (k *call) attachFloating(o, want Object) error {
	p := k.find(Ports, want.String("port_id"))
	if p == nil {
		return k.kinds[Ports].missing(want.String("port_id"))
	}
	fixed := p.Objects("fixed_ips")
	if want.has("fixed_ip_address") {
		fixed = slices.DeleteFunc(slices.Clone(fixed), func(ip Object) bool { return ip.String("ip_address") != want.String("fixed_ip_address") })
	}
	if len(fixed) == 0 {
		return refuse(http.StatusBadRequest, "BadRequest", "Bad floatingip request: Cannot add floating IP to port %s that has no fixed IPv4 addresses.", p.ID())
	}
	subnet, address := fixed[0].String("subnet_id"), fixed[0].String("ip_address")
	for _, f := range k.r.tables[FloatingIPs].where("port_id", p.ID()) {
		if f.ID() != o.ID() && f.String("fixed_ip_address") == address {
			return refuse(http.StatusConflict, "FloatingIPPortAlreadyAssociated", "Cannot associate floating IP %s (%s) with port %s using fixed IP %s, "+
				"as that fixed IP already has a floating IP on external network %s.", o.String("floating_ip_address"), o.ID(), p.ID(), address, o.String("floating_network_id"))
		}
	}
	router := k.routerTo(subnet, o.String("floating_network_id"))
	if router == "" {
		return refuse(http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound", "External network %s is not reachable from subnet %s.  "+
			"Therefore, cannot associate Port %s with a Floating IP.", o.String("floating_network_id"), subnet, p.ID())
	}
	want["fixed_ip_address"] = address
	o["router_id"], o["status"] = router, "ACTIVE"
	return nil
}

// routerTo returns the id of the router that leads from a subnet to an external
// network.
func (k *call) routerTo(subnet, network string) string {
	for _, r := range k.r.tables[Routers].all(func(r Object) bool {
		return r.Object("external_gateway_info").String("network_id") == network
	}) {
		if slices.ContainsFunc(k.interfaces(r.ID()), func(p Object) bool { return p.on(subnet) }) {
			return r.ID()
		}
	}
	return ""
}

// detachFloating frees the floating IPs of a port that goes.
func (k *call) detachFloating(port string) {
	for _, f := range k.r.tables[FloatingIPs].where("port_id", port) {
		f["port_id"], f["fixed_ip_address"], f["router_id"], f["status"] = nil, nil, nil, "DOWN"
	}
}

package openstacktest

import (
	"net/http"
	"slices"
)

const (
	routerInterface = "network:router_interface"
	routerGateway   = "network:router_gateway"
)

func routerSpec() *spec {
	return &spec{
		kind: Routers, one: "router", label: "Router", typ: "Router", ending: "could not be found",
		defaults: Object{
			"name": "", "description": "", "admin_state_up": true, "external_gateway_info": nil, "availability_zone_hints": []string{},
			"routes": []Object{}, "distributed": false, "ha": false, "flavor_id": nil,
		},
		wide: []string{"availability_zones"},
		create: func(k *call, o Object) error {
			o["status"], o["availability_zones"] = "ACTIVE", []string{}
			if o.has("external_gateway_info") {
				return k.gateway(o, o)
			}
			return nil
		},
		update: func(k *call, o, change Object) error {
			if _, ok := change["external_gateway_info"]; ok {
				return k.gateway(o, change)
			}
			return nil
		},
		remove: func(k *call, o Object) error {
			if in := k.interfaces(o.ID()); len(in) > 0 {
				return refuse(http.StatusConflict, "RouterInUse", "Router %s has ports still attached: %s", o.ID(), ids(in))
			}
			k.dropGateway(o.ID())
			return nil
		},
	}
}

// interfaces returns the ports of a router on the networks behind it.
func (k *call) interfaces(router string) []Object {
	return k.r.tables[Ports].all(func(p Object) bool {
		return p.String("device_id") == router && p.String("device_owner") == routerInterface
	})
}

func (k *call) dropGateway(router string) {
	for _, p := range k.r.tables[Ports].where("device_id", router) {
		if p.String("device_owner") == routerGateway {
			k.drop(Ports, p.ID())
		}
	}
}

// gateway gives the router o the gateway that want asks for.
func (k *call) gateway(o, want Object) error {
	info := want.Object("external_gateway_info")
	for _, f := range k.r.tables[FloatingIPs].where("router_id", o.ID()) {
		if info == nil || f.String("floating_network_id") != info.String("network_id") {
			return refuse(http.StatusConflict, "RouterExternalGatewayInUseByFloatingIp", "Gateway cannot be updated for router %s, "+
				"since a gateway to external network %s is required by one or more floating IPs.", o.ID(), f.String("floating_network_id"))
		}
	}
	k.dropGateway(o.ID())
	if len(info) == 0 {
		want["external_gateway_info"] = nil
		return nil
	}
	n := k.find(Networks, info.String("network_id"))
	if n == nil {
		return k.kinds[Networks].missing(info.String("network_id"))
	}
	if !n.Bool("router:external") {
		return refuse(http.StatusBadRequest, "BadRequest", "Bad router request: Network %s is not an external network.", n.ID())
	}
	p := Object{"network_id": n.ID(), "device_id": o.ID(), "device_owner": routerGateway, "status": "ACTIVE", "security_groups": []string{}}
	if ips, ok := info["external_fixed_ips"]; ok {
		p["fixed_ips"] = ips
	}
	if err := k.address(p, p); err != nil {
		return err
	}
	k.put(k.r, Ports, "", p)
	snat := true
	if v, ok := info["enable_snat"].(bool); ok {
		snat = v
	}
	want["external_gateway_info"] = Object{"network_id": n.ID(), "enable_snat": snat, "external_fixed_ips": p["fixed_ips"]}
	return nil
}

// routerOf returns the router that a request about an interface is about.
func (k *call) routerOf() (Object, error) {
	r := k.find(Routers, k.arg("id"))
	if r == nil {
		return nil, k.kinds[Routers].missing(k.arg("id"))
	}
	return r, nil
}

func addRouterInterface(k *call) (any, error) {
	r, err := k.routerOf()
	if err != nil {
		return nil, err
	}
	port := k.find(Ports, k.body.String("port_id"))
	subnet := k.find(Subnets, k.body.String("subnet_id"))
	switch {
	case k.body.has("port_id") && port == nil:
		return nil, k.kinds[Ports].missing(k.body.String("port_id"))
	case port != nil && port.String("device_id") != "":
		return nil, refuse(http.StatusConflict, "PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
			port.ID(), port.String("network_id"), port.String("device_id"))
	case port == nil && subnet == nil:
		return nil, k.kinds[Subnets].missing(k.body.String("subnet_id"))
	case port == nil:
		for _, p := range k.interfaces(r.ID()) {
			if p.on(subnet.ID()) {
				return nil, refuse(http.StatusBadRequest, "BadRequest", "Bad router request: Router already has a port on subnet %s.", subnet.ID())
			}
		}
		gateway := subnet.String("gateway_ip")
		if k.addresses(subnet.String("network_id"), "")[gateway] {
			return nil, refuse(http.StatusConflict, "IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", gateway, subnet.ID())
		}
		id := k.put(k.r, Ports, r.String("project_id"), Object{
			"network_id": subnet["network_id"], "security_groups": []string{}, "port_security_enabled": false, "mac_address": "fa:16:3e:00:00:01",
			"fixed_ips": []Object{{"subnet_id": subnet.ID(), "ip_address": gateway}},
		})
		port = k.r.tables[Ports].get(id)
	}
	port["device_id"], port["device_owner"], port["status"] = r.ID(), routerInterface, "ACTIVE"
	return interfaceInfo(r, port), nil
}

func interfaceInfo(r, port Object) Object {
	var subnets []string
	for _, ip := range port.Objects("fixed_ips") {
		subnets = append(subnets, ip.String("subnet_id"))
	}
	return Object{
		"id": r.ID(), "tenant_id": r["project_id"], "network_id": port["network_id"], "port_id": port.ID(),
		"subnet_id": subnets[0], "subnet_ids": subnets, "tags": []string{},
	}
}

func removeRouterInterface(k *call) (any, error) {
	r, err := k.routerOf()
	if err != nil {
		return nil, err
	}
	ports := k.interfaces(r.ID())
	i := slices.IndexFunc(ports, func(p Object) bool {
		return p.ID() == k.body.String("port_id") || k.body.has("subnet_id") && p.on(k.body.String("subnet_id"))
	})
	switch {
	case i < 0 && k.body.has("port_id"):
		return nil, refuse(http.StatusNotFound, "RouterInterfaceNotFound", "Router %s does not have an interface with id %s", r.ID(), k.body.String("port_id"))
	case i < 0 && k.r.tables[Subnets].get(k.body.String("subnet_id")) == nil:
		return nil, k.kinds[Subnets].missing(k.body.String("subnet_id"))
	case i < 0:
		return nil, refuse(http.StatusNotFound, "RouterInterfaceNotFoundForSubnet", "Router %s has no interface on subnet %s", r.ID(), k.body.String("subnet_id"))
	}
	info := interfaceInfo(r, ports[i])
	for _, f := range k.r.tables[FloatingIPs].where("router_id", r.ID()) {
		if p := k.r.tables[Ports].get(f.String("port_id")); p != nil && p.on(info.String("subnet_id")) {
			return nil, refuse(http.StatusConflict, "RouterInterfaceInUseByFloatingIP", "Router interface for subnet %s on router %s cannot be deleted, "+
				"as it is required by one or more floating IPs.", info.String("subnet_id"), r.ID())
		}
	}
	k.drop(Ports, ports[i].ID())
	return info, nil
}

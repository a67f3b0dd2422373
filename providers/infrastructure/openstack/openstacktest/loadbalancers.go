package openstacktest

import (
	"net/http"
	"slices"
)

func loadBalancerSpec() *spec {
	return &spec{
		kind: LoadBalancers, one: "loadbalancer", label: "Load Balancer",
		defaults: Object{
			"name": "", "description": "", "admin_state_up": true, "vip_address": nil, "vip_port_id": nil, "vip_subnet_id": nil,
			"vip_network_id": nil, "provider": "amphora", "flavor_id": nil, "availability_zone": nil, "vip_qos_policy_id": nil,
			"tags": []string{}, "additional_vips": []Object{},
		},
		fixed:  []string{"vip_address", "vip_port_id", "vip_subnet_id", "vip_network_id", "provider", "flavor_id", "availability_zone", "additional_vips"},
		create: createLoadBalancer,
		remove: removeLoadBalancer,
		show: func(k *call, o Object) Object {
			v := o.without("lb", "own_port")
			v["listeners"], v["pools"] = refs(k.r.tables[Listeners].where("lb", o.ID())), refs(k.r.tables[Pools].where("lb", o.ID()))
			return v
		},
	}
}

func createLoadBalancer(k *call, o Object) error {
	o["lb"] = o.ID()
	if !slices.Contains([]string{"amphora", "ovn", "octavia"}, o.String("provider")) {
		return refuse(http.StatusBadRequest, "", "Provider '%s' is not enabled.", o.String("provider"))
	}
	if f := o.String("flavor_id"); f != "" && f != lbFlavor {
		return refuse(http.StatusBadRequest, "", "Validation failure: Invalid flavor_id.")
	}
	if z := o.String("availability_zone"); z != "" && z != "az1" {
		return refuse(http.StatusBadRequest, "", "Validation failure: Invalid availability zone.")
	}
	p := k.find(Ports, o.String("vip_port_id"))
	subnet := k.find(Subnets, o.String("vip_subnet_id"))
	switch {
	case o.has("vip_port_id") && p == nil:
		return refuse(http.StatusBadRequest, "", "Port %s not found.", o.String("vip_port_id"))
	case o.has("vip_subnet_id") && subnet == nil:
		return refuse(http.StatusBadRequest, "", "Subnet %s not found.", o.String("vip_subnet_id"))
	case o.has("vip_network_id") && k.find(Networks, o.String("vip_network_id")) == nil:
		return refuse(http.StatusBadRequest, "", "Network %s not found.", o.String("vip_network_id"))
	case !o.has("vip_port_id") && !o.has("vip_subnet_id") && !o.has("vip_network_id"):
		return refuse(http.StatusBadRequest, "", "Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
	}
	if p == nil {
		in := Object{
			"name": "octavia-lb-" + o.ID(), "device_owner": "Octavia", "device_id": "lb-" + o.ID(), "admin_state_up": false,
			"network_id": o["vip_network_id"], "security_groups": []string{},
		}
		ip := Object{}
		if subnet != nil {
			in["network_id"], ip["subnet_id"] = subnet["network_id"], subnet.ID()
		}
		if o.has("vip_address") {
			ip["ip_address"] = o["vip_address"]
		}
		if len(ip) > 0 {
			in["fixed_ips"] = []Object{ip}
		}
		if err := k.address(in, in); err != nil {
			return refuse(http.StatusConflict, "", "%s", err)
		}
		p = k.r.tables[Ports].get(k.put(k.r, Ports, k.project, in))
		o["own_port"] = true
		if err := createPort(k, p); err != nil {
			k.drop(Ports, p.ID())
			return refuse(http.StatusInternalServerError, "", "Provider 'amphora' reports error: %s", err)
		}
	}
	fixed := p.Objects("fixed_ips")[0]
	o["vip_port_id"], o["vip_network_id"] = p.ID(), p["network_id"]
	o["vip_subnet_id"], o["vip_address"] = fixed["subnet_id"], fixed["ip_address"]
	return nil
}

func removeLoadBalancer(k *call, o Object) error {
	if s := o.String("provisioning_status"); s != "ACTIVE" && s != "ERROR" {
		return refuse(http.StatusConflict, "", "Load Balancer %s is immutable and cannot be updated.", o.ID())
	}
	parts := 0
	for _, kind := range []Kind{Listeners, Pools} {
		parts += len(k.r.tables[kind].where("lb", o.ID()))
	}
	if parts > 0 && k.query.Get("cascade") != "true" {
		return refuse(http.StatusBadRequest, "", "Validation failure: Cannot delete Load Balancer %s - it has children", o.ID())
	}
	w := *k
	k.after(k.options.Delays.LoadBalancer, func() {
		k := &w
		for _, kind := range []Kind{Listeners, Pools, Members, Monitors} {
			for _, part := range k.r.tables[kind].where("lb", o.ID()) {
				k.drop(kind, part.ID())
			}
		}
		if p := k.r.tables[Ports].get(o.String("vip_port_id")); p != nil && o.Bool("own_port") {
			k.detachFloating(p.ID())
			k.drop(Ports, p.ID())
		}
		k.drop(LoadBalancers, o.ID())
	})
	return nil
}

// lbOf returns the load balancer that a request is about.
func (k *call) lbOf() (Object, error) {
	o := k.find(LoadBalancers, k.arg("id"))
	if o == nil {
		return nil, k.kinds[LoadBalancers].gone(k.arg("id"))
	}
	return o, nil
}

// lbFailover rebuilds a load balancer, which repairs one in ERROR.
func lbFailover(k *call) (any, error) {
	o, err := k.lbOf()
	if err != nil {
		return nil, err
	}
	if s := o.String("provisioning_status"); s != "ACTIVE" && s != "ERROR" {
		return nil, k.mutable(o.ID())
	}
	if k.isOVN(o.ID()) {
		return nil, ovnLacks("action", "This provider does not support loadbalancer failover.")
	}
	o["provisioning_status"] = "PENDING_UPDATE"
	k.busy(o.ID(), o)
	return nil, nil
}

func lbStatus(k *call) (any, error) {
	o, err := k.lbOf()
	if err != nil {
		return nil, err
	}
	brief := func(o Object, more Object) Object {
		v := Object{"id": o.ID(), "name": o["name"], "operating_status": o["operating_status"], "provisioning_status": o["provisioning_status"]}
		for key, x := range more {
			v[key] = x
		}
		return v
	}
	pools := func(match func(Object) bool) []Object {
		out := []Object{}
		for _, p := range k.r.tables[Pools].where("lb", o.ID()) {
			if !match(p) {
				continue
			}
			members := []Object{}
			for _, m := range k.r.tables[Members].where("pool", p.ID()) {
				members = append(members, brief(m, Object{"address": m["address"], "protocol_port": m["protocol_port"]}))
			}
			v := brief(p, Object{"members": members})
			for _, m := range k.r.tables[Monitors].where("pool", p.ID()) {
				v["health_monitor"] = brief(m, Object{"type": m["type"]})
			}
			out = append(out, v)
		}
		return out
	}
	listeners := []Object{}
	for _, l := range k.r.tables[Listeners].where("lb", o.ID()) {
		listeners = append(listeners, brief(l, Object{"pools": pools(func(p Object) bool { return p.ID() == l.String("default_pool_id") })}))
	}
	tree := brief(o, Object{"listeners": listeners, "pools": pools(func(Object) bool { return true })})
	return Object{"statuses": Object{"loadbalancer": tree}}, nil
}

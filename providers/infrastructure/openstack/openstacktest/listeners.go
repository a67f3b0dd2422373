package openstacktest

import (
	"net/http"
	"slices"
)

func listenerSpec() *spec {
	return &spec{
		kind: Listeners, one: "listener", label: "Listener",
		required: []string{"protocol", "protocol_port"},
		defaults: Object{
			"name": "", "description": "", "admin_state_up": true, "loadbalancer_id": nil, "default_pool_id": nil, "connection_limit": -1,
			"allowed_cidrs": nil, "insert_headers": Object{}, "tags": []string{}, "timeout_client_data": 50000,
			"timeout_member_connect": 5000, "timeout_member_data": 50000, "timeout_tcp_inspect": 0,
		},
		fixed: []string{"loadbalancer_id", "protocol", "protocol_port"},
		create: func(k *call, o Object) error {
			lb := k.find(LoadBalancers, o.String("loadbalancer_id"))
			if lb == nil {
				return k.kinds[LoadBalancers].gone(o.String("loadbalancer_id"))
			}
			o["lb"] = lb.ID()
			if err := k.ovnListener(lb.ID(), o); err != nil {
				return err
			}
			for _, l := range k.r.tables[Listeners].where("lb", lb.ID()) {
				if l.Int("protocol_port") == o.Int("protocol_port") {
					return refuse(http.StatusConflict, "", "Another Listener on this Load Balancer is already using protocol %s and protocol_port %d",
						o.String("protocol"), o.Int("protocol_port"))
				}
			}
			return k.mutable(lb.ID())
		},
		update: func(k *call, o, change Object) error { return k.ovnListener(o.String("lb"), change) },
		remove: func(*call, Object) error { return nil },
		show: func(k *call, o Object) Object {
			v := o.without("lb", "loadbalancer_id")
			v["loadbalancers"] = []Object{{"id": o["lb"]}}
			v["l7policies"] = []Object{}
			return v
		},
	}
}

func poolSpec() *spec {
	return &spec{
		kind: Pools, one: "pool", label: "Pool",
		required: []string{"protocol", "lb_algorithm"},
		defaults: Object{
			"name": "", "description": "", "admin_state_up": true, "loadbalancer_id": nil, "listener_id": nil, "session_persistence": nil,
			"tags": []string{}, "tls_enabled": false,
		},
		fixed: []string{"loadbalancer_id", "listener_id", "protocol"},
		create: func(k *call, o Object) error {
			lb := o.String("loadbalancer_id")
			l := k.find(Listeners, o.String("listener_id"))
			switch {
			case o.has("listener_id") && l == nil:
				return refuse(http.StatusInternalServerError, "", "'NoneType' object has no attribute 'load_balancer_id'") // of Octavia Zed
			case l != nil:
				lb = l.String("lb")
			case lb == "":
				return refuse(http.StatusBadRequest, "", "Validation failure: Must provide at least one of: loadbalancer_id, listener_id")
			}
			if k.find(LoadBalancers, lb) == nil {
				return k.kinds[LoadBalancers].gone(lb)
			}
			if l != nil && k.r.tables[Pools].get(l.String("default_pool_id")) != nil {
				return refuse(http.StatusConflict, "", "This listener already has a default pool")
			}
			o["lb"] = lb
			if err := k.mutable(lb); err != nil {
				return err
			}
			if a := o.String("lb_algorithm"); k.isOVN(lb) && a != "SOURCE_IP_PORT" {
				return ovnLacks("option", "OVN provider does not support %s algorithm", a)
			}
			if l != nil {
				l["default_pool_id"] = o.ID()
			}
			return nil
		},
		remove: func(k *call, o Object) error {
			for _, l := range k.r.tables[Listeners].where("default_pool_id", o.ID()) {
				l["default_pool_id"] = nil
			}
			for _, kind := range []Kind{Members, Monitors} {
				for _, x := range k.r.tables[kind].where("pool", o.ID()) {
					k.drop(kind, x.ID())
				}
			}
			return nil
		},
		show: func(k *call, o Object) Object {
			v := o.without("lb", "loadbalancer_id", "listener_id")
			v["loadbalancers"], v["listeners"] = []Object{{"id": o["lb"]}}, refs(k.r.tables[Listeners].where("default_pool_id", o.ID()))
			v["members"], v["healthmonitor_id"] = refs(k.r.tables[Members].where("pool", o.ID())), nil
			for _, m := range k.r.tables[Monitors].where("pool", o.ID()) {
				v["healthmonitor_id"] = m.ID()
			}
			return v
		},
	}
}

func memberSpec() *spec {
	return &spec{
		kind: Members, one: "member", label: "Member", path: "/pools/{pool}/members",
		required: []string{"address", "protocol_port"},
		defaults: Object{
			"name": "", "admin_state_up": true, "subnet_id": nil, "weight": 1, "backup": false, "monitor_address": nil,
			"monitor_port": nil, "tags": []string{},
		},
		fixed: []string{"address", "protocol_port", "subnet_id"},
		create: func(k *call, o Object) error {
			p := k.find(Pools, o.String("pool"))
			if p == nil {
				return k.kinds[Pools].gone(o.String("pool"))
			}
			for _, m := range k.r.tables[Members].where("pool", p.ID()) {
				if m.String("address") == o.String("address") && m.Int("protocol_port") == o.Int("protocol_port") {
					return refuse(http.StatusConflict, "", "Another member on this pool is already using ip %s on protocol_port %d",
						o.String("address"), o.Int("protocol_port"))
				}
			}
			if o.has("subnet_id") && k.find(Subnets, o.String("subnet_id")) == nil {
				return refuse(http.StatusBadRequest, "", "Subnet %s not found.", o.String("subnet_id"))
			}
			o["lb"] = p["lb"]
			return k.mutable(p.String("lb"))
		},
		remove: func(*call, Object) error { return nil },
		show:   func(_ *call, o Object) Object { return o.without("lb", "pool") },
	}
}

// batchMembers makes the members of a pool those that a request names.
func batchMembers(k *call) (any, error) {
	p := k.find(Pools, k.arg("pool"))
	if p == nil {
		return nil, k.kinds[Pools].gone(k.arg("pool"))
	}
	if err := k.mutable(p.String("lb")); err != nil {
		return nil, err
	}
	wanted := k.body.Objects("members")
	for _, m := range k.r.tables[Members].where("pool", p.ID()) {
		same := func(w Object) bool {
			return w.String("address") == m.String("address") && w.Int("protocol_port") == m.Int("protocol_port")
		}
		i := slices.IndexFunc(wanted, same)
		if i >= 0 {
			for key, v := range wanted[i] {
				m[key] = v
			}
			wanted = slices.Delete(slices.Clone(wanted), i, i+1)
		} else if k.query.Get("additive_only") != "true" {
			m["provisioning_status"] = "PENDING_DELETE"
			k.busy(p.String("lb"), m)
		}
	}
	for _, w := range wanted {
		o := w.clone()
		for key, v := range k.kinds[Members].defaults {
			if !o.has(key) {
				o[key] = cloneValue(v)
			}
		}
		o["pool"], o["lb"] = p.ID(), p["lb"]
		k.busy(p.String("lb"), k.r.tables[Members].get(k.put(k.r, Members, k.project, o)))
	}
	return nil, nil
}

func monitorSpec() *spec {
	return &spec{
		kind: Monitors, one: "healthmonitor", label: "Health Monitor",
		required: []string{"type", "delay", "timeout", "max_retries", "pool_id"},
		defaults: Object{
			"name": "", "admin_state_up": true, "max_retries_down": 3, "http_method": nil, "url_path": nil, "expected_codes": nil,
			"http_version": nil, "domain_name": nil, "tags": []string{},
		},
		fixed: []string{"pool_id", "type"},
		create: func(k *call, o Object) error {
			p := k.find(Pools, o.String("pool_id"))
			if p == nil {
				return k.kinds[Pools].gone(o.String("pool_id"))
			}
			if len(k.r.tables[Monitors].where("pool", p.ID())) > 0 {
				return refuse(http.StatusConflict, "", "This pool already has a health monitor")
			}
			o["lb"], o["pool"] = p["lb"], p.ID()
			if t := o.String("type"); k.isOVN(p.String("lb")) && t != "TCP" && t != "UDP-CONNECT" {
				return ovnLacks("option", "OVN provider does not support health monitor type %s.", t)
			}
			return k.mutable(p.String("lb"))
		},
		remove: func(*call, Object) error { return nil },
		show: func(_ *call, o Object) Object {
			v := o.without("lb", "pool", "pool_id")
			v["pools"] = []Object{{"id": o["pool"]}}
			return v
		},
	}
}

package openstacktest

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

func portSpec() *spec {
	return &spec{
		kind: Ports, one: "port", label: "Port", typ: "Port",
		required: []string{"network_id"},
		defaults: Object{
			"name": "", "description": "", "admin_state_up": true, "device_id": "", "device_owner": "", "mac_address": nil,
			"fixed_ips": nil, "security_groups": nil, "allowed_address_pairs": []Object{}, "extra_dhcp_opts": []Object{},
			"port_security_enabled": nil, "propagate_uplink_status": false, "qos_policy_id": nil, "dns_name": "", "dns_domain": "",
			"binding:vnic_type": "normal", "binding:profile": Object{}, "binding:host_id": "", "value_specs": nil,
		},
		wide:   []string{"binding:vif_type", "binding:vif_details", "security_groups", "ip_allocation", "trunk_details"},
		fixed:  []string{"network_id"},
		create: createPort,
		update: updatePort,
		remove: func(k *call, o Object) error { return k.removePort(o) },
		show: func(k *call, o Object) Object {
			if k.admin() {
				return o.without("value_specs")
			}
			return o.without("value_specs", "binding:host_id", "binding:profile", "binding:vif_type", "binding:vif_details")
		},
	}
}

func createPort(k *call, o Object) error {
	n := k.find(Networks, o.String("network_id"))
	if n == nil {
		return k.kinds[Networks].missing(o.String("network_id"))
	}
	if err := k.address(o, o); err != nil {
		return err
	}
	if !o.has("mac_address") {
		h := strings.ReplaceAll(o.ID(), "-", "")
		o["mac_address"] = fmt.Sprintf("fa:16:3e:%s:%s:%s", h[0:2], h[2:4], h[4:6])
	}
	if o["port_security_enabled"] == nil {
		o["port_security_enabled"] = n["port_security_enabled"]
	}
	if o["security_groups"] == nil {
		o["security_groups"] = []string{}
		if o.Bool("port_security_enabled") && !strings.HasPrefix(o.String("device_owner"), "network:") {
			o["security_groups"] = []string{k.defaultGroup(o.String("project_id")).ID()}
		}
	}
	o["status"], o["binding:vif_type"] = "DOWN", "unbound"
	return k.secure(o, o.Strings("security_groups"), o.Objects("allowed_address_pairs"))
}

// secure checks security groups and address pairs of a port.
func (k *call) secure(o Object, groups []string, pairs []Object) error {
	for _, id := range groups {
		if k.find(SecurityGroups, id) == nil {
			return k.kinds[SecurityGroups].missing(id)
		}
	}
	if !o.Bool("port_security_enabled") && (len(groups) > 0 || len(pairs) > 0) {
		if len(pairs) > 0 {
			return refuse(http.StatusConflict, "AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
		}
		return refuse(http.StatusConflict, "PortSecurityAndIPRequiredForSecurityGroups", "Port security must be enabled and port must have an IP address in order to use security groups.")
	}
	for _, p := range pairs {
		if !p.has("mac_address") {
			p["mac_address"] = o["mac_address"]
		}
	}
	return nil
}

// address gives the port o the addresses that want asks for: one of the first
// IPv4 and of each automatic IPv6 subnet where it asks for none.
func (k *call) address(o, want Object) error {
	network := o.String("network_id")
	subnets := k.r.tables[Subnets].where("network_id", network)
	if !want.has("fixed_ips") {
		want["fixed_ips"] = []Object{}
		full := map[int]error{} // families without a free address so far; nil: it has one
		for _, s := range subnets {
			v := s.Int("ip_version")
			if err, tried := full[v]; tried && err == nil {
				continue
			}
			a, err := k.allocate(s, o.ID())
			if full[v] = err; err == nil {
				want["fixed_ips"] = append(want.Objects("fixed_ips"), Object{"subnet_id": s.ID(), "ip_address": a})
			}
		}
		for _, err := range full {
			if err != nil {
				return err
			}
		}
		return nil
	}
	var got []Object
	for _, ip := range want.Objects("fixed_ips") {
		i := slices.IndexFunc(subnets, func(s Object) bool {
			if ip.has("subnet_id") {
				return s.ID() == ip.String("subnet_id")
			}
			p, err := netip.ParsePrefix(s.String("cidr"))
			a, err2 := netip.ParseAddr(ip.String("ip_address"))
			return err == nil && err2 == nil && p.Contains(a)
		})
		switch {
		case i < 0 && ip.has("subnet_id") && k.find(Subnets, ip.String("subnet_id")) == nil:
			return k.kinds[Subnets].missing(ip.String("subnet_id"))
		case i < 0 && ip.has("subnet_id"):
			return refuse(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: Failed to create port on network %s, "+
				"because fixed_ips included invalid subnet %s.", network, ip.String("subnet_id"))
		case i < 0:
			return refuse(http.StatusBadRequest, "InvalidIpForNetwork", "IP address %s is not a valid IP for any of the subnets on the specified network.", ip.String("ip_address"))
		}
		a := ip.String("ip_address")
		if a == "" {
			var err error
			if a, err = k.allocate(subnets[i], o.ID()); err != nil {
				return err
			}
		} else if k.addresses(network, o.ID())[a] {
			return refuse(http.StatusConflict, "IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", a, subnets[i].ID())
		}
		got = append(got, Object{"subnet_id": subnets[i].ID(), "ip_address": a})
	}
	want["fixed_ips"] = append([]Object{}, got...)
	return nil
}

func updatePort(k *call, o, change Object) error {
	after := o.without()
	for key, v := range change {
		after[key] = v
	}
	if change.has("fixed_ips") {
		if err := k.address(o, change); err != nil {
			return err
		}
	}
	return k.secure(after, after.Strings("security_groups"), after.Objects("allowed_address_pairs"))
}

// removePort takes what hangs on a port off it, unless it is in use in a way
// that Neutron keeps ports for.
func (k *call) removePort(o Object) error {
	for _, t := range k.r.tables[Trunks].all(func(Object) bool { return true }) {
		if t.String("port_id") == o.ID() {
			return refuse(http.StatusConflict, "PortInUseAsTrunkParent", "Port %s is currently a parent port for trunk %s.", o.ID(), t.ID())
		}
		for _, s := range t.Objects("sub_ports") {
			if s.String("port_id") == o.ID() {
				return refuse(http.StatusConflict, "PortInUseAsSubPort", "Port %s is currently a subport for trunk %s.", o.ID(), t.ID())
			}
		}
	}
	if owner := o.String("device_owner"); owner == routerInterface || owner == routerGateway {
		return refuse(http.StatusConflict, "ServicePortInUse", "Port %s cannot be deleted directly via the port API: "+
			"has device owner %s.", o.ID(), owner)
	}
	k.detachFloating(o.ID())
	return nil
}

// bind ties a port to a server, or frees it where server is nil.
func (k *call) bind(o Object, server Object, zone string) {
	if server == nil {
		o["device_id"], o["device_owner"], o["status"] = "", "", "DOWN"
		o["binding:vif_type"], o["binding:host_id"] = "unbound", ""
		return
	}
	o["device_id"], o["device_owner"], o["status"], o["binding:vif_type"] = server.ID(), "compute:"+zone, "ACTIVE", "ovs"
	if k.options.FailBinding != nil && k.options.FailBinding(o) {
		o["status"], o["binding:vif_type"] = "DOWN", "binding_failed"
	}
}

func trunkSpec() *spec {
	return &spec{
		kind: Trunks, one: "trunk", label: "Trunk", typ: "Trunk",
		required: []string{"port_id"},
		defaults: Object{"name": "", "description": "", "admin_state_up": true, "sub_ports": []Object{}},
		fixed:    []string{"port_id", "sub_ports"},
		create: func(k *call, o Object) error {
			o["status"] = "DOWN"
			p := k.find(Ports, o.String("port_id"))
			if p == nil {
				return k.kinds[Ports].missing(o.String("port_id"))
			}
			for _, t := range k.r.tables[Trunks].where("port_id", p.ID()) {
				if t.ID() != o.ID() {
					return refuse(http.StatusConflict, "ParentPortInUse", "Port %s is currently in use and is not eligible for use as a parent port.", p.ID())
				}
			}
			return nil
		},
		remove: func(k *call, o Object) error {
			p := k.r.tables[Ports].get(o.String("port_id"))
			if p != nil && p.String("device_id") != "" {
				return refuse(http.StatusConflict, "TrunkInUse", "Trunk %s is currently in use.", o.ID())
			}
			return nil
		},
	}
}

// trunk returns the trunk that a request is about.
func (k *call) trunk() (Object, error) {
	t := k.find(Trunks, k.arg("id"))
	if t == nil {
		return nil, k.kinds[Trunks].missing(k.arg("id"))
	}
	return t, nil
}

func getSubports(k *call) (any, error) {
	t, err := k.trunk()
	if err != nil {
		return nil, err
	}
	return Object{"sub_ports": t["sub_ports"]}, nil
}

func addSubports(k *call) (any, error) {
	t, err := k.trunk()
	if err != nil {
		return nil, err
	}
	t["sub_ports"] = append(t.Objects("sub_ports"), k.body.Objects("sub_ports")...)
	return t, nil
}

func removeSubports(k *call) (any, error) {
	t, err := k.trunk()
	if err != nil {
		return nil, err
	}
	for _, gone := range k.body.Objects("sub_ports") {
		t["sub_ports"] = slices.DeleteFunc(slices.Clone(t.Objects("sub_ports")), func(s Object) bool {
			return s.String("port_id") == gone.String("port_id")
		})
	}
	return t, nil
}

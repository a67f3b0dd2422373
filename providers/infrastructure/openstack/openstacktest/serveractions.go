package openstacktest

import (
	"maps"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// server returns the server that a request is about.
func (k *call) server() (Object, error) {
	s := k.find(Servers, k.arg("id"))
	if s == nil {
		return nil, refuse(http.StatusNotFound, "", "Instance %s could not be found.", k.arg("id"))
	}
	if k.cellIsDown(s) {
		return nil, errUnexpected
	}
	return s, nil
}

// serverView shows a server as the caller and the microversion ask for.
func (k *call) serverView(s Object) Object {
	v := s.without("project_id", "nova_ports", "scheduler_hints", "updated_at")
	v["addresses"] = k.serverAddresses(s.ID())
	v["links"] = []Object{}
	if s.String("image") != "" {
		v["image"] = Object{"id": s["image"], "links": []Object{}}
	}
	if k.minor < 26 {
		delete(v, "tags")
	}
	if k.minor < 47 {
		v["flavor"] = Object{"id": s.Object("flavor")["id"], "links": []Object{}}
	} else {
		v["flavor"] = s.Object("flavor").without("id")
	}
	if k.minor < 71 || path.Base(k.path) == "detail" {
		delete(v, "server_groups")
	}
	if !k.admin() || k.minor < 3 {
		v = v.without("OS-EXT-SRV-ATTR:user_data", "OS-EXT-SRV-ATTR:host", "OS-EXT-SRV-ATTR:hypervisor_hostname")
	}
	// Nova lists servers that never got a host, which are in cell0, without.
	if s.String("status") != "ERROR" || path.Base(k.path) == "detail" && strings.HasPrefix(s.Object("fault").String("message"), "No valid host") {
		delete(v, "fault")
	}
	return v
}

// serverAddresses returns the addresses of a server by the names of its
// networks, floating IPs included.
func (k *call) serverAddresses(id string) Object {
	out := Object{}
	for _, p := range k.r.tables[Ports].where("device_id", id) {
		n := k.r.tables[Networks].get(p.String("network_id"))
		if n == nil || p.String("status") == "DOWN" {
			continue
		}
		name := n.String("name")
		add := func(address, kind string) {
			version := 4
			if a, err := netip.ParseAddr(address); err == nil && a.Is6() {
				version = 6
			}
			out[name] = append(out.Objects(name), Object{
				"addr": address, "version": version, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": p["mac_address"],
			})
		}
		for _, ip := range p.Objects("fixed_ips") {
			add(ip.String("ip_address"), "fixed")
		}
		for _, f := range k.r.tables[FloatingIPs].where("port_id", p.ID()) {
			add(f.String("floating_ip_address"), "floating")
		}
	}
	return out
}

func listServers(k *call) (any, error) {
	all := slices.Clone(k.visible(Servers))
	if !k.query.Has("all_tenants") {
		all = slices.DeleteFunc(all, func(o Object) bool { return o.String("project_id") != k.project })
	}
	slices.Reverse(all) // the newest first
	if name := k.query.Get("name"); name != "" {
		re, err := regexp.Compile(name)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "", "Invalid input for query parameters name. Value: %s.", name)
		}
		all = slices.DeleteFunc(all, func(o Object) bool { return !re.MatchString(o.String("name")) })
	}
	all, _ = k.filter(all, func(string) bool { return true }, "name", "all_tenants", "ip", "changes-since", "deleted", "not-tags-any", "project_id")
	all, down := k.withoutCells(all)
	page, next, ok := k.page(all, "id")
	if !ok {
		return nil, refuse(http.StatusBadRequest, "", "marker [%s] not found", k.query.Get("marker"))
	}
	for i, s := range page {
		if path.Base(k.path) != "detail" {
			page[i] = Object{"id": s.ID(), "name": s["name"], "links": []Object{}}
			continue
		}
		page[i] = k.serverView(s)
	}
	for _, s := range down[:min(len(down), k.options.PageSize-len(page))] {
		page = append(page, minimal(s))
	}
	return k.listing("servers", page, next), nil
}

func getServer(k *call) (any, error) {
	if s := k.find(Servers, k.arg("id")); s != nil && k.minor >= 69 && k.cellIsDown(s) {
		more := Object{
			"OS-EXT-AZ:availability_zone": s["OS-EXT-AZ:availability_zone"], "OS-EXT-STS:power_state": 0, "user_id": s["user_id"],
			"flavor": s.Object("flavor").without("id"), "image": Object{"id": s["image"], "links": []Object{}},
		}
		maps.Copy(more, minimal(s))
		return Object{"server": more}, nil
	}
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	return Object{"server": k.serverView(s)}, nil
}

func updateServer(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	for key, v := range k.body.Object("server") {
		s[key] = v
	}
	return Object{"server": k.serverView(s)}, nil
}

func updateMetadata(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	m := s.Object("metadata").clone()
	for key, v := range k.body.Object("metadata") {
		m[key] = v
	}
	s["metadata"] = m
	return Object{"metadata": m}, nil
}

// resetMetadata replaces all of it.
func resetMetadata(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	m := orEmpty(k.body.Object("metadata"))
	s["metadata"] = m
	return Object{"metadata": m}, nil
}

func deleteMetadata(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	m := s.Object("metadata").clone()
	if !m.has(k.arg("key")) {
		return nil, refuse(http.StatusNotFound, "", "Metadata item was not found")
	}
	delete(m, k.arg("key"))
	s["metadata"] = m
	return nil, nil
}

func replaceServerTags(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	s["tags"] = append([]string{}, k.body.Strings("tags")...)
	return Object{"tags": s["tags"]}, nil
}

func serverAction(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	state := s.String("OS-EXT-STS:vm_state")
	for action := range k.body {
		switch action {
		case "os-stop":
			if state != "active" && state != "error" {
				return nil, refuse(http.StatusConflict, "", "Cannot 'stop' instance %s while it is in vm_state %s", s.ID(), state)
			}
			s["status"], s["OS-EXT-STS:vm_state"], s["OS-EXT-STS:power_state"] = "SHUTOFF", "stopped", 4
		case "os-start":
			if state != "stopped" {
				return nil, refuse(http.StatusConflict, "", "Cannot 'start' instance %s while it is in vm_state %s", s.ID(), state)
			}
			s["status"], s["OS-EXT-STS:vm_state"], s["OS-EXT-STS:power_state"] = "ACTIVE", "active", 1
		case "forceDelete":
			if s["OS-EXT-STS:task_state"] != nil {
				return nil, refuse(http.StatusConflict, "", "Cannot 'forceDelete' instance %s while it is in task_state %s", s.ID(), s.String("OS-EXT-STS:task_state"))
			}
			k.deleteLater(s)
		case "restore":
			if state != softDeleted {
				return nil, refuse(http.StatusConflict, "", "Cannot 'restore' instance %s while it is in vm_state %s", s.ID(), state)
			}
			s["status"], s["OS-EXT-STS:vm_state"], s["OS-EXT-STS:power_state"] = "ACTIVE", "active", 1
		case "lock":
			s["locked"] = true
		case "unlock":
			s["locked"] = false
		default:
			return nil, refuse(http.StatusBadRequest, "", "There is no such action: %s", action)
		}
	}
	return nil, nil
}

func interfaceView(p Object) Object {
	return Object{
		"port_id": p.ID(), "net_id": p["network_id"], "mac_addr": p["mac_address"], "fixed_ips": p["fixed_ips"], "port_state": p["status"],
	}
}

func listInterfaces(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	out := []Object{}
	for _, p := range k.r.tables[Ports].where("device_id", s.ID()) {
		out = append(out, interfaceView(p))
	}
	return Object{"interfaceAttachments": out}, nil
}

func attachInterface(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	in := k.body.Object("interfaceAttachment")
	id := in.String("port_id")
	switch p := k.find(Ports, id); {
	case id != "" && p == nil:
		return nil, refuse(http.StatusNotFound, "", "Port %s could not be found.", id)
	case id != "" && p.String("device_id") != "":
		return nil, refuse(http.StatusConflict, "", "Port %s is still in use.", id)
	case id == "":
		id = k.put(k.r, Ports, k.project, Object{"network_id": in.String("net_id")})
		if err := createPort(k, k.r.tables[Ports].get(id)); err != nil {
			k.drop(Ports, id)
			return nil, refuse(http.StatusBadRequest, "", "%s", err)
		}
		s["nova_ports"] = append(s.Strings("nova_ports"), id)
	}
	p := k.r.tables[Ports].get(id)
	k.bind(p, s, s.String("OS-EXT-AZ:availability_zone"))
	return Object{"interfaceAttachment": interfaceView(p)}, nil
}

func detachInterface(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	p := k.find(Ports, k.arg("port"))
	if p == nil || p.String("device_id") != s.ID() {
		return nil, nil //nolint:nilnil // Nova takes it, and finds out later
	}
	k.bind(p, nil, "")
	if slices.Contains(s.Strings("nova_ports"), p.ID()) {
		k.drop(Ports, p.ID())
	}
	return nil, nil
}

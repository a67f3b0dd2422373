package openstacktest

import (
	"net/http"
	"slices"
	"strings"
)

// build is what happens to a new server once the scheduler looks at it.
func (k *call) build(id string, in Object, ports []string) {
	s := k.r.tables[Servers].get(id)
	if s == nil || s.String("status") != "BUILD" {
		return
	}
	k.now = k.clock()
	s["updated"] = k.now.UTC().Format("2006-01-02T15:04:05Z")
	var group Object
	if g := s.Strings("server_groups"); len(g) > 0 {
		group = k.r.tables[ServerGroups].get(g[0])
	}
	host, zone, ok := k.host(s.String("OS-EXT-AZ:availability_zone"), group)
	if !ok {
		k.fail(s, "No valid host was found. There are not enough hosts available.")
		return
	}
	s["OS-EXT-SRV-ATTR:host"], s["OS-EXT-SRV-ATTR:hypervisor_hostname"], s["OS-EXT-AZ:availability_zone"] = host, host, zone
	s["hostId"] = host
	if message := k.volumesFor(s, in); message != "" {
		k.fail(s, message)
		return
	}
	if k.options.FailServer != nil {
		if message := k.options.FailServer(s.clone()); message != "" {
			k.fail(s, message)
			return
		}
	}
	networks := in.Objects("networks")
	for i, id := range ports {
		if id == "" {
			id = k.put(k.r, Ports, s.String("project_id"), Object{"network_id": networks[i].String("uuid"), "fixed_ips": fixedIP(networks[i])})
			p := k.r.tables[Ports].get(id)
			if err := createPort(k, p); err != nil {
				k.drop(Ports, id)
				k.fail(s, err.Error())
				return
			}
			s["nova_ports"] = append(s.Strings("nova_ports"), id)
		}
		p := k.r.tables[Ports].get(id)
		if p == nil {
			k.fail(s, "Build of instance "+s.ID()+" aborted: Port "+id+" could not be found.")
			return
		}
		k.bind(p, s, zone)
		p["binding:host_id"] = host
		if p.String("binding:vif_type") == "binding_failed" {
			k.fail(s, "Build of instance "+s.ID()+" aborted: Failed to allocate the network(s), not rescheduling.")
			return
		}
	}
	s["status"], s["OS-EXT-STS:vm_state"], s["OS-EXT-STS:task_state"], s["OS-EXT-STS:power_state"] = "ACTIVE", "active", nil, 1
	s["OS-SRV-USG:launched_at"] = k.now.UTC().Format("2006-01-02T15:04:05.000000")
}

func fixedIP(network Object) any {
	if !network.has("fixed_ip") {
		return nil
	}
	return []Object{{"ip_address": network["fixed_ip"]}}
}

// fail puts a server into ERROR. Ports that it was given stay with it.
func (k *call) fail(s Object, message string) {
	s["status"], s["OS-EXT-STS:vm_state"], s["OS-EXT-STS:task_state"] = "ERROR", "error", nil
	s["fault"] = Object{"code": http.StatusInternalServerError, "created": k.now.UTC().Format("2006-01-02T15:04:05Z"), "message": message}
}

func deleteServer(k *call) (any, error) {
	s, err := k.server()
	if err != nil {
		return nil, err
	}
	if s.Bool("locked") && !k.admin() {
		return nil, refuse(http.StatusConflict, "", "Instance %s is locked", s.ID())
	}
	if strings.HasSuffix(s.String("OS-EXT-STS:task_state"), "deleting") || s.String("OS-EXT-STS:vm_state") == softDeleted {
		return nil, nil
	}
	if k.options.Reclaim > 0 && s.String("status") != "BUILD" {
		k.softDelete(s)
		return nil, nil
	}
	k.deleteLater(s)
	return nil, nil
}

// deleteLater has a server go after the time that this takes.
func (k *call) deleteLater(s Object) {
	s["OS-EXT-STS:task_state"] = "deleting"
	w := *k
	gone := func() { (&w).serverGone(s.ID()) }
	if k.options.Delays.ServerDelete == 0 {
		gone()
		return
	}
	k.after(k.options.Delays.ServerDelete, gone)
}

// softDeleted is the vm_state of a server that Nova keeps for a while. Listings
// leave it out; it has its ports and volumes until it is reclaimed.
const softDeleted = "soft-delete"

func (k *call) softDelete(s Object) {
	s["OS-EXT-STS:task_state"] = "soft-deleting"
	w := *k
	k.after(k.options.Delays.ServerDelete, func() {
		s["status"], s["OS-EXT-STS:vm_state"], s["OS-EXT-STS:task_state"], s["OS-EXT-STS:power_state"] = "SOFT_DELETED", softDeleted, nil, 4
		w.after(w.options.Reclaim, func() {
			if s.String("OS-EXT-STS:vm_state") == softDeleted {
				(&w).serverGone(s.ID())
			}
		})
	})
}

// serverGone frees what a server had: ports that Nova made go with it, others
// are unbound.
func (k *call) serverGone(id string) {
	s := k.r.tables[Servers].get(id)
	if s == nil {
		return
	}
	for _, p := range k.r.tables[Ports].where("device_id", id) {
		if slices.Contains(s.Strings("nova_ports"), p.ID()) {
			k.detachFloating(p.ID())
			k.drop(Ports, p.ID())
			continue
		}
		k.bind(p, nil, "")
	}
	for _, a := range s.Objects("os-extended-volumes:volumes_attached") {
		k.freeVolume(a.ID(), a.Bool("delete_on_termination"))
	}
	for _, g := range k.r.tables[ServerGroups].all(func(Object) bool { return true }) {
		g["members"] = slices.DeleteFunc(slices.Clone(g.Strings("members")), func(m string) bool { return m == id })
	}
	k.drop(Servers, id)
}

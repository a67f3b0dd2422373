package openstacktest

import (
	"net/http"
	"slices"
	"strings"
)

func createServer(k *call) (any, error) {
	in := k.body.Object("server")
	hints := k.body.Object("os:scheduler_hints")
	if hints == nil {
		hints = k.body.Object("OS-SCH-HNT:scheduler_hints")
	}
	s, err := k.checkServer(in, hints)
	if err != nil {
		return nil, err
	}
	ports, err := k.serverPorts(in)
	if err != nil {
		return nil, err
	}
	s["id"] = k.newID()
	k.put(k.r, Servers, k.project, s)
	s = k.r.tables[Servers].get(s.ID())
	if g := k.r.tables[ServerGroups].get(hints.String("group")); g != nil {
		g["members"] = append(slices.Clone(g.Strings("members")), s.ID())
		s["server_groups"] = []string{g.ID()}
	}
	for i, id := range ports {
		if id == "" { // Nova makes a port of its own when it builds
			continue
		}
		p := k.r.tables[Ports].get(id)
		p["device_id"], p["device_owner"] = s.ID(), "compute:"+s.String("OS-EXT-AZ:availability_zone")
		ports[i] = id
	}
	w := *k
	k.after(k.options.Delays.Server, func() { (&w).build(s.ID(), in, ports) })
	answer := Object{"id": s.ID(), "links": []Object{}, "OS-DCF:diskConfig": "MANUAL", "security_groups": []Object{{"name": "default"}}, "adminPass": "secret"}
	return Object{"server": answer}, nil
}

// checkServer refuses what Nova refuses at once and returns the server.
func (k *call) checkServer(in, hints Object) (Object, error) {
	bad := func(format string, args ...any) error { return refuse(http.StatusBadRequest, "", format, args...) }
	if in.String("name") == "" {
		return nil, bad("Invalid input for field/attribute server. Value: %v. 'name' is a required property", in)
	}
	if in.has("tags") && k.minor < 52 {
		return nil, bad("Invalid input for field/attribute server. Additional properties are not allowed ('tags' was unexpected)")
	}
	if !in.has("networks") && k.minor >= 37 {
		return nil, bad("Invalid input for field/attribute server. 'networks' is a required property")
	}
	for key, v := range in.Object("metadata") {
		if s, ok := v.(string); !ok || strings.Contains(key, "/") || len(key) > 255 || len(s) > 255 {
			return nil, bad("Invalid input for field/attribute metadata. Value: %v.", in["metadata"])
		}
	}
	data := in.String("user_data")
	if len(data) > 65535 {
		return nil, bad("Invalid input for field/attribute user_data. Value: %s. '%s' is too long", data, data)
	}
	flavor := k.r.tables[Flavors].get(in.String("flavorRef"))
	if flavor == nil {
		return nil, bad("Flavor %s could not be found.", in.String("flavorRef"))
	}
	image := k.find(Images, in.String("imageRef"))
	if in.String("imageRef") != "" && image == nil {
		return nil, bad("Can not find requested image")
	}
	if image != nil && image.String("status") != "active" {
		return nil, bad("Image %s is not active.", image.ID())
	}
	if image == nil && len(in.Objects("block_device_mapping_v2")) == 0 {
		return nil, bad("Missing imageRef attribute")
	}
	for _, d := range in.Objects("block_device_mapping_v2") {
		if d.String("source_type") == "volume" && k.find(Volumes, d.String("uuid")) == nil {
			return nil, bad("Block Device Mapping is Invalid: failed to get volume %s.", d.String("uuid"))
		}
		if d.String("volume_type") != "" && k.minor >= 67 && !slices.Contains(volumeTypes, d.String("volume_type")) {
			return nil, bad("Volume type %s could not be found.", d.String("volume_type"))
		}
	}
	if in.String("key_name") != "" && k.keypair(in.String("key_name")) == nil {
		return nil, bad("Invalid key_name provided.")
	}
	zone, _, _ := strings.Cut(in.String("availability_zone"), ":")
	if zone != "" && !slices.Contains(zones, zone) {
		return nil, bad("The requested availability zone is not available")
	}
	if g := hints.String("group"); g != "" && k.find(ServerGroups, g) == nil {
		return nil, bad("Instance group %s could not be found.", g)
	}
	if err := k.serverQuota(flavor); err != nil {
		return nil, err
	}
	return Object{
		"name": in["name"], "status": "BUILD", "metadata": orEmpty(in.Object("metadata")), "tags": append([]string{}, in.Strings("tags")...),
		"key_name": in["key_name"], "config_drive": driveText(in.Bool("config_drive")), "user_id": k.user.id,
		"flavor": Object{"original_name": flavor["name"], "vcpus": flavor["vcpus"], "ram": flavor["ram"], "disk": flavor["disk"], "id": flavor["id"]},
		"image":  in.String("imageRef"), "addresses": Object{}, "security_groups": []Object{}, "server_groups": []string{},
		"OS-EXT-AZ:availability_zone": zone, "OS-EXT-STS:task_state": "scheduling", "OS-EXT-STS:vm_state": "building", "OS-EXT-STS:power_state": 0,
		"OS-EXT-SRV-ATTR:user_data": data, "OS-EXT-SRV-ATTR:host": "", "os-extended-volumes:volumes_attached": []Object{},
		"accessIPv4": "", "accessIPv6": "", "hostId": "", "OS-SRV-USG:launched_at": nil, "OS-SRV-USG:terminated_at": nil,
		"progress": 0, "OS-DCF:diskConfig": "MANUAL", "locked": false, "description": in["description"], "scheduler_hints": hints,
	}, nil
}

func orEmpty(o Object) Object {
	if o == nil {
		return Object{}
	}
	return o
}

func driveText(on bool) string {
	if on {
		return "True"
	}
	return ""
}

// used is what the servers of the project have of each resource.
func (k *call) used() map[string]int {
	mine := k.mine(Servers)
	used := map[string]int{"instances": len(mine)}
	for _, s := range mine {
		used["cores"] += s.Object("flavor").Int("vcpus")
		used["ram"] += s.Object("flavor").Int("ram")
	}
	return used
}

func (k *call) serverQuota(flavor Object) error {
	used, asked := k.used(), map[string]int{"instances": 1, "cores": flavor.Int("vcpus"), "ram": flavor.Int("ram")}
	for _, resource := range []string{"instances", "cores", "ram"} {
		if limit, ok := k.r.quota(k.project, resource); ok && used[resource]+asked[resource] > limit {
			return refuse(http.StatusForbidden, "", "Quota exceeded for %s: Requested %d, but already used %d of %d %s",
				resource, asked[resource], used[resource], limit, resource)
		}
	}
	return nil
}

// serverPorts returns the ids of the ports that a server is to have: "" for one
// that Nova makes itself.
func (k *call) serverPorts(in Object) ([]string, error) {
	if _, ok := in["networks"].(string); ok { // "auto", "none"
		return nil, nil
	}
	var out []string
	networks := in.Objects("networks")
	if len(networks) == 0 {
		own := k.mine(Networks)
		if len(own) > 1 {
			return nil, refuse(http.StatusConflict, "", "Multiple possible networks found, use a Network ID to be more specific.")
		}
		if len(own) == 1 {
			networks = []Object{{"uuid": own[0].ID()}}
			in["networks"] = networks
		}
	}
	for _, n := range networks {
		if id := n.String("port"); id != "" {
			p := k.find(Ports, id)
			switch {
			case p == nil:
				return nil, refuse(http.StatusBadRequest, "", "Port id %s could not be found.", id)
			case p.String("device_id") != "":
				return nil, refuse(http.StatusConflict, "", "Port %s is still in use.", id)
			case len(p.Objects("fixed_ips")) == 0:
				return nil, refuse(http.StatusBadRequest, "", "Port %s requires a FixedIP in order to be used.", id)
			}
			out = append(out, id)
			continue
		}
		net := k.find(Networks, n.String("uuid"))
		if net == nil {
			return nil, refuse(http.StatusBadRequest, "", "Network %s could not be found.", n.String("uuid"))
		}
		if len(k.r.tables[Subnets].where("network_id", net.ID())) == 0 {
			return nil, refuse(http.StatusBadRequest, "", "Network %s requires a subnet in order to boot instances on.", net.ID())
		}
		if limit, ok := k.r.quota(k.project, "port"); ok && len(k.mine(Ports)) >= limit {
			return nil, refuse(http.StatusForbidden, "", "Maximum number of ports exceeded")
		}
		out = append(out, "")
	}
	return out, nil
}

package openstacktest

// seedRegion puts into a region what the package's documentation lists.
func (c *Cloud) seedRegion(r *region) {
	admin := c.identity.projectID("admin")
	external := c.put(r, Networks, admin, Object{
		"name": External, "router:external": true, "status": "ACTIVE", "availability_zones": []string{},
	})
	c.put(r, Subnets, admin, Object{
		"name": External, "network_id": external, "ip_version": 4, "cidr": "203.0.113.0/24", "gateway_ip": "203.0.113.1", "enable_dhcp": false,
		"allocation_pools": []Object{{"start": "203.0.113.10", "end": "203.0.113.254"}},
	})
	for _, name := range []string{"ubuntu", "flatcar"} {
		c.put(r, Images, admin, Object{"name": name, "visibility": "public", "tags": []string{name + "-tag"}, "os_distro": name})
	}
	for i, name := range []string{"small", "medium", "nodisk"} {
		disk := 20 * (i + 1)
		if name == "nodisk" {
			disk = 0
		}
		c.put(r, Flavors, admin, Object{
			"name": name, "vcpus": 2 * (i + 1), "ram": 4096 * (i + 1), "disk": disk, "swap": 0, "rxtx_factor": 1.0,
			"os-flavor-access:is_public": true, "OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false,
			"extra_specs": Object{}, "description": nil, "links": []Object{},
		})
	}
	for _, u := range c.identity.users {
		c.put(r, Keypairs, u.project, Object{
			"name": "key", "user_id": u.id, "type": "ssh", "public_key": "ssh-ed25519 AAAA " + u.name, "fingerprint": "00:00",
		})
	}
}

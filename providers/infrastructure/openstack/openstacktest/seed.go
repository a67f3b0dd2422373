package openstacktest

// seedRegion puts into a region what the package's documentation lists.
func (c *Cloud) seedRegion(r *region) {
	admin := c.identity.projectID("admin")
	external := c.put(r, Networks, admin, Object{
		"name": External, "router:external": true, "status": "ACTIVE", "availability_zones": []string{},
	})
	c.put(r, Subnets, admin, Object{
		"name": External, "network_id": external, "ip_version": 4, "cidr": "198.18.0.0/16", "gateway_ip": "198.18.0.1", "enable_dhcp": false,
		"allocation_pools": []Object{{"start": "198.18.0.2", "end": "198.18.255.254"}},
	})
	for _, name := range []string{"ubuntu", "flatcar"} {
		c.put(r, Images, admin, Object{"name": name, "visibility": "public", "tags": []string{"lab", name}, "os_distro": name})
	}
	for _, f := range []struct {
		name             string
		vcpus, ram, disk int
	}{{"m1.tiny", 1, 512, 1}, {"m1.small", 2, 4096, 20}, {"m1.medium", 4, 8192, 40}, {"m1.nodisk", 2, 4096, 0}} {
		c.put(r, Flavors, admin, Object{
			"name": f.name, "vcpus": f.vcpus, "ram": f.ram, "disk": f.disk, "swap": 0, "rxtx_factor": 1.0,
			"os-flavor-access:is_public": true, "OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false,
			"extra_specs": Object{}, "description": nil, "links": []Object{},
		})
	}
	for _, p := range c.identity.projects {
		c.addDefaultGroup(r, p.ID())
	}
	for _, u := range c.identity.users {
		c.put(r, Keypairs, u.project, Object{
			"name": "key", "user_id": u.id, "type": "ssh", "public_key": "ssh-ed25519 AAAA " + u.name, "fingerprint": "00:00",
		})
	}
}

package openstacktest_test

import (
	"slices"
	"strings"
)

const nobody = "00000000-1111-4222-8333-444444444444"

// script is one life of a cluster's things, with all the ways in which calls
// are refused that a provider has to understand.
func script() []step {
	return slices.Concat(missingSteps(), networkSteps(), serverSteps(), balancerSteps(), endSteps())
}

func missingSteps() []step {
	return []step{
		{name: "network that is not there", service: "n", method: "GET", path: "networks/" + nobody},
		{name: "subnet that is not there", service: "n", method: "DELETE", path: "subnets/" + nobody},
		{name: "router that is not there", service: "n", method: "DELETE", path: "routers/" + nobody},
		{name: "port that is not there", service: "n", method: "DELETE", path: "ports/" + nobody},
		{name: "security group that is not there", service: "n", method: "DELETE", path: "security-groups/" + nobody},
		{name: "rule that is not there", service: "n", method: "DELETE", path: "security-group-rules/" + nobody},
		{name: "floating IP that is not there", service: "n", method: "DELETE", path: "floatingips/" + nobody},
		{name: "trunk that is not there", service: "n", method: "DELETE", path: "trunks/" + nobody},
		{name: "tags of nothing", service: "n", method: "PUT", path: "ports/" + nobody + "/tags", body: `{"tags":["a"]}`},
		{name: "server that is not there", service: "c", method: "GET", path: "servers/" + nobody},
		{name: "deletion of a server that is not there", service: "c", method: "DELETE", path: "servers/" + nobody},
		{name: "server group that is not there", service: "c", method: "DELETE", path: "os-server-groups/" + nobody},
		{name: "flavor that is not there", service: "c", method: "GET", path: "flavors/" + nobody},
		{name: "key pair that is not there", service: "c", method: "GET", path: "os-keypairs/nobody"},
		{name: "image that is not there", service: "i", method: "GET", path: "images/" + nobody},
		{name: "volume that is not there", service: "v", method: "GET", path: "volumes/" + nobody},
		{name: "deletion of a volume that is not there", service: "v", method: "DELETE", path: "volumes/" + nobody},
		{name: "load balancer that is not there", service: "l", method: "GET", path: "lbaas/loadbalancers/" + nobody},
		{name: "listener that is not there", service: "l", method: "DELETE", path: "lbaas/listeners/" + nobody},
		{name: "pool that is not there", service: "l", method: "DELETE", path: "lbaas/pools/" + nobody},
		{name: "member of no pool", service: "l", method: "GET", path: "lbaas/pools/" + nobody + "/members"},
		{name: "monitor that is not there", service: "l", method: "DELETE", path: "lbaas/healthmonitors/" + nobody},
		{name: "page after nothing of ports", service: "n", method: "GET", path: "ports?limit=1&marker=" + nobody},
		{name: "page after nothing of servers", service: "c", method: "GET", path: "servers/detail?limit=1&marker=" + nobody},
		{name: "page after nothing of volumes", service: "v", method: "GET", path: "volumes/detail?limit=1&marker=" + nobody},
		{name: "page after nothing of images", service: "i", method: "GET", path: "images?limit=1&marker=" + nobody},
		{name: "unknown filter of networks", service: "n", method: "GET", path: "networks?nothing=1"},
	}
}

func networkSteps() []step {
	return []step{
		{name: "external network", service: "n", method: "GET", path: "networks?name=public", save: []string{"external=networks.0.id"}},
		{name: "network", service: "n", method: "POST", path: "networks", body: `{"network":{"name":"same","description":"d"}}`, save: []string{"net=network.id"}},
		{name: "network with an unknown attribute", service: "n", method: "POST", path: "networks", body: `{"network":{"nothing":1}}`},
		{name: "subnet without a network", service: "n", method: "POST", path: "subnets", body: `{"subnet":{"ip_version":4,"cidr":"10.9.0.0/24"}}`},
		{name: "subnet of no network", service: "n", method: "POST", path: "subnets", body: `{"subnet":{"network_id":"` + nobody + `","ip_version":4,"cidr":"10.9.0.0/24"}}`},
		{name: "subnet of no range", service: "n", method: "POST", path: "subnets", body: `{"subnet":{"network_id":"${net}","ip_version":4,"cidr":"nothing"}}`},
		{name: "subnet", service: "n", method: "POST", path: "subnets", body: `{"subnet":{"network_id":"${net}","ip_version":4,"cidr":"10.9.0.0/24"}}`, save: []string{"sub=subnet.id"}},
		{name: "subnet that overlaps", service: "n", method: "POST", path: "subnets", body: `{"subnet":{"network_id":"${net}","ip_version":4,"cidr":"10.9.0.0/25"}}`},
		{name: "router to a network that is not external", service: "n", method: "POST", path: "routers", body: `{"router":{"external_gateway_info":{"network_id":"${net}"}}}`},
		{name: "router to nothing", service: "n", method: "POST", path: "routers", body: `{"router":{"external_gateway_info":{"network_id":"` + nobody + `"}}}`},
		{name: "router", service: "n", method: "POST", path: "routers", body: `{"router":{"name":"same","external_gateway_info":{"network_id":"${external}"}}}`, save: []string{"router=router.id"}},
		{name: "interface on nothing", service: "n", method: "PUT", path: "routers/${router}/add_router_interface", body: `{"subnet_id":"` + nobody + `"}`},
		{name: "port before the router", service: "n", method: "POST", path: "ports", body: `{"port":{"network_id":"${net}","name":"p","fixed_ips":[{"subnet_id":"${sub}","ip_address":"10.9.0.50"}]}}`, save: []string{"port=port.id"}},
		{name: "floating IP without a way", service: "n", method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"${external}","port_id":"${port}"}}`},
		{name: "interface", service: "n", method: "PUT", path: "routers/${router}/add_router_interface", body: `{"subnet_id":"${sub}"}`, save: []string{"iface=port_id"}},
		{name: "interface again", service: "n", method: "PUT", path: "routers/${router}/add_router_interface", body: `{"subnet_id":"${sub}"}`},
		{name: "floating IP of a network that is not external", service: "n", method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"${net}"}}`},
		{name: "floating IP of no port", service: "n", method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"${external}","port_id":"` + nobody + `"}}`},
		{name: "floating IP", service: "n", method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"${external}","port_id":"${port}","description":"f"}}`, save: []string{"fip=floatingip.id"}},
		{name: "second floating IP of a port", service: "n", method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"${external}","port_id":"${port}"}}`},
		{name: "interface that a floating IP needs", service: "n", method: "PUT", path: "routers/${router}/remove_router_interface", body: `{"subnet_id":"${sub}"}`},
		{name: "gateway that a floating IP needs", service: "n", method: "PUT", path: "routers/${router}", body: `{"router":{"external_gateway_info":null}}`},
		{name: "router in use", service: "n", method: "DELETE", path: "routers/${router}"},
		{name: "port of a router", service: "n", method: "DELETE", path: "ports/${iface}"},
		{name: "subnet in use", service: "n", method: "DELETE", path: "subnets/${sub}"},
		{name: "network in use: ids in another order", service: "n", method: "DELETE", path: "networks/${net}", loose: true},
		{name: "port with an address that is taken", service: "n", method: "POST", path: "ports", body: `{"port":{"network_id":"${net}","fixed_ips":[{"subnet_id":"${sub}","ip_address":"10.9.0.50"}]}}`},
		{name: "port with an address that is not there", service: "n", method: "POST", path: "ports", body: `{"port":{"network_id":"${net}","fixed_ips":[{"ip_address":"10.8.0.50"}]}}`},
		{name: "port on no network", service: "n", method: "POST", path: "ports", body: `{"port":{"network_id":"` + nobody + `"}}`},
		{name: "port with no security group", service: "n", method: "POST", path: "ports", body: `{"port":{"network_id":"${net}","security_groups":["` + nobody + `"]}}`},
		{name: "port with pairs and no security", service: "n", method: "POST", path: "ports", body: `{"port":{"network_id":"${net}","port_security_enabled":false,"allowed_address_pairs":[{"ip_address":"10.9.0.5"}]}}`},
		{name: "security group", service: "n", method: "POST", path: "security-groups", body: `{"security_group":{"name":"same","description":"d"}}`, save: []string{"group=security_group.id"}},
		{name: "rule", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"${group}","direction":"ingress","ethertype":"IPv4","protocol":"tcp","port_range_min":6443,"port_range_max":6443,"remote_ip_prefix":"0.0.0.0/0"}}`, save: []string{"rule=security_group_rule.id"}},
		{name: "rule again, with another description", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"${group}","direction":"ingress","ethertype":"IPv4","protocol":"tcp","port_range_min":6443,"port_range_max":6443,"remote_ip_prefix":"0.0.0.0/0","description":"x"}}`},
		{name: "rule for everyone again, without a prefix", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"${group}","direction":"ingress","ethertype":"IPv4","protocol":"tcp","port_range_min":6443,"port_range_max":6443}}`},
		{name: "rule of another family's prefix", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"${group}","direction":"ingress","ethertype":"IPv6","protocol":"tcp","remote_ip_prefix":"10.0.0.0/8"}}`},
		{name: "rule with ports and no protocol", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"${group}","direction":"ingress","port_range_min":1,"port_range_max":2}}`},
		{name: "rule with ports the wrong way", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"${group}","direction":"ingress","protocol":"tcp","port_range_min":3,"port_range_max":2}}`},
		{name: "rule with two remotes", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"${group}","direction":"ingress","remote_group_id":"${group}","remote_ip_prefix":"10.0.0.0/8"}}`},
		{name: "rule of no group", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"` + nobody + `","direction":"ingress"}}`},
		{name: "rule with no remote group", service: "n", method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"${group}","direction":"ingress","remote_group_id":"` + nobody + `"}}`},
		{name: "group on the port", service: "n", method: "PUT", path: "ports/${port}", body: `{"port":{"security_groups":["${group}"]}}`},
		{name: "group in use", service: "n", method: "DELETE", path: "security-groups/${group}"},
		{name: "group called default", service: "n", method: "POST", path: "security-groups", body: `{"security_group":{"name":"default"}}`},
		{name: "tags", service: "n", method: "PUT", path: "ports/${port}/tags", body: `{"tags":["b","a"]}`},
		{name: "unknown attribute of a port", service: "n", method: "PUT", path: "ports/${port}", body: `{"port":{"nothing":1}}`},
		{name: "network of a port", service: "n", method: "PUT", path: "ports/${port}", body: `{"port":{"network_id":"${net}"}}`},
		{name: "trunk of nothing", service: "n", method: "POST", path: "trunks", body: `{"trunk":{"port_id":"` + nobody + `"}}`},
		{name: "trunk port", service: "n", method: "POST", path: "ports", body: `{"port":{"network_id":"${net}","name":"t"}}`, save: []string{"parent=port.id"}},
		{name: "trunk", service: "n", method: "POST", path: "trunks", body: `{"trunk":{"port_id":"${parent}","name":"t"}}`, save: []string{"trunk=trunk.id"}},
		{name: "second trunk of a port", service: "n", method: "POST", path: "trunks", body: `{"trunk":{"port_id":"${parent}","name":"t"}}`},
		{name: "port of a trunk", service: "n", method: "DELETE", path: "ports/${parent}"},
	}
}

func serverSteps() []step {
	server := func(rest string) string {
		return `{"server":{"name":"same","imageRef":"${image}","flavorRef":"${flavor}"` + rest + `}}`
	}
	on := `,"networks":[{"port":"${port}"}]`
	return []step{
		{name: "image", service: "i", method: "GET", path: "images?name=ubuntu", save: []string{"image=images.0.id"}},
		{name: "flavor", service: "c", method: "GET", path: "flavors/detail?sort_key=memory_mb&limit=1", save: []string{"flavor=flavors.0.id"}},
		{name: "server without networks: Nova prints its schema", service: "c", method: "POST", path: "servers", body: server(""), loose: true},
		{name: "server of no flavor", service: "c", method: "POST", path: "servers", body: `{"server":{"name":"same","imageRef":"${image}","flavorRef":"` + nobody + `"` + on + `}}`},
		{name: "server of no image", service: "c", method: "POST", path: "servers", body: `{"server":{"name":"same","imageRef":"` + nobody + `","flavorRef":"${flavor}"` + on + `}}`},
		{name: "server with no image and no volume", service: "c", method: "POST", path: "servers", body: `{"server":{"name":"same","imageRef":"","flavorRef":"${flavor}"` + on + `}}`},
		{name: "server with no key", service: "c", method: "POST", path: "servers", body: server(on + `,"key_name":"nobody"`)},
		{name: "server in no zone", service: "c", method: "POST", path: "servers", body: server(on + `,"availability_zone":"nowhere"`)},
		{name: "server on no network", service: "c", method: "POST", path: "servers", body: server(`,"networks":[{"uuid":"` + nobody + `"}]`)},
		{name: "server on no port", service: "c", method: "POST", path: "servers", body: server(`,"networks":[{"port":"` + nobody + `"}]`)},
		{name: "server in no group", service: "c", method: "POST", path: "servers", body: `{"server":{"name":"same","imageRef":"${image}","flavorRef":"${flavor}"` + on + `},"os:scheduler_hints":{"group":"` + nobody + `"}}`},
		{name: "server with a key that has a slash: Nova prints its schema", service: "c", method: "POST", path: "servers", body: server(on + `,"metadata":{"a/b":"c"}`), loose: true},
		{name: "server with more user data than Nova takes: Nova prints its schema", service: "c", method: "POST", path: "servers", body: server(on + `,"user_data":"` + strings.Repeat("QUJD", 16385) + `"`), loose: true},
		{name: "server with no volume", service: "c", method: "POST", path: "servers", body: server(on + `,"block_device_mapping_v2":[{"boot_index":-1,"source_type":"volume","destination_type":"volume","uuid":"` + nobody + `"}]`), loose: true},
		{name: "server of no volume type", service: "c", method: "POST", path: "servers", body: server(on + `,"block_device_mapping_v2":[{"boot_index":0,"source_type":"image","destination_type":"volume","uuid":"${image}","volume_size":1,"volume_type":"nobody"}]`)},
		{name: "volume of no type", service: "v", method: "POST", path: "volumes", body: `{"volume":{"size":1,"volume_type":"nobody"}}`},
		{name: "volume in no zone", service: "v", method: "POST", path: "volumes", body: `{"volume":{"size":1,"availability_zone":"nowhere"}}`},
		{name: "volume", service: "v", method: "POST", path: "volumes", body: `{"volume":{"size":1,"name":"same"}}`, save: []string{"volume=volume.id"}},
		{name: "volume is available", service: "v", method: "GET", path: "volumes/${volume}", until: "volume.status=available"},
		{name: "server", service: "c", method: "POST", path: "servers", body: server(on + `,"metadata":{"a":"b"},"tags":["t"],"availability_zone":"az2","user_data":"I2Nsb3VkLWNvbmZpZwo=","config_drive":true`), save: []string{"server=server.id"}},
		{name: "server is active", service: "c", method: "GET", path: "servers/${server}", until: "server.status=ACTIVE"},
		{name: "server on a port that is in use", service: "c", method: "POST", path: "servers", body: server(on)},
		{name: "volume attachment", service: "c", method: "POST", path: "servers/${server}/os-volume_attachments", body: `{"volumeAttachment":{"volumeId":"${volume}"}}`},
		{name: "volume is in use", service: "v", method: "GET", path: "volumes/${volume}", until: "volume.status=in-use"},
		{name: "volume attachment again", service: "c", method: "POST", path: "servers/${server}/os-volume_attachments", body: `{"volumeAttachment":{"volumeId":"${volume}"}}`},
		{name: "deletion of a volume in use", service: "v", method: "DELETE", path: "volumes/${volume}"},
		{name: "interface on a port in use", service: "c", method: "POST", path: "servers/${server}/os-interface", body: `{"interfaceAttachment":{"port_id":"${port}"}}`},
		{name: "detachment of no interface", service: "c", method: "DELETE", path: "servers/${server}/os-interface/" + nobody},
		{name: "start of what runs", service: "c", method: "POST", path: "servers/${server}/action", body: `{"os-start":null}`},
		{name: "deletion of a server", service: "c", method: "DELETE", path: "servers/${server}"},
		{name: "server is gone", service: "c", method: "GET", path: "servers/${server}", until: "404"},
		{name: "deletion of a server again", service: "c", method: "DELETE", path: "servers/${server}"},
		{name: "port stays", service: "n", method: "GET", path: "ports/${port}", until: "port.status=DOWN"},
		{name: "volume is free", service: "v", method: "GET", path: "volumes/${volume}", until: "volume.status=available"},
		{name: "deletion of a volume", service: "v", method: "DELETE", path: "volumes/${volume}"},
		{name: "volume is gone", service: "v", method: "GET", path: "volumes/${volume}", until: "404"},
		{name: "server group of no policy: Nova prints its schema", service: "c", method: "POST", path: "os-server-groups", body: `{"server_group":{"name":"g","policy":"nothing"}}`, loose: true},
	}
}

func balancerSteps() []step {
	active := step{name: "load balancer is active", service: "l", method: "GET", path: "lbaas/loadbalancers/${lb}", until: "loadbalancer.provisioning_status=ACTIVE"}
	return []step{
		{name: "load balancer without a place", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"name":"same"}}`},
		{name: "load balancer on no subnet", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"vip_subnet_id":"` + nobody + `"}}`},
		{name: "load balancer on no network", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"vip_network_id":"` + nobody + `"}}`},
		{name: "load balancer on no port", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"vip_port_id":"` + nobody + `"}}`},
		{name: "load balancer of no provider", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"vip_subnet_id":"${sub}","provider":"nobody"}}`},
		{name: "load balancer of no flavor", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"vip_subnet_id":"${sub}","flavor_id":"` + nobody + `"}}`},
		{name: "load balancer of no zone", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"vip_subnet_id":"${sub}","availability_zone":"nowhere"}}`},
		{name: "load balancer with an unknown attribute", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"nothing":1}}`, loose: true},
		{name: "load balancer", service: "l", method: "POST", path: "lbaas/loadbalancers", body: `{"loadbalancer":{"vip_subnet_id":"${sub}","name":"same","description":"d"}}`, save: []string{"lb=loadbalancer.id", "vip=loadbalancer.vip_port_id"}},
		active,
		{name: "listener of nothing", service: "l", method: "POST", path: "lbaas/listeners", body: `{"listener":{"loadbalancer_id":"` + nobody + `","protocol":"TCP","protocol_port":6443}}`},
		{name: "listener", service: "l", method: "POST", path: "lbaas/listeners", body: `{"listener":{"loadbalancer_id":"${lb}","protocol":"TCP","protocol_port":6443,"allowed_cidrs":["10.0.0.0/8"]}}`, save: []string{"listener=listener.id"}},
		active,
		{name: "listener again", service: "l", method: "POST", path: "lbaas/listeners", body: `{"listener":{"loadbalancer_id":"${lb}","protocol":"TCP","protocol_port":6443}}`},
		{name: "pool of nothing, of which Octavia says nothing sensible", loose: true, service: "l", method: "POST", path: "lbaas/pools", body: `{"pool":{"listener_id":"` + nobody + `","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`},
		{name: "pool of neither", service: "l", method: "POST", path: "lbaas/pools", body: `{"pool":{"protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`},
		{name: "pool", service: "l", method: "POST", path: "lbaas/pools", body: `{"pool":{"listener_id":"${listener}","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`, save: []string{"pool=pool.id"}},
		active,
		{name: "pool again", service: "l", method: "POST", path: "lbaas/pools", body: `{"pool":{"listener_id":"${listener}","protocol":"TCP","lb_algorithm":"ROUND_ROBIN"}}`},
		{name: "member", service: "l", method: "POST", path: "lbaas/pools/${pool}/members", body: `{"member":{"address":"10.9.0.60","protocol_port":6443,"subnet_id":"${sub}"}}`, save: []string{"member=member.id"}},
		active,
		{name: "member again", service: "l", method: "POST", path: "lbaas/pools/${pool}/members", body: `{"member":{"address":"10.9.0.60","protocol_port":6443,"subnet_id":"${sub}"}}`},
		{name: "member on no subnet", service: "l", method: "POST", path: "lbaas/pools/${pool}/members", body: `{"member":{"address":"10.9.0.61","protocol_port":6443,"subnet_id":"` + nobody + `"}}`},
		{name: "member that is not there", service: "l", method: "DELETE", path: "lbaas/pools/${pool}/members/" + nobody},
		{name: "monitor of nothing", service: "l", method: "POST", path: "lbaas/healthmonitors", body: `{"healthmonitor":{"pool_id":"` + nobody + `","type":"TCP","delay":5,"timeout":3,"max_retries":3}}`},
		{name: "monitor", service: "l", method: "POST", path: "lbaas/healthmonitors", body: `{"healthmonitor":{"pool_id":"${pool}","type":"TCP","delay":5,"timeout":3,"max_retries":3}}`, save: []string{"monitor=healthmonitor.id"}},
		active,
		{name: "monitor again", service: "l", method: "POST", path: "lbaas/healthmonitors", body: `{"healthmonitor":{"pool_id":"${pool}","type":"TCP","delay":5,"timeout":3,"max_retries":3}}`},
		{name: "allowed CIDRs", service: "l", method: "PUT", path: "lbaas/listeners/${listener}", body: `{"listener":{"allowed_cidrs":["10.1.0.0/16"]}}`},
		active,
		{name: "load balancer with children", service: "l", method: "DELETE", path: "lbaas/loadbalancers/${lb}"},
		{name: "status of a load balancer", service: "l", method: "GET", path: "lbaas/loadbalancers/${lb}/status"},
		{name: "deletion of a load balancer", service: "l", method: "DELETE", path: "lbaas/loadbalancers/${lb}?cascade=true"},
		{name: "load balancer is gone", service: "l", method: "GET", path: "lbaas/loadbalancers/${lb}", until: "404"},
		{name: "deletion of a load balancer again", service: "l", method: "DELETE", path: "lbaas/loadbalancers/${lb}?cascade=true"},
		{name: "its listener is gone", service: "l", method: "GET", path: "lbaas/listeners/${listener}"},
		{name: "its port is gone", service: "n", method: "GET", path: "ports/${vip}"},
	}
}

func endSteps() []step {
	return []step{
		{name: "trunk is deleted", service: "n", method: "DELETE", path: "trunks/${trunk}"},
		{name: "its port is deleted", service: "n", method: "DELETE", path: "ports/${parent}"},
		{name: "port is deleted with its floating IP", service: "n", method: "DELETE", path: "ports/${port}"},
		{name: "floating IP stays", service: "n", method: "GET", path: "floatingips/${fip}", until: "floatingip.status=DOWN"},
		{name: "floating IP is deleted", service: "n", method: "DELETE", path: "floatingips/${fip}"},
		{name: "interface is removed", service: "n", method: "PUT", path: "routers/${router}/remove_router_interface", body: `{"subnet_id":"${sub}"}`},
		{name: "interface is removed again", service: "n", method: "PUT", path: "routers/${router}/remove_router_interface", body: `{"subnet_id":"${sub}"}`},
		{name: "router is deleted", service: "n", method: "DELETE", path: "routers/${router}"},
		{name: "interface of no router", service: "n", method: "PUT", path: "routers/${router}/remove_router_interface", body: `{"subnet_id":"${sub}"}`},
		{name: "network is deleted", service: "n", method: "DELETE", path: "networks/${net}"},
		{name: "its subnet is gone", service: "n", method: "GET", path: "subnets/${sub}"},
		{name: "rule is deleted", service: "n", method: "DELETE", path: "security-group-rules/${rule}"},
		{name: "group is deleted", service: "n", method: "DELETE", path: "security-groups/${group}"},
	}
}

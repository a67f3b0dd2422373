package azuretest

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// A CAPZ is a cluster that Cluster API's provider made, called as Options say and as that names things.
// Source: CAPZ, internal/api/v1beta1/azurecluster_default.go, azure/scope/machine.go, azure/services/virtualmachines/spec.go.
type CAPZ struct {
	Name, Group      string
	Servers, Workers int
	Names            []string // of the machines, servers first; empty: it chose them
	Host             string   // of the API server; empty: its name in DNS
	Internal         bool     // the load balancer
	Peer             string   // id of a VNet of people, with which that of the cluster is connected
	VNet             string   // id of people's, with the subnets that CAPZ would make; empty: it made one
	GroupOfPeople    bool
	Sets             bool   // machines are in availability sets, and not in zones
	Outbound         bool   // machines reach the internet through load balancers, and servers have no NAT gateway
	DualStack        bool   // nodes and servers have IPv6, too, and nodes no NAT gateway
	ZoneGroup        string // the resource group of the private zone; empty: that of the cluster
	Public           bool   // machines have public addresses
	Access           bool   // there are a bastion, in a subnet of Cluster API's size, and a private endpoint
}

// LeftByCAPZ is what there is of such a cluster.
type LeftByCAPZ struct {
	Host             string   // of the API server
	Servers, Workers []string // ids of VMs
	All              []string // ids of all that it made
}

// AddCAPZ makes a cluster of Cluster API's provider.
func (c *Cloud) AddCAPZ(o CAPZ) LeftByCAPZ {
	group := "/subscriptions/" + Subscription + "/resourceGroups/" + o.Group
	var out LeftByCAPZ
	put := func(id, role string, body object) string {
		if body["location"] == nil {
			body["location"] = Location
		}
		body["tags"] = object{"sigs.k8s.io_cluster-api-provider-azure_cluster_" + o.Name: "owned", "sigs.k8s.io_cluster-api-provider-azure_role": role, "Name": nameOf(id)}
		c.Put(id, body)
		out.All = append(out.All, id)
		return id
	}
	network := func(kind, name string) string { return group + "/providers/Microsoft.Network/" + kind + "/" + name }
	ref := func(id string) object { return object{"id": id} }
	if _, there := c.Resource(group); !there && o.GroupOfPeople {
		c.Put(group, object{"location": Location})
	} else if !there {
		put(group, "common", object{})
	}
	ranges := []any{"10.0.0.0/8"}
	if o.DualStack {
		ranges = append(ranges, "2001:db8::/56")
	}
	vnet := o.VNet
	if vnet == "" {
		vnet = put(network("virtualNetworks", o.Name+"-vnet"), "common", object{"properties": object{"addressSpace": object{"addressPrefixes": ranges}}})
	}
	subnets := map[string]string{}
	for role, cidr := range map[string]string{"controlplane": "10.0.0.0/16", "node": "10.1.0.0/16"} {
		p := object{"addressPrefix": cidr}
		if o.DualStack {
			p = object{"addressPrefixes": []any{cidr, map[string]string{"controlplane": "2001:db8::/64", "node": "2001:db8:0:1::/64"}[role]}}
		}
		if o.VNet == "" {
			var rules []any
			if role == "controlplane" {
				for i, r := range []string{"allow_ssh 22 Allow SSH", "allow_apiserver 6443 Allow K8s API Server"} {
					f := strings.SplitN(r, " ", 3)
					rules = append(rules, object{"name": f[0], "properties": object{
						"description": f[2], "access": "Allow", "direction": "Inbound", "protocol": "Tcp", "priority": 2200 + i, "sourceAddressPrefix": "*", "sourcePortRange": "*",
						"destinationAddressPrefix": "*", "destinationPortRange": f[1], "provisioningState": "Succeeded",
					}})
				}
			}
			p["networkSecurityGroup"] = ref(put(network("networkSecurityGroups", o.Name+"-"+role+"-nsg"), "common", object{"properties": object{"securityRules": rules}}))
			if role == "node" && !o.DualStack || role != "node" && o.Internal && !o.Outbound {
				ip, nat := network("publicIPAddresses", "pip-"+o.Name+"-node-natgw"), network("natGateways", o.Name+"-node-natgw")
				if _, there := c.Resource(nat); !there {
					put(ip, "common", object{"properties": object{"publicIPAllocationMethod": "Static"}})
					put(nat, "common", object{"properties": object{"publicIpAddresses": []any{ref(ip)}}})
				}
				p["natGateway"] = ref(nat)
			}
			table := network("routeTables", o.Name+"-node-routetable") // both share it
			if _, there := c.Resource(table); !there {
				put(table, "common", object{"properties": object{}})
			}
			p["routeTable"] = ref(table)
		}
		id := vnet + "/subnets/" + o.Name + "-" + role + "-subnet"
		c.Put(id, object{"properties": p})
		subnets[role] = id
	}
	if o.Access {
		within := vnet + "/subnets/AzureBastionSubnet"
		c.Put(within, object{"properties": object{"addressPrefix": "10.255.255.224/27"}})
		ip := put(network("publicIPAddresses", o.Name+"-azure-bastion-pip"), "common", object{"properties": object{"publicIPAllocationMethod": "Static"}})
		put(network("bastionHosts", o.Name+"-azure-bastion"), "Bastion", object{"sku": object{"name": "Basic"}, "properties": object{
			"enableTunneling": false, "ipConfigurations": []any{object{"name": "a", "properties": object{"subnet": ref(within), "publicIPAddress": ref(ip)}}},
		}})
		put(network("privateEndpoints", "registry"), "common", object{"properties": object{
			"subnet": ref(subnets["node"]), "ipConfigurations": []any{object{"name": "a", "properties": object{"privateIPAddress": "10.1.0.9"}}}, "privateLinkServiceConnections": []any{object{"name": "registry", "properties": object{
				"privateLinkServiceId": "/subscriptions/x/registry", "groupIds": []any{"registry"}, "privateLinkServiceConnectionState": object{"status": "Approved"},
			}}},
		}})
	}
	if o.Peer != "" {
		for from, to := range map[string]string{vnet: o.Peer, o.Peer: vnet} {
			c.Put(from+"/virtualNetworkPeerings/"+nameOf(from)+"-To-"+nameOf(to), object{"properties": object{"remoteVirtualNetwork": ref(to), "peeringState": "Connected", "allowForwardedTraffic": true}})
		}
	}
	balancer, front := o.Name+"-public-lb", object(nil)
	if o.Internal {
		balancer = o.Name + "-internal-lb"
		front = object{"privateIPAddress": "10.0.0.100", "subnet": ref(subnets["controlplane"])}
		of := "/subscriptions/" + Subscription + "/resourceGroups/" + cmp.Or(o.ZoneGroup, o.Group)
		zone := put(of+"/providers/Microsoft.Network/privateDnsZones/"+o.Name+".capz.io", "common", object{"location": "global", "properties": object{}})
		c.Put(zone+"/virtualNetworkLinks/"+nameOf(vnet)+"-link", object{"location": "global", "properties": object{"virtualNetwork": ref(vnet)}})
		if o.Peer != "" {
			c.Put(zone+"/virtualNetworkLinks/"+nameOf(o.Peer)+"-link", object{"location": "global", "properties": object{"virtualNetwork": ref(o.Peer)}})
		}
		c.Put(zone+"/A/apiserver", object{"properties": object{"aRecords": []any{object{"ipv4Address": "10.0.0.100"}}}})
		out.Host = "apiserver." + o.Name + ".capz.io"
	} else {
		out.Host = cmp.Or(o.Host, o.Name+"-5e4e1f0a."+Location+".cloudapp.azure.com")
		label, _, _ := strings.Cut(out.Host, ".")
		front = object{"publicIPAddress": ref(put(network("publicIPAddresses", "pip-"+o.Name+"-apiserver"), "apiserver", object{"properties": object{
			"publicIPAllocationMethod": "Static", "dnsSettings": object{"domainNameLabel": label, "fqdn": out.Host},
		}}))}
	}
	lb := network("loadBalancers", balancer)
	pool := lb + "/backendAddressPools/" + balancer + "-backendPool"
	frontend := lb + "/frontendIPConfigurations/" + balancer + "-frontEnd"
	body := object{"sku": object{"name": "Standard"}, "properties": object{
		"frontendIPConfigurations": []any{object{"id": frontend, "name": balancer + "-frontEnd", "properties": front}},
		"backendAddressPools":      []any{object{"id": pool, "name": balancer + "-backendPool"}},
		"probes":                   []any{object{"id": lb + "/probes/HTTPSProbe", "name": "HTTPSProbe", "properties": object{"protocol": "Https", "port": 6443, "requestPath": "/readyz"}}},
		"loadBalancingRules": []any{object{"id": lb + "/loadBalancingRules/LBRuleHTTPS", "name": "LBRuleHTTPS", "properties": object{
			"protocol": "Tcp", "frontendPort": 6443, "backendPort": 6443, "idleTimeoutInMinutes": 4, "disableOutboundSnat": true,
			"frontendIPConfiguration": ref(frontend), "backendAddressPool": ref(pool), "probe": ref(lb + "/probes/HTTPSProbe"),
		}}},
	}}
	for name, suffix := range map[string]string{o.Name: "-node-outbound", o.Name + "-outbound-lb": "-controlplane-outbound"} {
		if !o.Outbound || name != o.Name && !o.Internal {
			continue
		}
		ip := put(network("publicIPAddresses", "pip-"+o.Name+suffix), "common", object{"properties": object{"publicIPAllocationMethod": "Static"}})
		of := network("loadBalancers", name)
		front, pool := of+"/frontendIPConfigurations/"+name+"-frontEnd", of+"/backendAddressPools/"+name+"-outboundBackendPool"
		put(of, "common", object{"sku": object{"name": "Standard"}, "properties": object{
			"frontendIPConfigurations": []any{object{"id": front, "name": name + "-frontEnd", "properties": object{"publicIPAddress": ref(ip)}}},
			"backendAddressPools":      []any{object{"id": pool, "name": name + "-outboundBackendPool"}},
			"outboundRules": []any{object{"id": of + "/outboundRules/OutboundNATAllProtocols", "name": "OutboundNATAllProtocols", "properties": object{
				"protocol": "All", "idleTimeoutInMinutes": 4, "frontendIPConfigurations": []any{ref(front)}, "backendAddressPool": ref(pool),
			}}},
		}})
	}
	var rules []any // by which people reach servers with SSH
	if !o.Internal {
		properties(body)["outboundRules"] = []any{object{"id": lb + "/outboundRules/OutboundNATAllProtocols", "name": "OutboundNATAllProtocols", "properties": object{
			"protocol": "All", "idleTimeoutInMinutes": 4, "frontendIPConfigurations": []any{ref(frontend)}, "backendAddressPool": ref(pool),
		}}}
		for i := range o.Servers {
			rules = append(rules, object{"id": lb + "/inboundNatRules/" + o.machine(i), "name": o.machine(i), "properties": object{
				"protocol": "Tcp", "frontendPort": 22 + 2179*min(i, 1) + i, "backendPort": 22, "frontendIPConfiguration": ref(frontend),
			}})
		}
		properties(body)["inboundNatRules"] = rules
	}
	put(lb, "apiserver", body)
	machine := func(name, role string) string {
		subnet, pools, cluster := subnets["node"], []any{}, "node"
		if role == "control-plane" {
			subnet, pools, cluster = subnets["controlplane"], []any{ref(pool)}, "control-plane"
		}
		id := group + "/providers/Microsoft.Compute/virtualMachines/" + name
		address := object{"primary": true, "privateIPAddress": c.free(subnet), "subnet": ref(subnet), "loadBalancerBackendAddressPools": pools}
		if role == "control-plane" && !o.Internal {
			address["loadBalancerInboundNatRules"] = []any{ref(lb + "/inboundNatRules/" + name)}
		}
		if o.Public {
			address["publicIPAddress"] = ref(put(network("publicIPAddresses", "pip-"+name), cluster, object{"properties": object{
				"publicIPAllocationMethod": "Static", "ipConfiguration": ref(network("networkInterfaces", name+"-nic") + "/ipConfigurations/pipConfig"),
			}}))
		}
		addresses := []any{object{"name": "pipConfig", "properties": address}}
		if o.DualStack {
			addresses = append(addresses, object{"name": "ipConfigv6", "properties": object{"privateIPAddress": "2001:db8::" + fmt.Sprint(len(out.All)), "privateIPAddressVersion": "IPv6", "subnet": ref(subnet)}})
		}
		nic := put(network("networkInterfaces", name+"-nic"), cluster, object{"properties": object{
			"primary": true, "virtualMachine": ref(id), "ipConfigurations": addresses,
		}})
		disk := func(suffix, from string) object { // stays if its VM is deleted, as the interface does
			of := put(diskID(id, name+"_"+suffix), cluster, object{"managedBy": id, "properties": object{"diskState": "Attached", "owner": ref(id), "creationData": object{"createOption": from}}})
			return object{"name": name + "_" + suffix, "createOption": from, "deleteOption": "Detach", "managedDisk": ref(of)}
		}
		vm := object{"properties": object{
			"vmId": name, "timeCreated": time.Now().UTC().Format(time.RFC3339Nano), "hardwareProfile": object{"vmSize": "Standard_D4s_v5"},
			"storageProfile": object{"osDisk": disk("OSDisk", "FromImage"), "dataDisks": []any{disk("etcddisk", "Empty")}},
			"networkProfile": object{"networkInterfaces": []any{object{"id": nic, "properties": object{"primary": true}}}},
			"instanceView":   object{"statuses": []any{object{"code": powerRunning}}},
		}}
		if vm["zones"] = []any{"1"}; o.Sets {
			pool := map[string]string{"control-plane": "control-plane", "node": o.Name + "-md-0"}[role]
			set := group + "/providers/Microsoft.Compute/availabilitySets/" + o.Name + "_" + pool + "-as"
			if _, there := c.Resource(set); !there {
				put(set, cluster, object{"sku": object{"name": "Aligned"}})
			}
			delete(vm, "zones")
			properties(vm)["availabilitySet"] = ref(set)
		}
		return put(id, cluster, vm)
	}
	for i := range o.Servers {
		out.Servers = append(out.Servers, machine(o.machine(i), "control-plane"))
	}
	for i := range o.Workers {
		out.Workers = append(out.Workers, machine(o.machine(o.Servers+i), "node"))
	}
	return out
}

// machine returns the name of the ith machine.
func (o CAPZ) machine(i int) string {
	switch {
	case len(o.Names) > 0:
		return o.Names[i]
	case i < o.Servers:
		return fmt.Sprintf("%s-control-plane-%d", o.Name, i)
	}
	return fmt.Sprintf("%s-md-0-%d", o.Name, i-o.Servers)
}

// free returns a free address of a subnet.
func (c *Cloud) free(subnet string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.address(subnet, false)
}

package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A CAPA is a cluster as Cluster API's provider leaves it in an account, by its tags.
// Source: CAPA, api/v1beta2/tags.go and pkg/cloud/services.
type CAPA struct {
	Name     string
	Classic  bool     // its load balancer is one
	VPC      string   // a given one; empty: that of the provider
	Subnets  []string // of a given one, for machines
	Bastion  bool
	Balancer string // the name of its load balancer; empty: that of the provider
	Servers  int
	Workers  int
	// Inside has the load balancer be internal, keep addresses of clients, and listen at port 8443, too.
	Inside bool
	// Rules has it let in 192.0.2.0/24, and with Inside the servers at port 6444.
	Rules bool
	// Six has its VPC have IPv6, too.
	Six       bool
	NodePorts string // from where its node ports are reached by IPv4; empty: from everywhere
	// Managed is the name of its cluster of EKS, of version 1.33; empty: machines are its control plane. More has fields of the
	// request for it. What else EKS keeps of it, tests make with Do.
	Managed string
	More    map[string]any
}

// A LeftByCAPA is what there is of such a cluster.
type LeftByCAPA struct {
	VPC              string
	Balancer, DNS    string            // the name of the load balancer, and its name of DNS
	Servers, Workers []string          // ids of instances
	Zones            map[string]string // of instances
	Subnets          []string          // as in network.subnets, in YAML
	All              []string          // ids of all that has its tags
}

// AddCAPA adds what Cluster API's provider leaves of a cluster.
func (c *Cloud) AddCAPA(o CAPA) *LeftByCAPA {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := &LeftByCAPA{VPC: o.VPC, Zones: make(map[string]string)}
	add := func(k Kind, role, name string, attr map[string]string) *Thing {
		t := c.add(k, attr, map[string]string{
			"Name": o.Name + "-" + name, "sigs.k8s.io/cluster-api-provider-aws/cluster/" + o.Name: "owned", "sigs.k8s.io/cluster-api-provider-aws/role": role,
		})
		t.Made = t.Made.Add(-shownFor) // it is there for long
		left.All = append(left.All, t.ID)
		return t
	}
	private, public, nats := o.Subnets, []string(nil), []string(nil)
	if o.VPC == "" {
		v := c.newVPC("10.0.0.0/16", nil)
		v.Tags = map[string]string{"Name": o.Name + "-vpc", "sigs.k8s.io/cluster-api-provider-aws/cluster/" + o.Name: "owned", "sigs.k8s.io/cluster-api-provider-aws/role": "common"}
		v.Made = v.Made.Add(-shownFor)
		if o.Six {
			v.Attr["six"] = "2a05:d014:7:1200::/56"
		}
		left.VPC, left.All = v.ID, append(left.All, v.ID)
		private, public, nats = c.networkOfCAPA(o, left, add)
	} else {
		for _, s := range c.all(Subnets) {
			if s.Attr["vpcId"] == o.VPC && strings.HasSuffix(s.Attr["cidrBlock"], ".0.0/24") {
				public = append(public, s.ID)
			}
		}
	}
	var groups map[string]string
	if o.Managed == "" {
		groups = c.groupsOfCAPA(o, left.VPC, nats, add)
	} else {
		id := add(Groups, "node-eks-additional", "node-eks-additional", map[string]string{"vpcId": left.VPC, "groupName": o.Name + "-node-eks-additional"}).ID
		groups = map[string]string{"node": id, "lb": id}
	}
	run := func(role, name, subnet, group string) *Thing {
		s := c.things[subnet]
		i := add(Instances, role, name, map[string]string{
			"state": "running", "instanceType": "m6i.large", "subnetId": subnet, "vpcId": left.VPC, "zone": s.Attr["zone"], "privateIpAddress": fmt.Sprintf("10.0.64.%d", c.n%250+1),
			"clientToken": fmt.Sprintf("9f0e7a4e-1c5b-4b8f-9d39-%012d", c.n), "profile": "nodes",
		})
		x := c.add(Interfaces, map[string]string{"vpcId": left.VPC, "subnetId": subnet, "zone": s.Attr["zone"], "instanceId": i.ID}, maps.Clone(i.Tags))
		x.Sets["groups"] = slices.Compact([]string{groups[group], groups["lb"]})
		i.Sets["groups"] = x.Sets["groups"]
		if o.Six && role != "bastion" {
			i.Attr["ipv6"], i.Attr["primaryIpv6"] = fmt.Sprintf("%s%x", strings.TrimSuffix(s.Attr["six"], "/64"), c.n), "true"
		}
		left.Zones[i.ID] = s.Attr["zone"]
		return i
	}
	for n := range o.Servers {
		i := run("control-plane", fmt.Sprintf("control-plane-%d", n), private[n%len(private)], "controlplane")
		i.Tags["kubernetes.io/cluster/"+o.Name] = "owned"
		left.Servers = append(left.Servers, i.ID)
	}
	for n := range o.Workers {
		i := run("node", fmt.Sprintf("md-0-%d", n), private[n%len(private)], "node")
		i.Tags["kubernetes.io/cluster/"+cmp.Or(o.Managed, o.Name)] = "owned"
		left.Workers = append(left.Workers, i.ID)
	}
	if o.Bastion {
		run("bastion", "bastion", public[0], "bastion")
	}
	if o.Managed != "" {
		left.All = append(left.All, c.planeOfCAPA(o, slices.Concat(private, public)))
		return left
	}
	c.balancerOfCAPA(o, left, public, groups)
	return left
}

// planeOfCAPA adds a cluster of EKS in subnets, and returns its ARN.
// Source: CAPA, pkg/cloud/services/eks/cluster.go.
func (c *Cloud) planeOfCAPA(o CAPA, subnets []string) string {
	for _, id := range subnets {
		delete(c.things[id].Tags, "kubernetes.io/cluster/"+o.Name)
		c.things[id].Tags["kubernetes.io/cluster/"+o.Managed] = "shared"
	}
	body := map[string]any{
		"name": o.Managed, "version": "1.33", "roleArn": "arn:aws:iam::" + c.o.Account + ":role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io",
		"resourcesVpcConfig": map[string]any{"subnetIds": listOf(subnets)},
		"tags": map[string]any{
			"Name": o.Managed, "kubernetes.io/cluster/" + o.Managed: "owned", "sigs.k8s.io/cluster-api-provider-aws/cluster/" + o.Managed: "owned", "sigs.k8s.io/cluster-api-provider-aws/role": "common",
		},
	}
	maps.Copy(body, o.More)
	if err := c.do("CreateCluster", body); err != nil {
		panic(err)
	}
	t := c.find(ManagedClusters, "name", o.Managed)
	t.Made = t.Made.Add(-shownFor)
	t.Attr["until"] = t.Made.Format(time.RFC3339Nano)
	return t.ID
}

// TrustAsCAPA makes the OIDC provider of a cluster of EKS that is active, with the tags of the cluster.
// Source: CAPA, pkg/cloud/services/eks/oidc.go.
func (c *Cloud) TrustAsCAPA(cluster string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	t := c.find(ManagedClusters, "name", cluster)
	form := url.Values{"Url": {c.issuerOf(t)}, "ClientIDList.member.1": {"sts.amazonaws.com"}}
	for i, k := range slices.Sorted(maps.Keys(t.Tags)) {
		form.Set(fmt.Sprintf("Tags.member.%d.Key", i+1), k)
		form.Set(fmt.Sprintf("Tags.member.%d.Value", i+1), t.Tags[k])
	}
	_, err := c.createTrust(request{Values: form})
	return err
}

// listOf returns texts in the form of JSON.
func listOf(all []string) []any {
	var out []any
	for _, one := range all {
		out = append(out, one)
	}
	return out
}

// Do does what a request for an action of EKS asks for, as by somebody else. The body names the cluster in clusterName, and an
// access entry in principalArn.
func (c *Cloud) Do(action string, body map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pass()
	return c.do(action, body)
}

func (c *Cloud) do(action string, body map[string]any) error {
	do := c.eks()[action]
	if do == nil {
		return fmt.Errorf("no action %s of EKS", action)
	}
	cluster, _ := body["clusterName"].(string)
	principal, _ := body["principalArn"].(string)
	_, err := do(request{Values: url.Values{"cluster": {cluster}, "name": {principal}}, body: body, who: "arn:aws:sts::" + c.o.Account + ":assumed-role/controllers.cluster-api-provider-aws.sigs.k8s.io/capa"})
	return err
}

type adding = func(k Kind, role, name string, attr map[string]string) *Thing

// networkOfCAPA adds subnets in each zone, each with a route table of its own.
func (c *Cloud) networkOfCAPA(o CAPA, left *LeftByCAPA, add adding) (private, public, addresses []string) {
	gateway := add(Gateways, "common", "igw", map[string]string{"vpcId": left.VPC})
	egress := ""
	if o.Six {
		egress = add(Egresses, "common", "eigw", map[string]string{"vpcId": left.VPC}).ID
	}
	for i, zone := range c.o.Zones {
		a := add(Addresses, "common", "eip-common", map[string]string{"publicIp": fmt.Sprintf("198.51.100.%d", 200+i)})
		subnet := func(role, cidr string) *Thing {
			s := add(Subnets, role, "subnet-"+role+"-"+zone, map[string]string{"vpcId": left.VPC, "zone": zone, "cidrBlock": cidr})
			s.Tags["kubernetes.io/cluster/"+o.Name] = "owned"
			six := ""
			if o.Six {
				s.Attr["six"], s.Attr["AssignIpv6AddressOnCreation"] = fmt.Sprintf("2a05:d014:7:12%02x::/64", len(left.Subnets)+1), "true"
				six = "isIpv6: true, ipv6CidrBlock: '" + s.Attr["six"] + "', "
			}
			left.Subnets = append(left.Subnets, fmt.Sprintf("{id: %s-subnet-%s-%s, resourceID: %s, availabilityZone: %s, cidrBlock: %s, isPublic: %t, %szoneType: availability-zone, tags: {Name: a, sigs.k8s.io/cluster-api-provider-aws/role: %s}}",
				o.Name, role, zone, s.ID, zone, cidr, role == "public", six, role))
			return s
		}
		p, q := subnet("public", fmt.Sprintf("10.0.%d.0/20", 16*i)), subnet("private", fmt.Sprintf("10.0.%d.0/18", 64*(i+1)))
		nat := add(NATs, "common", "nat", map[string]string{"vpcId": left.VPC, "subnetId": p.ID, "state": "available", "allocationId": a.ID})
		a.Attr["natGateway"] = nat.ID
		c.add(Interfaces, map[string]string{"vpcId": left.VPC, "subnetId": p.ID, "natGateway": nat.ID, "description": "Interface for NAT Gateway " + nat.ID, "public": "yes"}, nil)
		for j, s := range []*Thing{p, q} {
			t := add(RouteTables, "common", "rt-"+zone, map[string]string{"vpcId": left.VPC})
			t.Sets["routes"], t.Sets["associations"] = []string{"0.0.0.0/0 " + []string{gateway.ID, nat.ID}[j]}, []string{c.id("rtbassoc") + " " + s.ID}
			if o.Six {
				t.Sets["routes"] = append(t.Sets["routes"], "::/0 "+[]string{gateway.ID, egress}[j])
			}
		}
		private, public, addresses = append(private, q.ID), append(public, p.ID), append(addresses, a.Attr["publicIp"])
	}
	return private, public, addresses
}

// groupsOfCAPA adds security groups with the rules of an nlb's cluster, or a classic one's.
func (c *Cloud) groupsOfCAPA(o CAPA, vpc string, nats []string, add adding) map[string]string {
	ids := make(map[string]string)
	roles := []string{"apiserver-lb", "lb", "controlplane", "node"}
	if o.Bastion {
		roles = append(roles, "bastion")
	}
	for _, role := range roles {
		ids[role] = add(Groups, role, role, map[string]string{"vpcId": vpc, "groupName": o.Name + "-" + role}).ID
	}
	c.things[ids["lb"]].Tags["kubernetes.io/cluster/"+o.Name] = "owned"
	allow := func(role, protocol string, from, to int, description string, sources ...string) {
		g := c.things[ids[role]]
		for _, s := range sources {
			g.Sets["rules"] = append(g.Sets["rules"], fmt.Sprintf("%s\x00%d\x00%d\x00%s\x00%s", protocol, from, to, s, description))
		}
	}
	all, apiRule, within := "0.0.0.0/0", "Kubernetes API", c.things[vpc].Attr["cidrBlock"]
	if o.Six {
		all, apiRule, within = "::/0", "Kubernetes API IPv6", c.things[vpc].Attr["six"]
	}
	for _, ip := range nats {
		if !o.Inside {
			allow("apiserver-lb", "tcp", 6443, 6443, "Kubernetes API", ip+"/32")
		}
	}
	if o.Inside {
		allow("apiserver-lb", "tcp", 6443, 6443, apiRule, within)
		allow("lb", "tcp", 8443, 8443, "Allow NLB traffic to the control plane instances on port 8443.", "0.0.0.0/0")
	}
	if !o.Rules || !o.Inside && len(nats) == 0 {
		allow("apiserver-lb", "tcp", 6443, 6443, apiRule, all)
	}
	if o.Inside && o.Rules {
		allow("apiserver-lb", "tcp", 6444, 6444, "servers", ids["controlplane"])
	}
	if o.Rules {
		allow("apiserver-lb", "tcp", 6443, 6443, "office", "192.0.2.0/24")
	}
	if !o.Classic {
		allow("lb", "tcp", 6443, 6443, "Allow NLB traffic to the control plane instances.", c.things[vpc].Attr["cidrBlock"])
	}
	for _, role := range []string{"controlplane", "node"} {
		allow(role, "tcp", 179, 179, "bgp (calico)", ids["controlplane"], ids["node"])
		allow(role, "4", -1, -1, "IP-in-IP (calico)", ids["controlplane"], ids["node"])
		if o.Bastion {
			allow(role, "tcp", 22, 22, "SSH", ids["bastion"])
		}
	}
	allow("controlplane", "tcp", 6443, 6443, "Kubernetes API", ids["apiserver-lb"], ids["controlplane"], ids["node"])
	allow("controlplane", "tcp", 2379, 2379, "etcd", ids["controlplane"])
	allow("controlplane", "tcp", 2380, 2380, "etcd peer", ids["controlplane"])
	allow("node", "tcp", 30000, 32767, "Node Port Services", cmp.Or(o.NodePorts, "0.0.0.0/0"))
	if o.Six {
		allow("node", "tcp", 30000, 32767, "Node Port Services IPv6", "::/0")
	}
	allow("node", "tcp", 10250, 10250, "Kubelet API", ids["controlplane"], ids["node"])
	if o.Bastion {
		allow("bastion", "tcp", 22, 22, "SSH", "0.0.0.0/0")
	}
	return ids
}

// balancerOfCAPA adds the load balancer, and what it leads to.
func (c *Cloud) balancerOfCAPA(o CAPA, left *LeftByCAPA, public []string, groups map[string]string) {
	tags := func() map[string]string {
		return map[string]string{"Name": left.Balancer, "sigs.k8s.io/cluster-api-provider-aws/cluster/" + o.Name: "owned", "sigs.k8s.io/cluster-api-provider-aws/role": "apiserver"}
	}
	left.Balancer = cmp.Or(o.Balancer, o.Name+"-apiserver")
	left.DNS = left.Balancer + "-1." + c.o.Region + ".elb.amazonaws.com"
	attr := map[string]string{"name": left.Balancer, "dns": left.DNS, "scheme": "internet-facing", "vpcId": left.VPC}
	if o.Inside {
		attr["scheme"] = "internal"
	}
	if o.Classic {
		maps.Copy(attr, map[string]string{"health": "TCP:6443", "Interval": "5", "Timeout": "4", "HealthyThreshold": "2", "UnhealthyThreshold": "6"})
		b := c.addNamed(ClassicOnes, "classic/"+left.Balancer, attr, tags())
		b.Made = b.Made.Add(-shownFor)
		b.Sets["subnets"], b.Sets["groups"], b.Sets["targets"] = public, []string{groups["apiserver-lb"]}, left.Servers
		c.plug(b, "ELB "+left.Balancer)
		left.All = append(left.All, b.ID)
		return
	}
	family := "ipv4"
	if o.Six {
		family, attr["family"] = "ipv6", "dualstack"
	}
	attr["type"], attr["state"], attr["load_balancing.cross_zone.enabled"] = "network", "active", "false"
	b := c.addNamed(Balancers, c.arn("loadbalancer/net/"+left.Balancer+"/0000000000000001"), attr, tags())
	b.Made = b.Made.Add(-shownFor)
	b.Sets["subnets"], b.Sets["groups"] = public, []string{groups["apiserver-lb"]}
	c.plug(b, "ELB net/"+left.Balancer+"/0000000000000001")
	left.All = append(left.All, b.ID)
	lead := func(name, port string, check ...string) {
		g := c.addNamed(TargetGroups, c.arn("targetgroup/"+name+"/0000000000000001"), map[string]string{
			"name": name, "port": port, "protocol": "TCP", "vpcid": left.VPC, "HealthCheckProtocol": "TCP", "HealthCheckPort": port,
			"HealthCheckIntervalSeconds": check[0], "HealthCheckTimeoutSeconds": check[1], "HealthyThresholdCount": check[2], "UnhealthyThresholdCount": check[3],
			"family": family, "preserve_client_ip.enabled": fmt.Sprint(o.Inside), "target_health_state.unhealthy.connection_termination.enabled": "false",
		}, tags())
		g.Made = g.Made.Add(-shownFor)
		g.Sets["targets"] = left.Servers
		l := c.addNamed(Listeners, c.arn("listener/net/"+name+"/0000000000000001/1"), map[string]string{"balancer": b.ID, "group": g.ID, "port": port, "protocol": "TCP"}, tags())
		l.Made = l.Made.Add(-shownFor)
		left.All = append(left.All, g.ID)
	}
	lead("apiserver-target-"+left.Balancer, "6443", "5", "4", "2", "6")
	if o.Inside {
		lead("additional-listener-x7k2p", "8443", "30", "10", "5", "2")
	}
}

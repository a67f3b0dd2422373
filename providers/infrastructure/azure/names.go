package azure

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// idPrefix begins the provider ids of machines: the id of the VM follows, with the resource group in lower case.
// Source: Kubernetes cloud provider Azure, pkg/provider/azure_standard.go.
const idPrefix = "azure://"

// idHere stands for the id of the VM in user data.
const idHere = "/id-of-this-vm"

// partTag says which part of a cluster a thing is that its machines share.
const partTag = "fairlead.dev/part"

// portTag says where the API server of a machine listens.
const portTag = "fairlead.dev/api-port"

// tagName returns the name of a tag as Azure accepts it, which takes no slashes.
func tagName(name string) string { return strings.ReplaceAll(name, "/", "_") }

// tagsFrom returns Fairlead's tags among those of a resource. Azure does not tell upper and lower case apart.
func tagsFrom(tags arm.Tags) map[string]string {
	out := make(map[string]string)
	for k, v := range tags {
		if rest, ok := strings.CutPrefix(strings.ToLower(k), "fairlead.dev_"); ok {
			out["fairlead.dev/"+rest] = v
		}
	}
	return out
}

// tagsFor returns tags as Azure accepts them, with those of people: of names that differ in case only, the last.
func tagsFor(own map[string]string, others ...map[string]string) arm.Tags {
	out := make(arm.Tags)
	for _, o := range others {
		for k, v := range o {
			maps.DeleteFunc(out, func(has, _ string) bool { return strings.EqualFold(has, k) })
			out[k] = v
		}
	}
	for k, v := range own {
		out[tagName(k)] = v
	}
	return out
}

// shared returns the tags of a part that the machines of v's cluster share.
func (v *view) shared(part string, more map[string]string) arm.Tags {
	own := v.c.Tags()
	own[partTag] = part
	return tagsFor(own, v.spec.AdditionalTags, more)
}

// digest returns characters that tell clusters of all fleets apart.
func digest(o snapshot.Owner, more ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(o.Fleet), o.Cluster.Namespace, o.Cluster.Name}, more...), "\x00")))
	return hex.EncodeToString(sum[:])[:8]
}

// groupOf returns the name of the resource group of a cluster.
func groupOf(c *fleet.Cluster, spec *api.AzureClusterSpec) string {
	return cmp.Or(spec.ResourceGroup, c.Key.Name)
}

// providerID returns that of a VM by its id.
func providerID(id string) fleet.ProviderID {
	seg := strings.Split(id, "/")
	if len(seg) < 9 {
		return fleet.ProviderID(idPrefix + id)
	}
	return fleet.ProviderID(idPrefix + "/subscriptions/" + strings.ToLower(seg[2]) + "/resourceGroups/" + strings.ToLower(seg[4]) + "/providers/" + arm.VMs + "/" + seg[8])
}

// The names of what machines share.
// Source: CAPZ, api/v1beta1/azurecluster_default.go, azure/defaults.go.
func (v *view) named(suffix string) string { return v.c.Key.Name + suffix }

func (v *view) subnetName(s *api.Subnet) string {
	role := map[string]string{api.ControlPlaneSubnet: "-controlplane-subnet", api.NodeSubnet: "-node-subnet", api.ClusterSubnet: "-subnet"}[s.Role]
	return cmp.Or(s.Name, v.named(role))
}

func (v *view) groupName(s *api.Subnet) string {
	if s.SecurityGroup != nil && s.SecurityGroup.Name != "" {
		return s.SecurityGroup.Name
	}
	return v.named(map[string]string{api.ControlPlaneSubnet: "-controlplane-nsg", api.NodeSubnet: "-node-nsg", api.ClusterSubnet: "-nsg"}[s.Role])
}

func (v *view) natName(s *api.Subnet) string {
	if s.NATGateway != nil && s.NATGateway.Name != "" {
		return s.NATGateway.Name
	}
	return v.named("-node-natgw")
}

func (v *view) natIPName(s *api.Subnet) string {
	if s.NATGateway != nil && s.NATGateway.IP != nil && s.NATGateway.IP.Name != "" {
		return s.NATGateway.IP.Name
	}
	return "pip-" + v.natName(s)
}

// edge returns the edge zone of the cluster; nil: it is in none.
func (v *view) edge() *arm.Edge {
	if e := v.spec.ExtendedLocation; e != nil {
		return &arm.Edge{Name: e.Name, Type: e.Type}
	}
	return nil
}

// inEdge puts what is to be made of a kind that has one into the edge zone of the cluster.
// Source: CAPZ, azure/services.
func (v *view) inEdge(kind string, body map[string]any) {
	if e := v.edge(); e != nil && slices.Contains([]string{arm.VNets, arm.PublicIPs, arm.Balancers, arm.VMs}, kind) {
		body["extendedLocation"] = e
	}
}

// natIPPart is the part of a cluster that the address of a NAT gateway is: another one than that of the API server.
func (v *view) natIPPart(name string) string {
	if part := "ip-" + name; part != balancerIPPart || v.c.ServedElsewhere() || v.spec.NetworkSpec.APIServerLB.Type == api.Internal {
		return part
	}
	return "nat-ip-" + name
}

func (v *view) balancerName() string {
	lb := v.spec.NetworkSpec.APIServerLB
	return cmp.Or(lb.Name, v.named(map[string]string{api.Public: "-public-lb", api.Internal: "-internal-lb"}[lb.Type]))
}

func (v *view) frontendName() string {
	return cmp.Or(v.spec.NetworkSpec.APIServerLB.FrontendIPs[0].Name, v.balancerName()+"-frontEnd")
}

func (v *view) poolName() string {
	if p := v.spec.NetworkSpec.APIServerLB.BackendPool; p != nil && p.Name != "" {
		return p.Name
	}
	return v.balancerName() + "-backendPool"
}

func (v *view) balancerIPName() string {
	if ip := v.spec.NetworkSpec.APIServerLB.FrontendIPs[0].PublicIP; ip != nil && ip.Name != "" {
		return ip.Name
	}
	return "pip-" + v.named("-apiserver")
}

// longestLabel is how long a label of DNS may be.
const longestLabel = 63

// label is that of the public name of the API server: alone in its location.
func (v *view) label() string {
	if name := v.spec.NetworkSpec.APIServerLB.FrontendIPs[0].PublicIP.DNSName; name != "" {
		return labelIn(name)
	}
	end := "-" + digest(v.owner, v.place.Subscription(), strings.ToLower(v.place.group))
	begin := strings.ToLower(strings.ReplaceAll(v.c.Key.Name, ".", "-"))
	if begin == "" || begin[0] < 'a' || begin[0] > 'z' { // Azure's labels begin with a letter
		begin = "c-" + begin
	}
	return strings.Trim(begin[:min(len(begin), longestLabel-len(end))], "-") + end
}

// labelIn returns the label that begins a public name.
func labelIn(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// idOf returns the id that a thing of the network of the cluster has, or is to have: a private zone may be in another resource group.
func (v *view) idOf(kind, name string) string {
	if kind == arm.Zones {
		return v.zoneGroup() + "/providers/" + kind + "/" + name
	}
	return v.place.resource(kind, name)
}

// zoneGroup returns the id of the resource group of the private zone.
func (v *view) zoneGroup() string {
	return arm.GroupID(v.place.Subscription(), cmp.Or(v.spec.NetworkSpec.PrivateDNSZoneResourceGroup, v.place.group))
}

func (v *view) zoneName() string {
	return cmp.Or(v.spec.NetworkSpec.PrivateDNSZoneName, v.c.Key.Name+".capz.io")
}

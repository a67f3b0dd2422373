package azure

import (
	"cmp"
	"encoding/base64"
	"net/netip"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/api"
)

// wanted returns what Git says of the cluster, without its pools, version and tags.
// Source: AKS REST API, Managed Clusters, Create Or Update.
func (m *managed) wanted() (map[string]any, error) {
	w := m.want
	network := map[string]any{"networkPlugin": w.NetworkPlugin, "loadBalancerSku": "standard"}
	p := map[string]any{"dnsPrefix": w.DNSPrefix, "networkProfile": network}
	text := func(in map[string]any, name, value string) {
		if value != "" {
			in[name] = value
		}
	}
	text(network, "networkPluginMode", w.NetworkPluginMode)
	text(network, "networkPolicy", w.NetworkPolicy)
	text(network, "networkDataplane", w.NetworkDataplane)
	text(network, "outboundType", w.OutboundType)
	text(network, "dnsServiceIP", w.DNSServiceIP)
	services, err := oneRange("services", m.c.Network.Services.CIDRBlocks)
	if err != nil {
		return nil, err
	}
	text(network, "serviceCidr", services)
	if dns, err := netip.ParsePrefix(services); err == nil && w.DNSServiceIP == "" { // the tenth address, as CAPZ has it
		a := dns.Addr()
		for range 10 {
			a = a.Next()
		}
		network["dnsServiceIP"] = a.String()
	}
	if w.NetworkPlugin == api.Kubenet || w.NetworkPluginMode == api.Overlay { // else Pods have addresses of the subnet
		pods, err := oneRange("pods", m.c.Network.Pods.CIDRBlocks)
		if err != nil {
			return nil, err
		}
		text(network, "podCidr", pods)
	}
	if l := w.LoadBalancerProfile; l != nil {
		network["loadBalancerProfile"] = balancerProfile(l)
	}
	text(p, "nodeResourceGroup", w.NodeResourceGroupName)
	if w.AADProfile != nil {
		p["aadProfile"] = w.AADProfile
	}
	if w.APIServerAccessProfile != nil { // Azure names the fields of these as CAPZ does
		p["apiServerAccessProfile"] = w.APIServerAccessProfile
	}
	if w.AutoUpgradeProfile != nil {
		p["autoUpgradeProfile"] = w.AutoUpgradeProfile
	}
	if w.HTTPProxyConfig != nil {
		p["httpProxyConfig"] = w.HTTPProxyConfig
	}
	if w.OIDCIssuerProfile != nil {
		p["oidcIssuerProfile"] = w.OIDCIssuerProfile
	}
	if w.AutoscalerProfile != nil {
		p["autoScalerProfile"] = renamed(plain(w.AutoscalerProfile), kebab)
	}
	if w.SecurityProfile != nil {
		p["securityProfile"] = renamed(plain(w.SecurityProfile), withID)
	}
	addons := make(map[string]any)
	has, _ := propertiesIn(cmpMap(m.raw))["addonProfiles"].(map[string]any)
	for _, a := range w.AddonProfiles {
		name := a.Name
		for k := range has { // Azure does not tell upper and lower case apart
			if strings.EqualFold(k, name) {
				name = k
			}
		}
		one := map[string]any{"enabled": a.Enabled}
		if a.Enabled && len(a.Config) > 0 { // AKS keeps none of one that is off
			one["config"] = a.Config
		}
		addons[name] = one
	}
	if len(addons) > 0 {
		p["addonProfiles"] = addons
	}
	if w.KubeletUserAssignedIdentity != "" {
		p["identityProfile"] = map[string]any{"kubeletidentity": map[string]any{"resourceId": w.KubeletUserAssignedIdentity}}
	}
	if w.SSHPublicKey != nil {
		key, err := base64.StdEncoding.DecodeString(*w.SSHPublicKey)
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "read sshPublicKey", "%w", err)
		}
		p["linuxProfile"] = map[string]any{"adminUsername": "azureuser", "ssh": map[string]any{"publicKeys": []any{map[string]any{"keyData": strings.TrimSpace(string(key))}}}}
	}
	out := map[string]any{"properties": p}
	identity, sku := w.Identity, w.SKU
	if m.raw == nil { // a new cluster
		identity, sku = cmp.Or(identity, &api.Identity{Type: api.SystemIdentity}), cmp.Or(sku, &api.ManagedSKU{Tier: api.FreeTier})
	}
	if identity != nil {
		one := map[string]any{"type": identity.Type}
		if id := identity.UserAssignedIdentityResourceID; id != "" {
			one["userAssignedIdentities"] = map[string]any{id: map[string]any{}}
		}
		out["identity"] = one
	}
	if sku != nil {
		out["sku"] = map[string]any{"name": "Base", "tier": sku.Tier}
	}
	return plain(out), nil
}

func cmpMap(m map[string]any) map[string]any {
	if m == nil {
		return make(map[string]any)
	}
	return m
}

// balancerProfile returns how machines reach the internet through the load balancer of AKS.
func balancerProfile(l *api.LoadBalancerProfile) map[string]any {
	refs := func(ids []string) []any {
		var out []any
		for _, id := range ids {
			out = append(out, map[string]any{"id": id})
		}
		return out
	}
	out := make(map[string]any)
	if l.AllocatedOutboundPorts != nil {
		out["allocatedOutboundPorts"] = *l.AllocatedOutboundPorts
	}
	if l.IdleTimeoutInMinutes != nil {
		out["idleTimeoutInMinutes"] = *l.IdleTimeoutInMinutes
	}
	if l.ManagedOutboundIPs != nil {
		out["managedOutboundIPs"] = map[string]any{"count": *l.ManagedOutboundIPs}
	}
	if len(l.OutboundIPPrefixes) > 0 {
		out["outboundIPPrefixes"] = map[string]any{"publicIPPrefixes": refs(l.OutboundIPPrefixes)}
	}
	if len(l.OutboundIPs) > 0 {
		out["outboundIPs"] = map[string]any{"publicIPs": refs(l.OutboundIPs)}
	}
	return out
}

// oneRange returns the range of Services or Pods; empty: AKS chooses one.
func oneRange(of string, all []string) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	p, err := netip.ParsePrefix(all[0])
	if err != nil || len(all) > 1 || !p.Addr().Is4() {
		return "", fleet.Errorf(fleet.Invalid, "read clusterNetwork."+of+" of the Cluster", "clusters of AKS have one range of IPv4 here, and not %s", strings.Join(all, ", "))
	}
	return p.Masked().String(), nil
}

package azure

import (
	"cmp"
	"context"

	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// The parts of a cluster that are its bastion, Azure's service through which people reach machines, and its address. That of a NAT
// gateway is "ip-" and its name, which may be bastion.
const (
	bastionPart   = "bastion"
	bastionIPPart = "bastion-ip"
)

// bastion returns the bastion that Git names; nil: none.
func (v *view) bastion() *api.AzureBastion {
	if v.spec.BastionSpec == nil {
		return nil
	}
	return v.spec.BastionSpec.AzureBastion
}

// The names of a bastion and its address.
// Source: CAPZ, api/v1beta1/azurecluster_default.go, azure/defaults.go.
func (v *view) bastionName() string { return cmp.Or(v.bastion().Name, v.named("-azure-bastion")) }

func (v *view) bastionIPName() string {
	return cmp.Or(v.bastion().PublicIP.Name, v.named("-azure-bastion-pip"))
}

// lookAtBastion finds the bastion, of a cluster that has one in Git or has its address.
func (v *view) lookAtBastion(ctx context.Context) (err error) {
	if v.bastion() != nil || partOf(v.ips, bastionIPPart, "") != nil {
		v.bastions, err = ownOf[arm.Bastion](ctx, v, arm.Bastions, false)
	}
	return err
}

// bastionSubnet decides about the subnet of the bastion in the VNet of the cluster. One that is there keeps its range,
// unless Git names another.
func (v *view) bastionSubnet(d *steps.Decision, vnet *arm.Resource[arm.VNet], busy *bool) string {
	want := *v.bastion().Subnet
	if len(want.CIDRBlocks) == 0 {
		want.CIDRBlocks = []string{api.DefaultBastionCIDR}
		if is := v.existing(vnet, &want); is != nil {
			want.CIDRBlocks = ranges(is)
		}
	}
	return v.subnet(d, vnet, &want, "", "", "", busy)
}

// makeBastion decides about the bastion in a subnet, and its address. What left Git goes.
func (v *view) makeBastion(d *steps.Decision, subnet string) {
	b := v.bastion()
	if b == nil {
		if is := partOf(v.bastions, bastionPart, ""); is != nil {
			goes(v, d, []arm.Resource[arm.Bastion]{*is}, arm.Bastions, false)
		}
		if ip := partOf(v.ips, bastionIPPart, ""); ip != nil {
			goes(v, d, []arm.Resource[arm.PublicIP]{*ip}, arm.PublicIPs, len(v.bastions) > 0)
		}
		return
	}
	ip := there(v, d, &v.ips, arm.PublicIPs, bastionIPPart, v.bastionIPName(), nil, func() map[string]any {
		return addressOf(b.PublicIP, labelIn(b.PublicIP.DNSName))
	})
	if ip == nil {
		return
	}
	compareTags(d, ip, b.PublicIP, "bastionSpec.azureBastion.publicIP")
	v.nameAddress(d, ip, b.PublicIP)
	if subnet == "" {
		return
	}
	is := there(v, d, &v.bastions, arm.Bastions, bastionPart, v.bastionName(), nil, func() map[string]any {
		return map[string]any{"sku": map[string]any{"name": b.SKU}, "properties": map[string]any{
			"enableTunneling": *b.EnableTunneling,
			"ipConfigurations": []any{map[string]any{"name": v.bastionName() + "-bastionIP", "properties": map[string]any{
				"subnet": arm.Ref{ID: subnet}, "publicIPAddress": arm.Ref{ID: ip.ID}, "privateIPAllocationMethod": "Dynamic",
			}}},
		}}
	})
	is = orFailed(is, v.bastions, bastionPart, v.bastionName())
	if is != nil && (is.SKU.Name != b.SKU || is.Properties.Tunneling != *b.EnableTunneling) {
		d.CannotFollow("bastionSpec.azureBastion", "bastion %s has sku %s and enableTunneling %t, and not %s and %t (delete it in Azure, and it is created again)", is.Name, is.SKU.Name, is.Properties.Tunneling, b.SKU, *b.EnableTunneling)
	}
}

package azure

import (
	"context"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/arm"
)

// A peering connects the VNet of a cluster with another one, which is people's. Azure has one half of it in each VNet. Halves have
// no tags: they are known by their names, which are those of Cluster API, and by the VNet that they lead to.

// halfName is the name of the half of a peering in a VNet.
// Source: CAPZ, azure/defaults.go.
func halfName(vnet, remote string) string { return vnet + "-To-" + remote }

// halvesOf are where the halves of peerings of a VNet are.
const halvesOf = "/virtualNetworkPeerings/"

// remoteID returns the id of the VNet that a peering leads to.
func (v *view) remoteID(p *api.Peering) string {
	group := p.ResourceGroup
	if group == "" {
		group = v.place.group
	}
	return arm.GroupID(v.place.Subscription(), group) + "/providers/" + arm.VNets + "/" + p.RemoteVnetName
}

// halfOf returns the half of a peering in the VNet of the cluster; nil: it is not there.
func halfOf(vnet *arm.Resource[arm.VNet], remote string) *arm.Resource[arm.Peering] {
	for i := range vnet.Properties.Peerings {
		if p := &vnet.Properties.Peerings[i]; strings.EqualFold(p.Name, halfName(vnet.Name, lastOf(remote))) {
			return p
		}
	}
	return nil
}

// The states of a half of a peering: both are there, or the other is missing, or was deleted.
const (
	connected    = "Connected"
	disconnected = "Disconnected"
)

// lookAtPeerings finds the other halves of peerings: of those in Git that are not connected, and of a cluster that goes all.
func (v *view) lookAtPeerings(ctx context.Context) error {
	v.halves = make(map[string]*arm.Resource[arm.Peering])
	vnet := partOf(v.vnets, vnetPart, v.vnetName())
	if vnet == nil {
		return nil
	}
	remotes := make(map[string]bool)
	for i := range v.spec.NetworkSpec.VNet.Peerings {
		remotes[v.remoteID(&v.spec.NetworkSpec.VNet.Peerings[i])] = true
	}
	for _, p := range vnet.Properties.Peerings {
		if v.c.Delete && strings.EqualFold(p.Name, halfName(vnet.Name, lastOf(p.Properties.Remote.ID))) { // which left Git
			remotes[p.Properties.Remote.ID] = true
		}
	}
	for remote := range remotes {
		if own := halfOf(vnet, remote); !v.c.Delete && own != nil && own.Properties.State == connected {
			continue
		}
		var is arm.Resource[arm.Peering]
		switch err := v.place.Get(ctx, remote+halvesOf+halfName(lastOf(remote), vnet.Name), &is); {
		case arm.IsMissing(err):
		case arm.IsUnused(err): // to make it fails then
			v.unread = err
		case err != nil:
			return err
		default:
			v.halves[strings.ToLower(remote)] = &is
		}
	}
	return nil
}

// peer decides about the peerings of the VNet. Azure changes one thing of a VNet at a time.
func (v *view) peer(d *steps.Decision, vnet *arm.Resource[arm.VNet], busy bool) {
	for i := range v.spec.NetworkSpec.VNet.Peerings {
		p := &v.spec.NetworkSpec.VNet.Peerings[i]
		remote := v.remoteID(p)
		add := func(what string, do func(ctx context.Context) error) {
			d.Add(steps.Step{What: what, Essential: !v.started(), Blocked: busy, Do: do})
			busy = true
		}
		create := func(what, from, to string, settings *api.PeeringProperties, done func(r arm.Resource[arm.Peering])) {
			add(what, func(ctx context.Context) error {
				name := halfName(lastOf(from), lastOf(to))
				body := cmpMap(plain(settings))
				body["remoteVirtualNetwork"] = arm.Ref{ID: to}
				err := v.place.Put(ctx, from+halvesOf+name, map[string]any{"properties": body}, arm.Absent())
				if err == nil {
					r := arm.Resource[arm.Peering]{Name: name}
					r.Properties.Remote, r.Properties.Provisioning = arm.Ref{ID: to}, made
					done(r)
				}
				return arm.Named(err)
			})
		}
		own, other := halfOf(vnet, remote), v.halves[strings.ToLower(remote)]
		elsewhere := func(half *arm.Resource[arm.Peering], to string) bool {
			return half != nil && !arm.Same(half.Properties.Remote.ID, to)
		}
		switch what := "VNet " + p.RemoteVnetName; {
		case elsewhere(own, remote) || elsewhere(other, vnet.ID):
			d.Fault(fleet.Errorf(fleet.Conflict, "find networkSpec.vnet.peerings", "peering %s leads to another VNet (remove it, or give the VNet another name)", halfName(vnet.Name, p.RemoteVnetName)))
		case own == nil && other != nil && other.Properties.State == disconnected: // Azure connects neither half again
			add("delete the former peering of "+what, func(ctx context.Context) error {
				err := v.place.Delete(ctx, remote+halvesOf+other.Name)
				if err == nil {
					delete(v.halves, strings.ToLower(remote))
				}
				return err
			})
		case own == nil:
			create("connect the VNet with "+what, vnet.ID, remote, p.ForwardPeeringProperties, func(r arm.Resource[arm.Peering]) {
				vnet.Properties.Peerings = append(vnet.Properties.Peerings, r)
			})
		case own.Properties.Provisioning == made || own.Properties.Provisioning == "Updating":
			d.Wait("the peering with " + what + " is being created")
		case own.Properties.State == disconnected:
			add("delete the former peering with "+what, func(ctx context.Context) error {
				err := v.place.Delete(ctx, vnet.ID+halvesOf+own.Name)
				if err == nil {
					own.Properties.Provisioning = "Updating"
				}
				return err
			})
		case own.Properties.State == connected:
		case other == nil:
			create("connect "+what+" with the VNet", remote, vnet.ID, p.ReversePeeringProperties, func(r arm.Resource[arm.Peering]) {
				v.halves[strings.ToLower(remote)] = &r
			})
		default:
			d.Wait("the peering with " + what + " is being created")
		}
	}
}

// unpeer decides about the deletion of the other halves of peerings, and reports whether there are none any more.
func (v *view) unpeer(d *steps.Decision) bool {
	vnet := partOf(v.vnets, vnetPart, v.vnetName())
	gone := v.unread == nil
	if !gone {
		d.Wait(arm.WrapLook("find the peerings of other VNets", v.unread).Error())
	}
	for remote, half := range v.halves {
		if arm.Same(half.Properties.Remote.ID, vnet.ID) {
			gone = false
			d.Add(steps.Step{What: "delete peering " + half.Name + " of VNet " + lastOf(remote), Do: func(ctx context.Context) error {
				return v.place.Delete(ctx, half.ID)
			}})
		}
	}
	return gone
}

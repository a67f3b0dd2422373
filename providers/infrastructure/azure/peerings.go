package azure

import (
	"context"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

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
	initiated    = "Initiated"
	disconnected = "Disconnected"
)

// underWay reports whether Azure is at work on a half of a peering.
func underWay(half *arm.Resource[arm.Peering]) bool {
	return half != nil && slices.Contains([]string{made, "Updating", deleting}, half.Properties.Provisioning)
}

// useless reports whether a half of a peering that is not connected will not be, since Azure connects neither such a half nor the
// other one again.
func useless(half *arm.Resource[arm.Peering]) bool {
	return half != nil && (half.Properties.State == disconnected || half.Properties.Provisioning == failed)
}

// lookAtPeerings finds the other halves of peerings: of those in Git that are not connected, and of a cluster that goes all that
// Fairlead may have made.
func (v *view) lookAtPeerings(ctx context.Context) error {
	v.halves = make(map[string]*arm.Resource[arm.Peering])
	vnet := partOf(v.vnets, vnetPart, v.vnetName())
	if vnet == nil {
		return nil
	}
	var remotes []string
	for i := range v.spec.NetworkSpec.VNet.Peerings {
		remotes = append(remotes, v.remoteID(&v.spec.NetworkSpec.VNet.Peerings[i]))
	}
	inGit := len(remotes)
	for _, p := range vnet.Properties.Peerings {
		id := p.Properties.Remote.ID
		isOurs := strings.EqualFold(p.Name, halfName(vnet.Name, lastOf(id))) && strings.HasPrefix(strings.ToLower(id), strings.ToLower("/subscriptions/"+v.place.Subscription()+"/"))
		if v.c.Delete && isOurs { // perhaps it left Git
			remotes = append(remotes, id)
		}
	}
	for i, remote := range remotes {
		own := halfOf(vnet, remote)
		if !v.c.Delete && own != nil && own.Properties.State == connected {
			continue
		}
		var is arm.Resource[arm.Peering]
		switch err := v.place.Get(ctx, remote+halvesOf+halfName(lastOf(remote), vnet.Name), &is); {
		case arm.IsMissing(err):
		case arm.IsUnused(err): // to make it fails then
			if i < inGit && own != nil && own.Properties.State != initiated { // else there was none
				v.unread = err
			}
		case err != nil:
			return err
		default:
			v.halves[strings.ToLower(remote)] = &is
		}
	}
	return nil
}

// peer decides about the peerings of the VNet. Azure changes one thing of a VNet at a time. Machines that are there, and others
// beside them, do not wait for a peering.
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
		forward := p.ForwardPeeringProperties
		last := forward != nil && ptr.Deref(forward.UseRemoteGateways, false) // Azure looks whether the other half allows it
		switch what := "VNet " + p.RemoteVnetName; {
		case own != nil && !arm.Same(own.Properties.Remote.ID, remote):
			v.leadsAway(d, own, vnet.Name)
		case other != nil && !arm.Same(other.Properties.Remote.ID, vnet.ID):
			v.leadsAway(d, other, p.RemoteVnetName)
		case own != nil && own.Properties.State == connected:
		case underWay(other):
			v.pending(d, "the peering with "+what+" is being created", !v.started())
		case useless(other):
			add("delete the former peering of "+what, func(ctx context.Context) error {
				err := v.place.Delete(ctx, remote+halvesOf+other.Name)
				if err == nil {
					other.Properties.Provisioning = deleting
				}
				return err
			})
		case useless(own):
			add("delete the former peering with "+what, func(ctx context.Context) error {
				err := v.place.Delete(ctx, vnet.ID+halvesOf+own.Name)
				if err == nil {
					own.Properties.Provisioning = deleting
				}
				return err
			})
		case own == nil && (other != nil || !last):
			create("connect the VNet with "+what, vnet.ID, remote, forward, func(r arm.Resource[arm.Peering]) {
				vnet.Properties.Peerings = append(vnet.Properties.Peerings, r)
			})
		case other == nil:
			create("connect "+what+" with the VNet", remote, vnet.ID, p.ReversePeeringProperties, func(r arm.Resource[arm.Peering]) {
				v.halves[strings.ToLower(remote)] = &r
			})
		default:
			v.pending(d, "the peering with "+what+" is being created", !v.started())
		}
	}
}

// leadsAway notes that a half of a peering, which a VNet has, leads elsewhere than Git says.
func (v *view) leadsAway(d *steps.Decision, half *arm.Resource[arm.Peering], vnet string) {
	err := fleet.Errorf(fleet.Conflict, "find networkSpec.vnet.peerings", "peering %s of VNet %s leads to another VNet (remove it, or give the VNet another name)", half.Name, vnet)
	if d.Faults = append(d.Faults, err); !v.started() {
		d.Missing = true
	}
}

// pending notes what Azure has to finish. If it is not essential, it is a difference that holds up no machine.
func (v *view) pending(d *steps.Decision, what string, essential bool) {
	if essential {
		d.Wait(what)
		return
	}
	d.Add(steps.Step{What: what, Blocked: true})
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

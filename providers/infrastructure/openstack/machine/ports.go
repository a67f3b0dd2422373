package machine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsbinding"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsecurity"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portstrustedvif"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"k8s.io/utils/ptr"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/network"
)

// A port is one that a server is to have, with everything looked up.
type port struct {
	name        string
	description string
	network     string
	fixedIPs    []ports.IP
	groups      []string
	tags        []string
	trunk       bool
	opts        api.ResolvedPortSpecFields
}

// ports looks up what the ports of the server are made of.
func (m *maker) ports(ctx context.Context) ([]port, error) {
	specs := m.r.Spec.Ports
	if len(specs) == 0 {
		specs = make([]api.PortOpts, 1)
	}
	more, err := securityGroupIDs(ctx, m.p, "securityGroups", m.r.Spec.SecurityGroups)
	if err != nil {
		return nil, err
	}
	out := make([]port, 0, len(specs))
	for i := range specs {
		o, field := &specs[i], fmt.Sprintf("ports[%d]", i)
		t := port{
			name:        m.r.name() + "-" + ptr.Deref(o.NameSuffix, strconv.Itoa(i)),
			description: cloud.FormatOwner(ptr.Deref(o.Description, ""), m.r.Owner),
			tags:        m.r.tags(o.Tags...),
			trunk:       ptr.Deref(o.Trunk, m.r.Spec.Trunk),
			opts:        o.ResolvedPortSpecFields,
		}
		if t.network, t.fixedIPs, err = m.target(field, o); err != nil {
			return nil, err
		}
		if ptr.Deref(o.EnablePortSecurity, true) {
			if t.groups, err = securityGroupIDs(ctx, m.p, field+".securityGroups", o.SecurityGroups); err != nil {
				return nil, err
			}
			if len(o.SecurityGroups) == 0 && m.r.Place.SecurityGroup != "" {
				t.groups = []string{m.r.Place.SecurityGroup}
			}
			t.groups = unique(append(t.groups, more...))
		}
		out = append(out, t)
	}
	return out, nil
}

// target finds the network and the addresses of a port. One that names neither
// is on the network of the cluster; one that names only subnets is on theirs.
func (m *maker) target(field string, o *api.PortOpts) (string, []ports.IP, error) {
	var id string
	if o.Network != nil {
		n, err := network.FindNetwork(m.s, field+".network", o.Network)
		if err != nil {
			return "", nil, err
		}
		id = n.ID
	}
	if id == "" && len(o.FixedIPs) == 0 {
		if m.r.Place.Network == "" {
			return "", nil, fleet.Errorf(fleet.Invalid, "look up "+field+".network", "the cluster has no network (name one in %s.network)", field)
		}
		var ips []ports.IP
		for _, s := range m.r.Place.Subnets {
			ips = append(ips, ports.IP{SubnetID: s})
		}
		return m.r.Place.Network, ips, nil
	}
	var ips []ports.IP
	for j, f := range o.FixedIPs {
		ip := ports.IP{IPAddress: ptr.Deref(f.IPAddress, "")}
		if f.Subnet != nil {
			s, err := network.FindSubnet(m.s, fmt.Sprintf("%s.fixedIPs[%d].subnet", field, j), id, f.Subnet)
			if err != nil {
				return "", nil, err
			}
			ip.SubnetID = s.ID
			if id == "" {
				id = s.NetworkID
			}
		}
		ips = append(ips, ip)
	}
	if id == "" {
		id = m.r.Place.Network
	}
	return id, ips, nil
}

// ensurePort makes t, or adopts the one of its name that the machine has.
func (m *maker) ensurePort(ctx context.Context, t port) (string, error) {
	client, err := m.p.Network(ctx)
	if err != nil {
		return "", err
	}
	own := slices.DeleteFunc(m.s.Ports.Of(m.r.Owner), func(p *cloud.Port) bool { return p.Name != t.name })
	for _, p := range own {
		if p.DeviceID != "" {
			m.keep = true
			return "", fleet.Errorf(fleet.Conflict, "make port "+t.name, "it is there, with server %s, which was not seen yet", p.DeviceID)
		}
	}
	for _, p := range own {
		if !t.madeAs(p) {
			return "", m.former("port "+t.name, "it has another network, address or security group")
		}
	}
	own = oldest(own, func(p *cloud.Port) int64 { return p.CreatedAt.UnixNano() }, func(p *cloud.Port) string { return p.ID })
	var id string
	var tags []string
	if len(own) > 0 {
		id, tags = own[0].ID, own[0].Tags
	} else {
		opts, err := m.portOpts(ctx, t)
		if err != nil {
			return "", err
		}
		made, err := ports.Create(ctx, client, opts).Extract()
		if err != nil {
			return "", openstackauth.Wrap("make port "+t.name, invalid(err))
		}
		id = made.ID
	}
	m.made.ports = append(m.made.ports, id)
	if err := m.setTags(ctx, client, "ports", id, t.tags, tags); err != nil {
		return id, err
	}
	if t.trunk {
		return id, m.ensureTrunk(ctx, client, t, id)
	}
	return id, nil
}

// madeAs reports whether p is what t asks for: on its network, with its addresses and in
// its security groups. Where t names none of these, Neutron chose them.
func (t *port) madeAs(p *cloud.Port) bool {
	has := func(want ports.IP) bool {
		return slices.ContainsFunc(p.FixedIPs, func(ip ports.IP) bool {
			return (want.SubnetID == "" || want.SubnetID == ip.SubnetID) && (want.IPAddress == "" || sameAddress(want.IPAddress, ip.IPAddress))
		})
	}
	return p.NetworkID == t.network &&
		!slices.ContainsFunc(t.fixedIPs, func(ip ports.IP) bool { return !has(ip) }) &&
		(len(t.groups) == 0 || slices.Equal(slices.Sorted(slices.Values(t.groups)), slices.Sorted(slices.Values(p.SecurityGroups))))
}

func sameAddress(a, b string) bool {
	x, err := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return err == nil && err2 == nil && x.Unmap() == y.Unmap()
}

func (m *maker) portOpts(ctx context.Context, t port) (ports.CreateOptsBuilder, error) {
	base := ports.CreateOpts{
		Name: t.name, NetworkID: t.network, Description: t.description, AdminStateUp: t.opts.AdminStateUp,
		MACAddress: ptr.Deref(t.opts.MACAddress, ""), PropagateUplinkStatus: t.opts.PropagateUplinkStatus,
	}
	if len(t.fixedIPs) > 0 {
		base.FixedIPs = t.fixedIPs
	}
	if len(t.groups) > 0 {
		base.SecurityGroups = &t.groups
	}
	if ptr.Deref(t.opts.EnablePortSecurity, true) {
		for _, a := range t.opts.AllowedAddressPairs {
			base.AllowedAddressPairs = append(base.AllowedAddressPairs, ports.AddressPair{IPAddress: a.IPAddress, MACAddress: ptr.Deref(a.MACAddress, "")})
		}
	}
	if len(t.opts.ValueSpecs) > 0 {
		values := make(map[string]string)
		for _, v := range t.opts.ValueSpecs {
			values[v.Key] = v.Value
		}
		base.ValueSpecs = &values
	}
	var out ports.CreateOptsBuilder = base
	if t.opts.EnablePortSecurity != nil {
		out = portsecurity.PortCreateOptsExt{CreateOptsBuilder: out, PortSecurityEnabled: t.opts.EnablePortSecurity}
	}
	profile := make(map[string]any)
	if b := t.opts.Profile; b != nil {
		if ptr.Deref(b.OVSHWOffload, false) {
			profile["capabilities"] = []string{"switchdev"}
		}
		if ptr.Deref(b.TrustedVF, false) {
			// Newer Neutron has an attribute for it and refuses the profile.
			own, err := m.p.Extension(ctx, "port-trusted-vif")
			if err != nil {
				return nil, err
			}
			if own {
				out = portstrustedvif.PortCreateOptsExt{CreateOptsBuilder: out, PortTrustedVIF: b.TrustedVF}
			} else {
				profile["trusted"] = true
			}
		}
	}
	if len(profile) == 0 {
		profile = nil
	}
	return portsbinding.CreateOptsExt{
		CreateOptsBuilder: out, HostID: ptr.Deref(t.opts.HostID, ""), VNICType: ptr.Deref(t.opts.VNICType, ""), Profile: profile,
	}, nil
}

func (m *maker) ensureTrunk(ctx context.Context, client *gophercloud.ServiceClient, t port, portID string) error {
	has, err := m.p.Extension(ctx, "trunk")
	if err != nil {
		return err
	}
	if !has {
		return fleet.Errorf(fleet.Invalid, "make trunk "+t.name, "Neutron of this cloud has no trunks (set trunk to false)")
	}
	var id string
	var tags []string
	for _, k := range m.s.Trunks.Of(m.r.Owner) {
		if k.PortID == portID {
			id, tags = k.ID, k.Tags
		}
	}
	if id == "" {
		made, err := trunks.Create(ctx, client, trunks.CreateOpts{
			Name: t.name, PortID: portID, Description: cloud.FormatOwner("", m.r.Owner), Subports: []trunks.Subport{},
		}).Extract()
		if err != nil {
			return openstackauth.Wrap("make trunk "+t.name, invalid(err))
		}
		id = made.ID
	}
	m.made.trunks = append(m.made.trunks, id)
	return m.setTags(ctx, client, "trunks", id, t.tags, tags)
}

// setTags sets the user's tags where Neutron has any.
func (m *maker) setTags(ctx context.Context, client *gophercloud.ServiceClient, kind, id string, want, have []string) error {
	if len(want) == 0 || slices.Equal(want, slices.Sorted(slices.Values(have))) {
		return nil
	}
	if has, err := m.p.Extension(ctx, "standard-attr-tag"); err != nil || !has {
		return err
	}
	err := attributestags.ReplaceAll(ctx, client, kind, id, attributestags.ReplaceAllOpts{Tags: want}).Err
	return openstackauth.Wrap("set tags of "+kind+" "+id, err)
}

package machine

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// checkUnused proves that no server has any of p: Neutron and Cinder say whose a part
// is, and Nova is asked for that server by its id. That a listing lacks a server
// proves nothing. One that is there, whatever its metadata says, gives the kind
// Conflict, unless Nova is deleting it permanently.
func (p *parts) checkUnused(ctx context.Context, project *cloud.Project) error {
	asked := make(map[string]bool)
	ask := func(part, server string) error {
		if server == "" || asked[server] {
			return nil
		}
		asked[server] = true
		v, err := project.Server(ctx, server)
		if v == nil || err != nil || v.TaskState == "deleting" {
			return err
		}
		return fleet.Errorf(fleet.Conflict, "remove "+part, "it is that of server %s (%s), which is there", v.Name, v.ID)
	}
	for _, v := range p.volumes {
		for _, a := range v.Attachments {
			if err := ask("volume "+v.Name, a.ServerID); err != nil {
				return err
			}
		}
	}
	all := p.portIDs()
	if len(all) == 0 {
		return nil
	}
	client, err := project.Network(ctx)
	if err != nil {
		return err
	}
	for _, id := range all {
		now, err := ports.Get(ctx, client, id).Extract()
		if gophercloud.ResponseCodeIs(err, 404) {
			continue
		}
		if err != nil {
			return openstackauth.WrapLook("look at port "+id, err)
		}
		if err := ask("port "+now.Name, now.DeviceID); err != nil {
			return err
		}
	}
	return nil
}

// portIDs returns the ports among p and those that trunks and floating IPs among p
// are on, each once.
func (p *parts) portIDs() []string {
	var out []string
	for _, t := range p.ports {
		out = append(out, t.ID)
	}
	for _, t := range p.trunks {
		out = append(out, t.PortID)
	}
	for _, f := range p.floating {
		if f.PortID != "" {
			out = append(out, f.PortID)
		}
	}
	return unique(out)
}

// server returns the server that has one of p, with that part's name, where it does
// not say that it is the machine of o; nil where there is none.
func (p *parts) server(s *cloud.Snapshot, o snapshot.Owner) (v *servers.Server, part string) {
	other := func(id string) *servers.Server {
		if is, _ := s.Servers.Owner(id); id == "" || is == o {
			return nil
		}
		return s.Servers.Get(id)
	}
	for _, t := range p.ports {
		if v := other(t.DeviceID); v != nil {
			return v, "port " + t.Name
		}
	}
	for _, t := range p.volumes {
		for _, a := range t.Attachments {
			if v := other(a.ServerID); v != nil {
				return v, "volume " + t.Name
			}
		}
	}
	return nil, ""
}

// errLostMark says that a server which has a part of machine o does not say that it is
// that machine.
func errLostMark(v *servers.Server, part string, o snapshot.Owner) error {
	return fleet.Errorf(fleet.Conflict, fmt.Sprintf("tell whose server %s is", v.ID),
		"%s of machine %s belongs to it, and it lost the mark of that machine (put its metadata back, or take the %s off it)", part, o.Machine, part)
}

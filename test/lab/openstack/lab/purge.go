package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// A Thing is something in a project.
type Thing struct {
	Kind   string // "server", "port", …
	ID     string
	Name   string
	Status string // where it has one
	Text   string // its description, or the address of a floating IP

	remove func(context.Context) error
}

func (t Thing) String() string { return fmt.Sprintf("%s %s (%s) %q", t.Kind, t.Name, t.ID, t.Text) }

// Things lists all that is in the project, in an order in which it can be
// deleted. What OpenStack makes by itself (the default security group, ports of
// routers and load balancers) is left out.
func (p *Project) Things(ctx context.Context) ([]Thing, error) {
	var all []Thing
	for _, list := range []func(context.Context) ([]Thing, error){
		p.servers, p.serverGroups, p.volumes, p.loadBalancers, p.floatingIPs, p.trunks, p.ports, p.routers, p.networks, p.groups,
	} {
		things, err := list(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, things...)
	}
	return all, nil
}

// A row is a Thing as a listing has it.
type row struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Status      string `json:"status"`
	Provisioned string `json:"provisioning_status"`
	Description string `json:"description"`
	Project     string `json:"project_id"`
	Tenant      string `json:"tenant_id"`
	Owner       string `json:"device_owner"`
	Address     string `json:"floating_ip_address"`
}

// rows reads the list called key from all pages, without what is another project's.
func (p *Project) rows(ctx context.Context, pager pagination.Pager, key, kind string, remove func(context.Context, string) error) ([]Thing, error) {
	pages, err := pager.AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list each %s: %w", kind, err)
	}
	text, err := json.Marshal(pages.GetBody()) // whose type depends on the kind of listing
	if err != nil {
		return nil, err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, fmt.Errorf("cannot read the list of each %s: %w", kind, err)
	}
	var listed []row
	if err := json.Unmarshal(body[key], &listed); err != nil {
		return nil, fmt.Errorf("cannot read the list of each %s: %w", kind, err)
	}
	var out []Thing
	for _, r := range listed {
		if r.Project != p.ID && r.Tenant != p.ID {
			continue
		}
		if kind == "security group" && r.Name == "default" || slices.Contains([]string{
			"network:router_interface", "network:router_gateway", "network:floatingip", "Octavia",
		}, r.Owner) {
			continue
		}
		out = append(out, Thing{
			Kind: kind, ID: r.ID, Name: r.Name, Status: r.Status + r.Provisioned, Text: r.Description + r.Address,
			remove: func(ctx context.Context) error { return remove(ctx, r.ID) },
		})
	}
	return out, nil
}

func (p *Project) servers(ctx context.Context) ([]Thing, error) {
	c := p.Admin.Compute
	return p.rows(ctx, servers.List(c, servers.ListOpts{AllTenants: true, TenantID: p.ID}), "servers", "server",
		func(ctx context.Context, id string) error { return servers.Delete(ctx, c, id).ExtractErr() })
}

func (p *Project) serverGroups(ctx context.Context) ([]Thing, error) {
	c := p.Admin.Compute
	return p.rows(ctx, servergroups.List(c, servergroups.ListOpts{AllProjects: true}), "server_groups", "server group",
		func(ctx context.Context, id string) error { return servergroups.Delete(ctx, c, id).ExtractErr() })
}

func (p *Project) volumes(ctx context.Context) ([]Thing, error) {
	c := p.Admin.BlockStorage
	pages, err := volumes.List(c, volumes.ListOpts{AllTenants: true, TenantID: p.ID}).AllPages(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot list each volume: %w", err)
	}
	all, err := volumes.ExtractVolumes(pages)
	var out []Thing
	for _, v := range all {
		if v.TenantID == p.ID {
			out = append(out, Thing{
				Kind: "volume", ID: v.ID, Name: v.Name, Status: v.Status, Text: v.Description,
				remove: func(ctx context.Context) error {
					return volumes.Delete(ctx, c, v.ID, volumes.DeleteOpts{}).ExtractErr()
				},
			})
		}
	}
	return out, err
}

func (p *Project) loadBalancers(ctx context.Context) ([]Thing, error) {
	c := p.Admin.LoadBalancer
	return p.rows(ctx, loadbalancers.List(c, loadbalancers.ListOpts{ProjectID: p.ID}), "loadbalancers", "load balancer",
		func(ctx context.Context, id string) error {
			return loadbalancers.Delete(ctx, c, id, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
		})
}

func (p *Project) floatingIPs(ctx context.Context) ([]Thing, error) {
	c := p.Admin.Network
	return p.rows(ctx, floatingips.List(c, floatingips.ListOpts{ProjectID: p.ID}), "floatingips", "floating IP",
		func(ctx context.Context, id string) error { return floatingips.Delete(ctx, c, id).ExtractErr() })
}

func (p *Project) trunks(ctx context.Context) ([]Thing, error) {
	c := p.Admin.Network
	return p.rows(ctx, trunks.List(c, trunks.ListOpts{ProjectID: p.ID}), "trunks", "trunk",
		func(ctx context.Context, id string) error { return trunks.Delete(ctx, c, id).ExtractErr() })
}

func (p *Project) ports(ctx context.Context) ([]Thing, error) {
	c := p.Admin.Network
	return p.rows(ctx, ports.List(c, ports.ListOpts{ProjectID: p.ID}), "ports", "port",
		func(ctx context.Context, id string) error { return ports.Delete(ctx, c, id).ExtractErr() })
}

func (p *Project) routers(ctx context.Context) ([]Thing, error) {
	c := p.Admin.Network
	return p.rows(ctx, routers.List(c, routers.ListOpts{ProjectID: p.ID}), "routers", "router",
		func(ctx context.Context, id string) error {
			pages, err := subnets.List(c, subnets.ListOpts{ProjectID: p.ID}).AllPages(ctx)
			if err != nil {
				return err
			}
			all, err := subnets.ExtractSubnets(pages)
			for _, s := range all { // of which some are not on this router
				_, failed := routers.RemoveInterface(ctx, c, id, routers.RemoveInterfaceOpts{SubnetID: s.ID}).Extract()
				if failed != nil && !gophercloud.ResponseCodeIs(failed, http.StatusNotFound) {
					err = failed
				}
			}
			if err != nil {
				return err
			}
			return routers.Delete(ctx, c, id).ExtractErr()
		})
}

func (p *Project) networks(ctx context.Context) ([]Thing, error) {
	c := p.Admin.Network
	return p.rows(ctx, networks.List(c, networks.ListOpts{ProjectID: p.ID}), "networks", "network",
		func(ctx context.Context, id string) error { return networks.Delete(ctx, c, id).ExtractErr() })
}

func (p *Project) groups(ctx context.Context) ([]Thing, error) {
	c := p.Admin.Network
	return p.rows(ctx, groups.List(c, groups.ListOpts{ProjectID: p.ID}), "security_groups", "security group",
		func(ctx context.Context, id string) error { return groups.Delete(ctx, c, id).ExtractErr() })
}

// purgeTime is for how long nothing of a project may go.
const purgeTime = 10 * time.Minute

// remove deletes the project and all that is in it.
func (p *Project) remove(ctx context.Context) error {
	if p.ID == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stuck := time.AfterFunc(purgeTime, cancel)
	defer stuck.Stop()
	for {
		things, err := p.Things(ctx)
		if err != nil {
			return err
		}
		if len(things) == 0 {
			break
		}
		var problems []error
		for _, t := range things { // what others still hold goes in a later round
			switch err := t.remove(ctx); {
			case err == nil:
				stuck.Reset(purgeTime)
			case !gophercloud.ResponseCodeIs(err, http.StatusNotFound):
				problems = append(problems, fmt.Errorf("%s: %w", t, err))
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(problems...)
		case <-time.After(200 * time.Millisecond):
		}
	}
	var problems []error
	if p.userID != "" {
		problems = append(problems, users.Delete(ctx, p.Admin.Identity, p.userID).ExtractErr())
	}
	problems = append(problems, projects.Delete(ctx, p.Admin.Identity, p.ID).ExtractErr())
	// The default security group stays in Neutron, which does not learn that a
	// project is gone.
	return errors.Join(problems...)
}

package lab

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	blockquotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	computequotas "github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	lbquotas "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"
	netquotas "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
)

// CloudName is the name of the one cloud in a project's clouds.yaml.
const CloudName = "openstack"

// A Project is a project of a test with one user, which has the roles member
// and load-balancer_member and quotas without limits.
type Project struct {
	ID       string
	Name     string // of the project and of its user
	Password string
	AuthURL  string
	Admin    *Clients // sees all projects: list with the project's id

	userID string
}

// NewProject makes a project that is removed when the test ends, with all that
// is in it. It skips the test where the lab is not up.
func NewProject(t testing.TB) *Project {
	t.Helper()
	admin := Admin(t)
	p := &Project{
		Name:     "test-" + strings.ToLower(rand.Text()[:12]),
		Password: rand.Text(),
		AuthURL:  strings.TrimSuffix(admin.Identity.Endpoint, "/"),
		Admin:    admin,
	}
	t.Cleanup(func() {
		if err := p.remove(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("cannot remove project %s of the lab: %v", p.Name, err)
		}
	})
	if err := p.create(t.Context()); err != nil {
		t.Fatalf("cannot make project %s in the lab: %v", p.Name, err)
	}
	return p
}

func (p *Project) create(ctx context.Context) error {
	project, err := projects.Create(ctx, p.Admin.Identity, projects.CreateOpts{
		Name: p.Name, DomainID: "default", Description: "a test",
	}).Extract()
	if err != nil {
		return err
	}
	p.ID = project.ID
	user, err := users.Create(ctx, p.Admin.Identity, users.CreateOpts{
		Name: p.Name, Password: p.Password, DomainID: "default", DefaultProjectID: p.ID,
	}).Extract()
	if err != nil {
		return err
	}
	p.userID = user.ID
	pages, err := roles.List(p.Admin.Identity, nil).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := roles.ExtractRoles(pages)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Name != "member" && r.Name != "load-balancer_member" {
			continue
		}
		if err := roles.Assign(ctx, p.Admin.Identity, r.ID, roles.AssignOpts{UserID: p.userID, ProjectID: p.ID}).ExtractErr(); err != nil {
			return err
		}
	}
	return p.raiseQuotas(ctx)
}

// raiseQuotas takes away the limits on what clusters need.
func (p *Project) raiseQuotas(ctx context.Context) error {
	none := -1
	if err := p.SetComputeQuota(ctx, computequotas.UpdateOpts{
		Instances: &none, Cores: &none, RAM: &none, ServerGroups: &none, ServerGroupMembers: &none, KeyPairs: &none,
	}); err != nil {
		return err
	}
	if err := p.SetNetworkQuota(ctx, netquotas.UpdateOpts{
		FloatingIP: &none, Network: &none, Port: &none, Router: &none, SecurityGroup: &none, SecurityGroupRule: &none,
		Subnet: &none, Trunk: &none,
	}); err != nil {
		return err
	}
	if _, err := blockquotas.Update(ctx, p.Admin.BlockStorage, p.ID, blockquotas.UpdateOpts{
		Volumes: &none, Gigabytes: &none,
	}).Extract(); err != nil {
		return fmt.Errorf("quota of volumes: %w", err)
	}
	if _, err := lbquotas.Update(ctx, p.Admin.LoadBalancer, p.ID, lbquotas.UpdateOpts{
		Loadbalancer: &none, Listener: &none, Pool: &none, Member: &none, Healthmonitor: &none,
	}).Extract(); err != nil {
		return fmt.Errorf("quota of load balancers: %w", err)
	}
	return nil
}

// SetComputeQuota changes Nova's limits for the project.
func (p *Project) SetComputeQuota(ctx context.Context, q computequotas.UpdateOpts) error {
	if _, err := computequotas.Update(ctx, p.Admin.Compute, p.ID, q).Extract(); err != nil {
		return fmt.Errorf("quota of servers: %w", err)
	}
	return nil
}

// SetNetworkQuota changes Neutron's limits for the project.
func (p *Project) SetNetworkQuota(ctx context.Context, q netquotas.UpdateOpts) error {
	if _, err := netquotas.Update(ctx, p.Admin.Network, p.ID, q).Extract(); err != nil {
		return fmt.Errorf("quota of networks: %w", err)
	}
	return nil
}

// SetPassword gives the user a new password. Tokens it has got so far are
// refused from then on, as is the old password.
func (p *Project) SetPassword(ctx context.Context, password string) error {
	if _, err := users.Update(ctx, p.Admin.Identity, p.userID, users.UpdateOpts{Password: password}).Extract(); err != nil {
		return err
	}
	p.Password = password
	return nil
}

// CloudsYAML returns a clouds.yaml with one cloud, [CloudName], by which the
// user reaches the project with its password.
func (p *Project) CloudsYAML() []byte {
	return fmt.Appendf(nil, `clouds:
  %s:
    region_name: RegionOne
    auth:
      auth_url: %s
      username: %s
      password: %s
      project_name: %s
      user_domain_id: default
      project_domain_id: default
`, CloudName, p.AuthURL, p.Name, p.Password, p.Name)
}

// Clients returns the services as the project's user sees them.
func (p *Project) Clients(t testing.TB) *Clients {
	t.Helper()
	c, err := dial(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: p.AuthURL, Username: p.Name, Password: p.Password, DomainID: "default",
		Scope: &gophercloud.AuthScope{ProjectID: p.ID}, AllowReauth: true,
	}, gophercloud.EndpointOpts{Region: "RegionOne"})
	if err != nil {
		t.Fatalf("cannot reach project %s of the lab: %v", p.Name, err)
	}
	return c
}

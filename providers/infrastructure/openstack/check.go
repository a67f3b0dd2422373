package openstack

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/api"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	"fairlead.dev/providers/infrastructure/openstack/machine"
)

var _ providers.Checker = (*Provider)(nil)

// Check implements providers.Checker: networks, zones, what servers are made of, and for
// each project whether the machines that are not there yet fit into the quota of Nova.
func (p *Provider) Check(ctx context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	k := checking{provider: p}
	out := driver.Check(clusters, "cloud", func(c *fleet.Cluster, note driver.Note) error {
		return openstackauth.WrapLook("look at what "+c.Key.String()+" needs", k.cluster(ctx, c, note))
	})
	return append(out, k.quotas(ctx)...), nil
}

// checking gathers what clusters need.
type checking struct {
	provider *Provider
	needs    []need
}

// A need is what clusters take of one project.
type need struct {
	project  *cloud.Project
	size     machine.Size
	clusters []fleet.Key
}

func (k *checking) cluster(ctx context.Context, c *fleet.Cluster, note driver.Note) error {
	got, err := k.provider.look(ctx, c, snapshot.OwnerOf(c))
	if err != nil {
		return err
	}
	if len(got.net.Faults) == 0 {
		note("networks", "all that Git names are there", nil)
	}
	for _, err := range got.net.Faults {
		note("networks", "", openstackauth.Wrap("use what Git names", err))
	}
	_, unknown, err := failureDomains(ctx, got.home, got.spec)
	if err != nil {
		return err
	}
	if unknown != nil || len(got.spec.ControlPlaneAvailabilityZones) > 0 {
		note("zones", "Nova has those that Git names", unknown)
	}
	seen := make(map[string]bool)
	for _, pool := range c.Pools() {
		if err := k.pool(ctx, c, got, pool, seen, note); err != nil {
			return err
		}
	}
	return nil
}

// pool notes what servers of pool are made of, each of it once for a cluster.
func (k *checking) pool(ctx context.Context, c *fleet.Cluster, got *observation, pool fleet.Pool, seen map[string]bool, note driver.Note) error {
	spec, err := api.ReadMachine(pool.Infrastructure)
	if err != nil {
		return err
	}
	project, err := k.provider.projectOf(ctx, c, pool, spec, got.home)
	if err != nil {
		return err
	}
	image := machine.Image{}
	if spec.Image.ImageRef != nil {
		if image, err = k.provider.imageOf(ctx, c, got.spec, spec, project, got.homeSnapshot()); err != nil {
			image = machine.Image{} // the agent makes it, and is not done
		}
	}
	for _, part := range machine.Parts(ctx, project, spec, image) {
		if key := part.What + part.Name; !seen[key] {
			seen[key] = true
			note(part.What, part.Name+" is there", part.Err)
		}
	}
	missing := pool.Replicas
	for _, at := range got.projects {
		for _, m := range at.machines.Machines {
			if m.Pool == pool.Name {
				missing--
			}
		}
	}
	size, err := machine.SizeOf(ctx, project, spec.Flavor, max(0, missing))
	if err != nil {
		return nil //nolint:nilerr // the flavor's finding says it
	}
	return k.add(ctx, project, size, c.Key)
}

// add adds what a pool takes of project to what others take of it.
func (k *checking) add(ctx context.Context, project *cloud.Project, size machine.Size, c fleet.Key) error {
	for i := range k.needs {
		n := &k.needs[i]
		same, err := n.project.Same(ctx, project)
		if err != nil {
			return err
		}
		if same {
			if n.size = n.size.Add(size); n.clusters[len(n.clusters)-1] != c {
				n.clusters = append(n.clusters, c)
			}
			return nil
		}
	}
	k.needs = append(k.needs, need{project, size, []fleet.Key{c}})
	return nil
}

// quotas says for each project whether there is room.
func (k *checking) quotas(ctx context.Context) (out []providers.Finding) {
	for _, n := range k.needs {
		text, err := machine.Room(ctx, n.project, n.size)
		out = append(out, providers.Finding{Clusters: n.clusters, What: "quota", Text: text, Err: err})
	}
	return out
}

package openstack

import (
	"context"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// Watch implements providers.Watcher: it looks at every project in use.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	return p.watch.Run(ctx, p.sessions.Tick(), func(ctx context.Context, project *cloud.Project) (snapshot.View, error) {
		s, err := project.Snapshot(ctx, snapshot.Owner{})
		if err != nil {
			return snapshot.View{}, err
		}
		return snapshot.View{Prints: fingerprints(s), Busy: busy(s)}, nil
	}, changed)
}

// busy reports whether something of a fleet is on its way in s.
func busy(s *cloud.Snapshot) bool {
	for _, o := range s.Servers.Owners() {
		for _, v := range s.Servers.Of(o) {
			if v.TaskState != "" || v.Status == "BUILD" {
				return true
			}
		}
	}
	for _, o := range s.LoadBalancers.Owners() {
		for _, lb := range s.LoadBalancers.Of(o) {
			if strings.HasPrefix(lb.ProvisioningStatus, "PENDING") {
				return true
			}
		}
	}
	return false
}

// fingerprints are equal for clusters of which nothing changed.
func fingerprints(s *cloud.Snapshot) map[snapshot.Owner]string {
	out := make(map[snapshot.Owner]string)
	for _, o := range s.Clusters() {
		out[o] = snapshot.PrintOf(
			snapshot.Encoded(s.Servers.Of(o)), snapshot.Encoded(s.Ports.Of(o)), snapshot.Encoded(s.Networks.Of(o)), snapshot.Encoded(s.Subnets.Of(o)),
			snapshot.Encoded(s.Routers.Of(o)), snapshot.Encoded(s.SecurityGroups.Of(o)), snapshot.Encoded(s.FloatingIPs.Of(o)), snapshot.Encoded(s.Trunks.Of(o)),
			snapshot.Encoded(s.LoadBalancers.Of(o)), snapshot.Encoded(s.Listeners.Of(o)), snapshot.Encoded(s.Pools.Of(o)), snapshot.Encoded(s.Volumes.Of(o)),
		)
	}
	return out
}

// Clusters implements providers.Lister. It looks at the projects that this
// process uses.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	out, failed := driver.Clusters(id, p.watch.Places(), func(project *cloud.Project) ([]snapshot.Owner, error) {
		s, err := project.Snapshot(ctx, snapshot.Owner{})
		if err != nil {
			return nil, err
		}
		return s.Clusters(), nil
	}, nil)
	return out, openstackauth.WrapLook("list clusters", fleet.JoinErrors(failed...))
}

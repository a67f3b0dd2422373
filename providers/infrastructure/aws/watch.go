package aws

import (
	"context"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/aws/cloud"
)

// Watch implements providers.Watcher: it looks at every account and region in use.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	return p.watch.Run(ctx, p.accounts.Tick(), func(ctx context.Context, at *cloud.Place) (snapshot.View, error) {
		s, err := at.Snapshot(ctx, snapshot.Owner{})
		if err != nil {
			return snapshot.View{}, err
		}
		return snapshot.View{Prints: fingerprints(s), Busy: busy(s)}, nil
	}, changed)
}

// busy reports whether something of a fleet is on its way.
func busy(s *cloud.Snapshot) bool {
	return slices.ContainsFunc(s.Instances.All, func(i cloud.Instance) bool { return i.State == "pending" || i.State == "shutting-down" }) ||
		slices.ContainsFunc(s.NATs.All, func(n cloud.NAT) bool { return n.State == "pending" || n.State == "deleting" }) ||
		slices.ContainsFunc(s.Balancers.All, func(b cloud.Balancer) bool { return b.State == "provisioning" && b.Tags[fleet.TagFleet] != "" })
}

// fingerprints are equal for clusters of which nothing changed.
func fingerprints(s *cloud.Snapshot) map[snapshot.Owner]string {
	out := make(map[snapshot.Owner]string)
	for _, o := range s.Clusters() {
		out[o] = snapshot.PrintOf(
			snapshot.Encoded(s.Instances.Of(o)), snapshot.Encoded(s.VPCs.Of(o)), snapshot.Encoded(s.Subnets.Of(o)), snapshot.Encoded(s.Gateways.Of(o)),
			snapshot.Encoded(s.Addresses.Of(o)), snapshot.Encoded(s.NATs.Of(o)), snapshot.Encoded(s.Tables.Of(o)), snapshot.Encoded(s.Groups.Of(o)),
			snapshot.Encoded(s.Balancers.Of(o)), snapshot.Encoded(s.Targets.Of(o)), snapshot.Encoded(s.Secrets.Of(o)),
		)
	}
	return out
}

// Clusters implements providers.Lister. It looks at the accounts and regions that this process uses.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	var unseen []error
	out, failed := driver.Clusters(id, p.watch.Places(), func(at *cloud.Place) ([]snapshot.Owner, error) {
		s, err := at.Snapshot(ctx, snapshot.Owner{})
		if err != nil {
			return nil, err
		}
		found := s.Clusters()
		err = managedIn(ctx, at, false, func(k *cloud.ManagedCluster) {
			if o, ok := driver.OwnerOf(k.Tags); ok && !slices.Contains(found, o) {
				found = append(found, o)
			}
		})
		if err != nil { // which hides nothing else of the place
			unseen = append(unseen, err)
		}
		return found, nil
	}, nil)
	return out, cloud.WrapLook("list clusters", fleet.JoinErrors(append(failed, unseen...)...))
}

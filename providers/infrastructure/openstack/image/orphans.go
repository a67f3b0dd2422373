package image

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// KindOrphan is the kind of orphan that this package knows.
const KindOrphan = "image"

// Orphans lists the images of fleet id in p that no cluster uses any more. wants says of
// each cluster of the fleet whether it has Images, and so lets go of them by itself. What
// a cluster left on purpose is none, nor is what a server boots from while its clusters
// live.
func Orphans(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, id fleet.ID, wants map[fleet.Key]bool) ([]fleet.Orphan, error) {
	all, err := list(ctx, p, s, id)
	if err != nil {
		return nil, err
	}
	boots := booted(s)
	var out []fleet.Orphan
	for i := range all {
		v := &all[i]
		if cluster, why := lost(v, wants, len(boots[v.ID]) > 0); why != "" {
			out = append(out, fleet.Orphan{Cluster: cluster, Kind: KindOrphan, ID: v.ID, Name: v.Name, Reason: why, Created: v.CreatedAt})
		}
	}
	return out, nil
}

// lost says why nothing needs v, and the cluster that did; empty: something may.
func lost(v *images.Image, wants map[fleet.Key]bool, boots bool) (fleet.Key, string) {
	users := clusters(v, tagUsed)
	if len(clusters(v, tagKept)) > 0 {
		return fleet.Key{}, ""
	}
	var gone, done fleet.Key
	for _, k := range users {
		wants, lives := wants[k]
		switch {
		case !lives:
			gone = k
		case wants || boots:
			return fleet.Key{}, ""
		default:
			done = k
		}
	}
	switch {
	case done != fleet.Key{}:
		return done, fmt.Sprintf("cluster %s has no Image in Git any more", done)
	case gone != fleet.Key{}:
		return gone, fmt.Sprintf("cluster %s is not in Git", gone)
	case boots:
		return fleet.Key{}, ""
	}
	return fleet.Key{}, "no cluster uses it"
}

// RemoveOrphan removes o, one of what Orphans gave. One that servers boot from, or
// that Glance keeps, gives the kind Conflict.
func RemoveOrphan(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, id fleet.ID, o fleet.Orphan) error {
	what := "delete image " + o.Name
	if len(booted(s)[o.ID]) > 0 {
		return fleet.Errorf(fleet.Conflict, what, "servers boot from it, or volumes are made of it (remove them first)")
	}
	gone, err := remove(ctx, p, o.ID)
	p.Changed(snapshot.Owner{Fleet: id, Cluster: o.Cluster})
	if err == nil && !gone {
		err = fleet.Errorf(fleet.Conflict, what, "Glance keeps it: something is made of it, or it is protected")
	}
	return openstackauth.Wrap(what, err)
}

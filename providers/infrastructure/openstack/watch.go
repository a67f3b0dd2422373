package openstack

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
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
		h := sha256.New()
		e := json.NewEncoder(h)
		for _, all := range []any{
			byID(s.Servers.Of(o)), byID(s.Ports.Of(o)), byID(s.Networks.Of(o)), byID(s.Subnets.Of(o)), byID(s.Routers.Of(o)),
			byID(s.SecurityGroups.Of(o)), byID(s.FloatingIPs.Of(o)), byID(s.Trunks.Of(o)), byID(s.LoadBalancers.Of(o)),
			byID(s.Listeners.Of(o)), byID(s.Pools.Of(o)), byID(s.Volumes.Of(o)),
		} {
			_ = e.Encode(all) // what cannot be written is no reason to look
		}
		out[o] = string(h.Sum(nil))
	}
	return out
}

// byID encodes each of all and sorts that: listings come in no order.
func byID[T any](all []*T) []string {
	var out []string
	for _, t := range all {
		if b, err := json.Marshal(t); err == nil {
			out = append(out, string(b))
		}
	}
	slices.Sort(out)
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

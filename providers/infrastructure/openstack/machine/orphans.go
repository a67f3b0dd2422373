package machine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// The kinds of orphan that this package finds and removes.
const (
	kindServer     = "server"
	kindPort       = "port"
	kindTrunk      = "trunk"
	kindFloatingIP = "floating IP"
	kindVolume     = "volume"
)

// csiCluster is the metadata that the Cinder CSI driver sets on the volumes that
// it makes: the value of its flag --cluster.
// Source: cloud-provider-openstack, docs/cinder-csi-plugin.
const csiCluster = "cinder.csi.openstack.org/cluster"

// A Gone is what tells an orphan: whether the cluster of an owner is gone, and
// whether parts of a machine of one that is there are left over.
type Gone struct {
	Fleet    fleet.ID
	Clusters map[fleet.Key]bool            // those that are there
	Left     func(o snapshot.Owner) bool   // of a cluster that is there
	Pools    map[fleet.Key]map[string]bool // the OpenStackFloatingIPPools of each, by name
}

// retained says why f, which a pool keeps for cluster o, is an orphan; empty: it is none.
func (g Gone) retained(f *floatingips.FloatingIP, o snapshot.Owner) string {
	name, ok := poolOfText(f.Description)
	if !ok || o.Fleet != g.Fleet || o.Machine != "" || f.PortID != "" || !g.Clusters[o.Cluster] || g.Pools[o.Cluster][name] {
		return ""
	}
	return "OpenStackFloatingIPPool " + name + " is not in Git"
}

func (g Gone) why(o snapshot.Owner, ours bool, part bool) (string, bool) {
	switch {
	case !ours || o.Fleet != g.Fleet:
		return "", false
	case !g.Clusters[o.Cluster]:
		return fmt.Sprintf("cluster %s is not in Git", o.Cluster), true
	case part && g.Left(o):
		return fmt.Sprintf("machine %s is gone", o.Machine), true
	}
	return "", false
}

// Left returns which machines of the cluster that obs is of have parts left over.
func (obs Observation) Left(o snapshot.Owner) bool { return obs.leftovers[o] != nil }

// Orphans lists servers and their parts that belong to nothing any more, and
// volumes that clusters made for themselves.
func Orphans(s *cloud.Snapshot, g Gone) []fleet.Orphan {
	var out []fleet.Orphan
	add := func(kind, id, name string, o snapshot.Owner, ours, part bool, created time.Time) {
		if reason, yes := g.why(o, ours, part); yes {
			out = append(out, fleet.Orphan{Cluster: o.Cluster, Kind: kind, ID: id, Name: name, Reason: reason, Created: created})
		}
	}
	for i := range s.Servers.All {
		v := &s.Servers.All[i]
		o, ours := s.Servers.Owner(v.ID)
		if _, doubted := s.Contradiction(v.ID); doubted {
			continue // it may be the machine of a cluster that is there
		}
		add(kindServer, v.ID, v.Name, o, ours && !Leaving(v), false, v.Created)
	}
	for i := range s.Trunks.All {
		t := &s.Trunks.All[i]
		o, ours := s.Trunks.Owner(t.ID)
		add(kindTrunk, t.ID, t.Name, o, ours && o.Machine != "", true, t.CreatedAt)
	}
	for i := range s.Ports.All {
		t := &s.Ports.All[i]
		o, ours := s.Ports.Owner(t.ID)
		add(kindPort, t.ID, t.Name, o, ours && o.Machine != "", true, t.CreatedAt)
	}
	for i := range s.FloatingIPs.All {
		f := &s.FloatingIPs.All[i]
		o, ours := s.FloatingIPs.Owner(f.ID)
		if reason := g.retained(f, o); ours && reason != "" {
			out = append(out, fleet.Orphan{Cluster: o.Cluster, Kind: kindFloatingIP, ID: f.ID, Name: f.FloatingIP, Reason: reason, Created: f.CreatedAt})
			continue
		}
		add(kindFloatingIP, f.ID, f.FloatingIP, o, ours && (o.Machine != "" || strings.HasPrefix(f.Description, PoolText)), o.Machine != "", f.CreatedAt)
	}
	for i := range s.Volumes.All {
		v := &s.Volumes.All[i]
		o, ours := s.Volumes.Owner(v.ID)
		if ours {
			add(kindVolume, v.ID, v.Name, o, v.Status != "deleting", true, v.CreatedAt)
			continue
		}
		if k, yes := g.csi(v); yes {
			out = append(out, fleet.Orphan{
				Cluster: k, Kind: kindVolume, ID: v.ID, Name: v.Name, Created: v.CreatedAt,
				Reason: fmt.Sprintf("the Cinder CSI driver made it for cluster %s, which is not in Git", k),
			})
		}
	}
	return out
}

// csi reports whether the CSI driver of a cluster that is gone made v. Its
// metadata proves that only where the driver has a name that no other cluster
// has: "<fleet>/<namespace>/<cluster>".
func (g Gone) csi(v *volumes.Volume) (fleet.Key, bool) {
	id, rest, ok := strings.Cut(v.Metadata[csiCluster], "/")
	if !ok || fleet.ID(id) != g.Fleet || len(v.Attachments) > 0 || v.Status != "available" && v.Status != "error" {
		return fleet.Key{}, false
	}
	k, err := fleet.ParseKey(rest)
	if err != nil || !strings.Contains(rest, "/") || g.Clusters[k] {
		return fleet.Key{}, false
	}
	return k, true
}

// orphan returns o as parts of a machine.
func orphan(s *cloud.Snapshot, o fleet.Orphan) *parts {
	out := new(parts)
	if t := s.Ports.Get(o.ID); t != nil && o.Kind == kindPort {
		out.ports = append(out.ports, t)
	}
	if t := s.Trunks.Get(o.ID); t != nil && o.Kind == kindTrunk {
		out.trunks = append(out.trunks, t)
	}
	if f := s.FloatingIPs.Get(o.ID); f != nil && o.Kind == kindFloatingIP {
		out.floating = append(out.floating, f)
	}
	if v := s.Volumes.Get(o.ID); v != nil && o.Kind == kindVolume {
		out.volumes = append(out.volumes, v)
	}
	return out
}

// RemoveOrphan removes o, one of what Orphans gave for s, a look at p. It reports
// whether o is of a kind that is removed here. A part of a server that is there gives
// the kind Conflict.
func RemoveOrphan(ctx context.Context, p *cloud.Project, s *cloud.Snapshot, id fleet.ID, o fleet.Orphan) (bool, error) {
	defer p.Changed(snapshot.Owner{Fleet: id, Cluster: o.Cluster})
	what := o.Kind + " " + o.Name
	if err := orphan(s, o).checkUnused(ctx, p); err != nil {
		return true, err
	}
	switch o.Kind {
	case kindServer:
		owner, _ := s.Servers.Owner(o.ID)
		if now, err := again(ctx, p, owner, o.ID); err != nil || now == nil {
			return true, err
		}
		c, err := p.Compute(ctx)
		if err != nil {
			return true, err
		}
		return true, deleted(what, servers.Delete(ctx, c, o.ID).ExtractErr())
	case kindVolume:
		c, err := p.BlockStorage(ctx)
		if err != nil {
			return true, err
		}
		return true, deleted(what, volumes.Delete(ctx, c, o.ID, volumes.DeleteOpts{}).Err)
	}
	c, err := p.Network(ctx)
	if err != nil {
		return true, err
	}
	switch o.Kind {
	case kindPort:
		err = ports.Delete(ctx, c, o.ID).Err
	case kindTrunk:
		err = trunks.Delete(ctx, c, o.ID).Err
	case kindFloatingIP:
		f := s.FloatingIPs.Get(o.ID)
		if f == nil {
			return true, nil
		}
		return true, release(ctx, p, f, snapshot.Owner{}, func(string) bool { return false })
	default:
		return false, nil
	}
	return true, deleted(what, err)
}

package simulation

import (
	"fmt"
	"math/rand/v2"

	"fairlead.dev/fleet"
)

// The versions of Kubernetes in use, one minor apart.
const (
	older = "v1.33.5"
	newer = "v1.34.1"
	// newest is two minors after older, which nobody may skip to.
	newest = "v1.35.0"
)

// theFleet is the name of the fleet.
const theFleet = "sim"

// A wish is what Git says of one cluster.
type wish struct {
	flavour       flavour
	classy        bool // it is of the class
	renamed       bool // its Nodes are not called as their machines; not where it is of the class
	controlPlanes int
	surge         int // of the control plane
	version       string
	template      int // of the control plane; another number is another template
	pools         []poolWish
	lone          int // template of the Machine that stands alone; 0: there is none
	addons        int // version of the ClusterResourceSet; 0: there is none
	paused        bool
	protected     bool
	broken        bool   // its files make no sense
	skips         bool   // it says a version that its control plane may not go to
	addresses     int    // number of addresses in its pool; 0: its machines have none of a pool
	deleted       bool   // its deletion is wished
	gone          bool   // its files are not there
	ring          string // label that has its stage, in lives of waves
}

type poolWish struct {
	name               string
	replicas           int
	surge, unavailable int
	template           int
	onDelete           bool // old machines stay until somebody asks
	scaled             bool // an autoscaler has the number
	away               bool // it is not in Git
}

func key(i int) fleet.Key { return fleet.Key{Namespace: "sim", Name: fmt.Sprintf("c%d", i)} }

// release is the version of the cluster as its distribution calls it.
func (w wish) release() string {
	if w.skips {
		return newest + w.flavour.build
	}
	return w.version + w.flavour.build
}

// newWish returns a cluster as somebody might begin with. A small one has few
// machines.
func newWish(r *rand.Rand, small bool) wish {
	w := wish{controlPlanes: 1, surge: 1, version: older, classy: r.IntN(3) == 0, renamed: r.IntN(4) == 0, addons: r.IntN(3)}
	pools := 1
	if !small {
		w.controlPlanes, pools = 1+2*r.IntN(2), 1+r.IntN(2)
	}
	for i := range pools {
		w.pools = append(w.pools, newPool(r, i))
	}
	return w
}

func newPool(r *rand.Rand, i int) poolWish {
	p := poolWish{name: fmt.Sprintf("md-%d", i), replicas: r.IntN(4), scaled: r.IntN(4) == 0}
	p.roll(r)
	return p
}

// roll chooses how the pool is rolled out.
func (p *poolWish) roll(r *rand.Rand) {
	p.surge, p.unavailable = r.IntN(3), r.IntN(2)
	if p.surge == 0 {
		p.unavailable = 1
	}
	p.onDelete = r.IntN(6) == 0
}

// edit changes one thing about the cluster, and says what.
func (w *wish) edit(r *rand.Rand) string {
	switch n := r.IntN(34); {
	case w.gone && n < 8:
		return "still not there"
	case w.gone:
		w.gone = false
		return "put back"
	case w.broken:
		w.broken = false
		return "repaired"
	case w.skips:
		w.skips = false
		return "the version put back"
	case w.paused:
		w.paused = false
		return "resumed"
	case w.deleted && n < 8:
		w.deleted = false
		return "wished for again"
	case w.deleted && n < 14:
		w.gone = true
		return "removed while it is deleted"
	case w.deleted:
		w.protected = !w.protected
		return fmt.Sprintf("protected: %v", w.protected)
	case n < 7:
		p := &w.pools[r.IntN(len(w.pools))]
		p.replicas = r.IntN(5)
		return fmt.Sprintf("%s: %d replicas", p.name, p.replicas)
	case n < 9:
		p := &w.pools[r.IntN(len(w.pools))]
		p.template++
		p.roll(r)
		return fmt.Sprintf("%s: another template, %s", p.name, p.strategy())
	case n < 10:
		w.template++
		return "another template of the control plane"
	case n < 12:
		w.controlPlanes = 4 - w.controlPlanes
		w.surge = 1
		return fmt.Sprintf("%d control planes", w.controlPlanes)
	case n < 14 && w.version == older:
		w.version = newer
		return "upgrade"
	case n < 15 && len(w.pools) == 1:
		w.pools = append(w.pools, newPool(r, 1))
		return "a second pool"
	case n < 15:
		w.pools = w.pools[:1]
		return "one pool less"
	case n < 16 && r.IntN(2) == 0:
		p := &w.pools[r.IntN(len(w.pools))]
		p.scaled = !p.scaled
		return fmt.Sprintf("%s: has an autoscaler: %v", p.name, p.scaled)
	case n < 16:
		w.paused = true
		return "paused"
	case n < 18:
		w.broken = true
		return "broken"
	case n < 23:
		w.deleted, w.protected = true, w.protected || r.IntN(2) == 0
		return fmt.Sprintf("deleted, protected: %v", w.protected)
	case n < 25:
		w.gone = true
		return "vanished"
	case n < 28 || n > 29:
		w.addons = (w.addons + 1) % 4
		return fmt.Sprintf("version %d of the addons", w.addons)
	case n < 29:
		w.lone = (w.lone + 1) % 3
		return fmt.Sprintf("template %d of a lone machine", w.lone)
	case w.controlPlanes == 3 && !w.classy:
		w.surge, w.template = 1-w.surge, w.template+1
		return fmt.Sprintf("another template of the control plane, surge %d", w.surge)
	default:
		w.protected = !w.protected
		return fmt.Sprintf("protected: %v", w.protected)
	}
}

// copied returns w, sharing nothing with it.
func (w wish) copied() wish {
	w.pools = append([]poolWish(nil), w.pools...)
	return w
}

package metal3_test

import (
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/api"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// at has Git name an Ironic by another address.
func (w *world) at(c *fleet.Cluster, f *metal3test.Front) {
	c.Infrastructure.Secrets = map[fleet.Key]fleet.SecretData{{Namespace: c.Key.Namespace, Name: "ironic"}: secretOf(map[string]string{
		"endpoint": f.URL(), "username": metal3test.User, "password": metal3test.Password, "ca.crt": string(f.CA()),
	})}
}

// home fails unless the cluster is seen in its Ironic, and nowhere else, with n machines.
func (w *world) home(c *fleet.Cluster, when, id string, n int) fleet.Infrastructure {
	w.Helper()
	got := w.observe(c)
	if got.Places[0].ID != id || len(got.Machines) != n {
		w.Errorf("%s: %d machines in %q, want %d in %q", when, len(got.Machines), got.Places[0].ID, n, id)
	}
	return got
}

// TestMovedIronic: an Ironic whose address changed is the place that it was, with its machines and what is
// remembered of them, until the cluster is gone from there and by whichever agent.
func TestMovedIronic(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.create(c, worker)
	id := w.observe(c).Places[0].ID
	w.at(c, w.Ironic.Front)
	w.p = w.provider()
	got := w.home(c, "at another address", id, 1)
	if len(got.Places) != 2 || got.Places[1].ID != "hosts of "+id || len(got.Upkeep) > 0 {
		t.Errorf("places %+v, upkeep %q", got.Places, got.Upkeep)
	}
	other := *c // which has no machine
	other.Key.Name, other.NeighborPlaces = "eu-2", c.Residence.Extras()
	other.Residence.Places = []fleet.Place{{ID: id}}
	if got, err := w.p.Observe(t.Context(), &other); err != nil || got.Places[0].ID != id {
		t.Errorf("another cluster of the namespace, without machines: %+v, %v", got.Places, err)
	}
	w.remove(c, worker)
	w.until(c, "free", func(i fleet.Infrastructure) bool { return len(i.Machines) == 0 && allFree(i) })
	w.home(c, "without a machine", id, 0)
	former := *c
	w.at(&former, w.Front)
	if got, err := w.p.Observe(t.Context(), &former); err != nil || got.Places[0].ID == id {
		t.Errorf("at the former address, which shows nothing of the cluster: %+v, %v", got.Places, err)
	}
	w.create(c, worker)
	w.at(c, w.Front)
	if got := w.home(c, "back at its first address", id, 1); got.Places[0].Access != "" {
		t.Errorf("its access is %q", got.Places[0].Access)
	}
}

// TestSpellingsOfAnIronic: capitals, a default port and a dot at the end make no other place.
func TestSpellingsOfAnIronic(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1")
	c := &w.c
	w.until(c, "available", allFree)
	for id, same := range map[string]bool{
		strings.Replace(w.URL(), "https://127.0.0.1", "https://127.0.0.1.", 1): true,
		w.URL() + "/":       true,
		w.URL() + "/ironic": false,
		strings.Replace(w.URL(), "https:", "http:", 1): false,
	} {
		c.Residence.Places = []fleet.Place{{ID: "Ironic " + id}}
		got, err := w.p.Observe(t.Context(), c)
		if err != nil || (got.Places[0].ID == "Ironic "+id) != same {
			t.Errorf("a cluster that lives in %q is seen in %+v, %v, want the same place: %t", id, got.Places, err, same)
		}
	}
}

// TestAnotherIronic: an Ironic without the machines that are remembered is another place, though it has
// hosts of the same names and machines of the same names on them; and one that lost all of its records is
// told from none.
func TestAnotherIronic(t *testing.T) {
	t.Parallel()
	w, other := doubled(t, "m1"), doubled(t)
	c := &w.c
	other.namespace = w.namespace
	other.c = other.cluster("m1")
	other.create(&other.c, worker)
	other.madeAt(time.Now().Add(-time.Hour))
	w.create(c, worker)
	id := w.observe(c).Places[0].ID
	for name, f := range map[string]*metal3test.Front{"with machines of the same names": other.Front, "which is empty": doubled(t).Front} {
		moved := *c
		w.at(&moved, f)
		if got, err := w.p.Observe(t.Context(), &moved); err != nil || got.Places[0].ID == id {
			t.Errorf("an Ironic %s: %+v, %v, want another place than %s", name, got.Places, err, id)
		}
	}
}

// TestRememberedInAFormerIronic: a host on which another cluster of the namespace remembers a machine is
// held, though it was another Ironic that managed it then.
func TestRememberedInAFormerIronic(t *testing.T) {
	t.Parallel()
	w, next := doubled(t, "m1"), doubled(t)
	w.create(&w.c, worker)
	w.observe(&w.c)
	c := w.c
	c.Key.Name, c.Residence, c.NeighborPlaces = "eu-2", fleet.Residence{}, w.c.Residence.Extras()
	c.Companions = nil
	next.namespace = w.namespace
	c.Companions = append(c.Companions, next.addHost("m1", 0))
	next.rewrite(&c, "m1", func(s *api.BareMetalHostSpec) { s.AutomatedCleaningMode = api.CleaningMetadata })
	next.at(&c, next.Front)
	next.until(&c, "held", func(i fleet.Infrastructure) bool {
		return hostOf(i, "m1").Held == "machine "+string(worker)+" of cluster "+w.c.Key.String()+" ran on it, and is to be adopted"
	})
}

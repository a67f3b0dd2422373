package metal3_test

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestTagsAreGoneEverywhere: a machine whose tags are gone in Ironic and in the status branch is found by
// its id, and is not said to be made when its name is asked for again.
func TestTagsAreGoneEverywhere(t *testing.T) {
	t.Parallel()
	w := doubled(t, "m1", "m2")
	c := &w.c
	w.until(c, "available", allFree)
	id := w.create(c, worker).ProviderID
	ids := []fleet.ProviderID{id, "metal3://" + fleet.ProviderID(w.namespace) + "/m2/" + fleet.ProviderID(worker), "vsphere://x"}
	if got, err := w.p.Untagged(t.Context(), c, ids); err != nil || len(got) != 0 {
		t.Errorf("with its tags: %+v, %v", got, err)
	}
	w.set("m1", "extra", map[string]any{})
	w.set("m1", "instance_info", map[string]any{"image_source": w.ImageURL()})
	c.Residence = fleet.Residence{}
	w.pause()
	got, err := w.p.Untagged(t.Context(), c, ids)
	if err != nil || len(got) != 1 || got[0].ProviderID != id || got[0].Damaged == "" {
		t.Errorf("without its tags: %+v, %v", got, err)
	}
	err = w.p.CreateMachine(t.Context(), "op-1", request(c, worker))
	want := "cannot create machine " + w.namespace + "/" + string(worker) + ": node " + w.namespace + "~m1 has its instance_uuid, and neither extra nor instance_info has its tags (put its tags back, or release the node in Ironic)"
	if fleet.KindOf(err) != fleet.Conflict || err.Error() != want {
		t.Errorf("CreateMachine = %v\nwant %s", err, want)
	}
}

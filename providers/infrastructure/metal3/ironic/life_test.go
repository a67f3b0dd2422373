package ironic_test

import (
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestLife: a host from its enrolment to the release of a machine, as Ironic and the host
// itself tell of it.
func TestLife(t *testing.T) {
	t.Parallel()
	i, c := world(t)
	ctx, h := t.Context(), i.AddHost("life")
	s := spec(h)
	for range 2 { // again is the same
		must(t, func() error { return c.Create(ctx, s) })
	}
	if n := reach(t, c, "life", ironic.Enroll); n.UUID != ironic.NodeID("prod", "metal", "life") || !n.Inspected.IsZero() || n.Failure() != nil {
		t.Errorf("enrolled: %+v", n)
	}
	must(t, func() error { return c.Manage(ctx, s.UUID) })
	reach(t, c, "life", ironic.Manageable)
	must(t, func() error { return c.Inspect(ctx, s.UUID) })
	n := await(t, c, "life", "inspected", func(n ironic.Node) bool { return n.State == ironic.Manageable && !n.Inspected.IsZero() })
	want := map[string]any{"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64", "cpus": 8.0, "local_gb": "99", "memory_mb": "16384", "vendor": "Fairlead"}
	if diff := gocmp.Diff(want, n.Properties); diff != "" {
		t.Errorf("what inspection found (-want +got):\n%s", diff)
	}
	must(t, func() error { return c.Provide(ctx, s.UUID) })
	reach(t, c, "life", ironic.Available)

	m := claim(i, "md-0-x7k")
	m.Info[ironic.DriveKey] = json.RawMessage(`{"meta_data": {"name": "md-0-x7k"}, "network_data": {"links": [], "networks": [], "services": []}, "user_data": "#cloud-config\n"}`)
	must(t, func() error { _, err := c.Claim(ctx, s.UUID, m); return err })
	must(t, func() error { return c.Deploy(ctx, s.UUID, "") })
	n = reach(t, c, "life", ironic.Active)
	delete(m.Info, ironic.DriveKey)
	delete(n.Info, "image_type") // Ironic's own
	if diff := gocmp.Diff([]any{m.Info, m.Instance, map[string]any{"fairlead": map[string]any{"machine": "md-0-x7k"}}, true}, []any{n.Info, n.Instance, n.Extra, n.HasDrive}); diff != "" {
		t.Errorf("deployed (-want +got):\n%s", diff)
	}
	want2 := metal3test.State{On: true, Running: metal3test.OnDisk, Boots: 3, Disk: &metal3test.Disk{ID: "life-1", Image: i.ImageURL(), Drive: map[string]string{
		"meta_data.json": `{"name": "md-0-x7k", "uuid": "` + s.UUID + `"}`, "user_data": "#cloud-config\n",
		"network_data.json": `{"links": [], "networks": [], "services": []}`,
	}}, Settings: h.State().Settings}
	if diff := gocmp.Diff(want2, h.State()); diff != "" {
		t.Errorf("the host (-want +got):\n%s", diff)
	}

	must(t, func() error { return c.Undeploy(ctx, s.UUID) })
	n = reach(t, c, "life", ironic.Available)
	if n.Instance != "" || n.Extra["fairlead"] == nil || h.State().Disk != nil || h.State().On {
		t.Errorf("released: %+v, the host %+v", n, h.State())
	}
	for range 2 {
		must(t, func() error { return c.Delete(ctx, s.UUID) })
	}
}

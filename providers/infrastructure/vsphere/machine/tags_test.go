package machine_test

import (
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/vsphere/machine"
)

// TestInstanceUUID: machines have the UUID that follows from whose they are, which machine,
// and when it was asked for.
func TestInstanceUUID(t *testing.T) {
	if got := machine.InstanceUUID(tags()); got != m0 {
		t.Errorf("InstanceUUID = %s, want %s: machines that are there would be lost", got, m0)
	}
	for reason, tc := range map[string]struct {
		tags          map[string]string
		same, cluster bool
	}{
		"the same":                   {tags(), true, true},
		"what a machine gets later":  {tags(machine.TagDeleting, "2026-11-21T12:00:00Z"), true, true},
		"another machine":            {tags("fairlead.dev/machine", "m-1"), false, true},
		"the next one of its name":   {tags("fairlead.dev/made", "2026-11-22T12:00:00Z"), false, true},
		"another cluster's":          {tags("fairlead.dev/cluster", "prod/eu-2"), false, false},
		"another fleet's":            {tags("fairlead.dev/fleet", "umbrella"), false, false},
		"no boundary between values": {tags("fairlead.dev/fleet", "acmeprod", "fairlead.dev/cluster", "/eu-1"), false, false},
	} {
		id := machine.InstanceUUID(tc.tags)
		if (id == m0) != tc.same || machine.OfCluster(id, cluster()) != tc.cluster {
			t.Errorf("%s: %s, want it the same: %t, of the cluster: %t", reason, id, tc.same, tc.cluster)
		}
	}
	for _, id := range []string{"", "42304ef3-6e31-4ba1-8000-000000000000", m0[:14] + "4" + m0[15:]} {
		if machine.OfCluster(id, cluster()) {
			t.Errorf("%q, which vCenter makes, is taken for one of a cluster", id)
		}
	}
	if upper := "030AF483-7E45-8CD2-89F0-289540EDF966"; !machine.OfCluster(upper, &fleet.Cluster{Fleet: "acme", Key: fleet.Key{Namespace: "prod", Name: "eu-1"}}) {
		t.Error("capitals are another UUID")
	}
}

func TestDecodeTags(t *testing.T) {
	got, err := machine.DecodeTags(machine.EncodeTags(tags()))
	if err != nil || got["fairlead.dev/machine"] != "m-0" {
		t.Errorf("DecodeTags = %v, %v", got, err)
	}
	for _, text := range []string{"", "{", `["a"]`, `{"a":1}`} {
		if got, err := machine.DecodeTags(text); err == nil {
			t.Errorf("DecodeTags(%q) = %v, want an error", text, got)
		}
	}
}

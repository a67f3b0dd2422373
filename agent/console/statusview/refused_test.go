package statusview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestWithRefused: a cluster that was refused from the start is in the list, with its problems, and
// one that the branch tells of is there once.
func TestWithRefused(t *testing.T) {
	unread := fleet.Key{Namespace: "prod", Name: "eu-4"}
	known, refused, damaged := fleet.Key{Namespace: "prod", Name: "eu-2"}, fleet.Key{Namespace: "prod", Name: "eu-1"}, fleet.Key{Namespace: "prod", Name: "eu-3"}
	s := status.Status{
		Clusters: []status.Cluster{{Report: fleet.Report{Cluster: known, Phase: fleet.PhaseProvisioned}}},
		Damaged:  []status.Damage{{Cluster: damaged}},
		Unread:   []fleet.Key{unread},
	}
	s.Fleet.Problems = []fleet.Problem{
		{Cluster: refused, Overlay: "clusters/prod/eu-1", Message: "a"},
		{Cluster: known, Message: "b"},
		{Message: "c"},
		{Cluster: refused, Message: "d"},
		{Cluster: damaged, Message: "e"},
		{Cluster: unread, Message: "f"},
	}
	got := WithRefused(s)
	type row struct {
		Cluster  string
		Phase    fleet.Phase
		Problems int
	}
	var rows []row
	for _, c := range got.Clusters {
		rows = append(rows, row{c.Report.Cluster.String(), c.Report.Phase, len(c.Report.Problems)})
	}
	if d := cmp.Diff([]row{{"prod/eu-1", PhaseRefused, 2}, {"prod/eu-2", fleet.PhaseProvisioned, 0}}, rows); d != "" {
		t.Errorf("clusters (-want +got)\n%s", d)
	}
	if len(s.Clusters) != 1 {
		t.Error("the status that was given changed")
	}
}

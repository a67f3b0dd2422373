package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// What an agent writes of standings the next one reads: a review approves of what waits by it.
func TestStandings(t *testing.T) {
	at := time.Date(2026, 11, 25, 1, 2, 3, 0, time.UTC)
	ada, approved := []string{"ada@example.com"}, []fleet.Approver{{By: "Bob <bob@example.com>", Key: "bob"}, {By: "Dora <dora@example.com>"}}
	key := func(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }
	want := fleet.RolloutStatus{Stages: []fleet.StageStatus{
		{Name: "prod", State: fleet.StageApproval, Approvals: 3, Approved: []string{"Bob <bob@example.com>"}},
	}, Standings: []fleet.Standing{
		{Cluster: fleet.Key{Namespace: "prod", Name: "a"}, Digest: "1", Arrived: "1", Waits: at, Came: fleet.WaveOrigin{
			Of: "2", From: fleet.Revision{Ref: "main", Digest: "sha1:aa"}, To: fleet.Revision{Ref: "main", Digest: "sha1:bb"},
		}},
		{Cluster: fleet.Key{Namespace: "prod", Name: "b"}, Digest: "2", Since: at, Release: fleet.WaveRelease{Way: fleet.ReleaseNow, Of: "2", Stage: true}},
		{Cluster: key("c"), Digest: "1", Stage: "canary", Troubled: at, Before: fleet.Revision{Ref: "main", Digest: "sha1:aa"}, People: fleet.WavePeople{Of: "2", Authors: ada}},
		{Cluster: key("d"), Digest: "1", People: fleet.WavePeople{Of: "3", Authors: ada, Approvals: approved}},
		{Cluster: key("e"), Digest: "1", People: fleet.WavePeople{Of: "4", Authors: ada}},
		{Cluster: key("f"), Digest: "1", People: fleet.WavePeople{Of: "1", Later: ada}},
		{Cluster: key("g"), Digest: "1", People: fleet.WavePeople{Of: "5", Authors: ada, Later: []string{"bob@example.com"}}},
	}, Departed: []fleet.Departure{
		{Cluster: key("h"), Stage: "canary", Since: at, At: at.Add(time.Hour), Trouble: "it is not available"},
		{Cluster: key("i"), Stage: "prod"},
	}}
	if f := rolloutOf(want); len(f.People) != 4 {
		t.Errorf("what several share is there more than once: %+v", f.People)
	}
	b, err := encodeDocs("x", rolloutOf(want))
	if err != nil {
		t.Fatal(err)
	}
	var f rolloutFile
	if err := documents.UnmarshalStrict(b, &f, fleetKind.limits()); err != nil {
		t.Fatal(err)
	}
	got := f.fleet()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-written +read:\n%s", d)
	}
}

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
	want := fleet.RolloutStatus{Standings: []fleet.Standing{
		{Cluster: fleet.Key{Namespace: "prod", Name: "a"}, Digest: "1", Arrived: "1", Waits: at, Came: fleet.WaveOrigin{
			Of: "2", From: fleet.Revision{Ref: "main", Digest: "sha1:aa"}, To: fleet.Revision{Ref: "main", Digest: "sha1:bb"},
		}},
		{Cluster: fleet.Key{Namespace: "prod", Name: "b"}, Digest: "2", Since: at, Release: fleet.WaveRelease{Way: fleet.ReleaseNow, Of: "2", Stage: true}},
	}}
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

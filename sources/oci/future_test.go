package oci_test

import (
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
)

// An artifact that was made in the future, by a computer with a wrong clock, is not
// followed: none made today could be followed after it. One that is followed already is
// told from a tag that was moved back.
func TestMadeInTheFuture(t *testing.T) {
	r := ocitest.New(t).Repository("fleet")
	key, public := ocitest.NewKey(t)
	keys, err := oci.NewKeys(map[string][]byte{"a.pub": public})
	if err != nil {
		t.Fatal(err)
	}
	push := func(when time.Time, text string) fleet.Revision {
		d := r.Artifact(t, "main", when, map[string]string{"a": text}, nil)
		r.Sign(t, d, key, nil)
		return fleet.Revision{Ref: "main", Digest: d}
	}
	repo := open(t, r, oci.Options{Ref: "main", Verify: keys.Verify})
	yesterday, future, today := push(time.Now().Add(-24*time.Hour), "1"), push(time.Now().Add(10*365*24*time.Hour), "2"), push(time.Now(), "3")
	wantError(t, repo.Continues(t.Context(), yesterday, future), fleet.Invalid, "which is in the future")
	if err := repo.Continues(t.Context(), yesterday, today); err != nil {
		t.Error(err)
	}
	wantError(t, repo.Continues(t.Context(), future, today), fleet.Invalid, "so nothing can be told from its time")
}

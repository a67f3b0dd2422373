package oci_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
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
	// Nor is it the first one that is followed, also after another tag.
	wantError(t, repo.Starts(t.Context(), future), fleet.Invalid, "which is in the future")
	other := fleet.Revision{Ref: "other", Digest: yesterday.Digest}
	wantError(t, repo.Continues(t.Context(), other, future), fleet.Invalid, "which is in the future")
	if err := repo.Starts(t.Context(), today); err != nil {
		t.Error(err)
	}
	unsaid := push(time.Time{}, "4") // no time that counts
	if err := repo.Starts(t.Context(), unsaid); err != nil {
		t.Errorf("an artifact that does not say when it was made: %v", err)
	}
	named := open(t, r, oci.Options{Ref: future.Digest, Verify: keys.Verify})
	if err := named.Starts(t.Context(), future); err != nil {
		t.Errorf("a digest that people name: %v", err)
	}
}

// TestDroppedByTheRegistry: a registry that keeps artifacts for some time drops the one that was followed
// last. Its time counts, if somebody kept it, and brings no older artifact back.
func TestDroppedByTheRegistry(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	key, public := ocitest.NewKey(t)
	keys, err := oci.NewKeys(map[string][]byte{"a.pub": public})
	if err != nil {
		t.Fatal(err)
	}
	push := func(n int) fleet.Revision {
		d := r.Artifact(t, "main", at(n), map[string]string{"a": fmt.Sprint(n)}, nil)
		r.Sign(t, d, key, nil)
		return fleet.Revision{Ref: "main", Digest: d}
	}
	older, followed, newer := push(1), push(2), push(3)
	before := open(t, r, oci.Options{Ref: "main", Verify: keys.Verify})
	if _, err := before.Fetch(t.Context(), followed); err != nil {
		t.Fatal(err)
	}
	before.Remember(followed, at(9))
	made := before.Made(followed)
	if !made.Equal(at(2)) || !before.Made(newer).IsZero() {
		t.Errorf("they were made at %v and %v", made, before.Made(newer))
	}
	after := open(t, r, oci.Options{Ref: "main", Verify: keys.Verify})
	after.Remember(followed, at(9)) // the artifact says otherwise while it is there
	if err := after.Continues(t.Context(), followed, newer); err != nil {
		t.Error(err)
	}
	registry.Forget("fleet", followed.Digest)
	after = open(t, r, oci.Options{Ref: "main", Verify: keys.Verify})
	wantError(t, after.Continues(t.Context(), followed, newer), fleet.NotFound, "name a digest with --ref")
	after.Remember(followed, time.Time{})
	wantError(t, after.Continues(t.Context(), followed, newer), fleet.NotFound, "name a digest with --ref")
	after.Remember(followed, made)
	if err := after.Continues(t.Context(), followed, newer); err != nil {
		t.Error(err)
	}
	wantError(t, after.Continues(t.Context(), followed, older), fleet.Invalid, "was moved back")
	registry.Fault(func(w http.ResponseWriter, req *http.Request) bool {
		if strings.Contains(req.URL.Path, followed.Digest) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	wantError(t, after.Continues(t.Context(), followed, newer), fleet.Unavailable, "")
}

// TestTimeOfTheFollowedIsKept: a process that sees many artifacts keeps the time of the one that it follows.
func TestTimeOfTheFollowedIsKept(t *testing.T) {
	repo := open(t, ocitest.New(t).Repository("fleet"), oci.Options{Ref: "main"})
	rev := func(n int) fleet.Revision { return fleet.Revision{Ref: "main", Digest: fmt.Sprintf("sha256:%064d", n)} }
	repo.Remember(rev(0), at(1))
	for n := range 200 {
		repo.Remember(rev(n+1), at(2))
		if got := repo.Made(rev(0)); !got.Equal(at(1)) {
			t.Fatalf("after %d others it is %v", n, got)
		}
	}
	if !repo.Made(rev(1)).IsZero() {
		t.Error("all others are kept, too")
	}
}

// TestVouchedIsKept: that a key was withdrawn is told of the artifact that clusters are held to, however
// many were fetched since.
func TestVouchedIsKept(t *testing.T) {
	r := ocitest.New(t).Repository("fleet")
	key, public := ocitest.NewKey(t)
	keys, err := oci.NewKeys(map[string][]byte{"a.pub": public})
	if err != nil {
		t.Fatal(err)
	}
	withdrawn := false
	repo := open(t, r, oci.Options{Ref: "main", Verify: func(payload, signature []byte) (string, error) {
		if withdrawn {
			return "", errors.New("a key that is not trusted")
		}
		return keys.Verify(payload, signature)
	}})
	fetch := func(n int) fleet.Revision {
		d := r.Artifact(t, "main", at(n), map[string]string{"a": fmt.Sprint(n)}, nil)
		r.Sign(t, d, key, nil)
		rev := fleet.Revision{Ref: "main", Digest: d}
		if _, err := repo.Fetch(t.Context(), rev); err != nil {
			t.Fatal(err)
		}
		return rev
	}
	followed := fetch(0)
	if _, err := repo.Vouched(followed); err != nil {
		t.Fatal(err)
	}
	for n := range 70 {
		fetch(n + 1)
	}
	withdrawn = true
	if _, err := repo.Vouched(followed); !errors.Is(err, sources.ErrUntrusted) {
		t.Errorf("a key was withdrawn, and it tells %v", err)
	}
}

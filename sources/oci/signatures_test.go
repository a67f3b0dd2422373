package oci_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/oci"
	"fairlead.dev/sources/oci/ocitest"
)

// TestSignatures: with keys, what none of them signed is not even fetched.
func TestSignatures(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	ours, public := ocitest.NewKey(t)
	theirs, _ := ocitest.NewKey(t)
	_, edwards, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := oci.NewKeys(map[string][]byte{"a.pub": public, "b.pub": ocitest.Public(t, edwards)})
	if err != nil {
		t.Fatal(err)
	}
	const sign = "https://sigstore.dev/cosign/sign/v1"
	other := r.Artifact(t, "other", at(1), map[string]string{"x": "y"}, nil)
	for name, c := range map[string]struct {
		sign func(digest string)
		good bool
	}{
		"unsigned":       {func(string) {}, false},
		"signed":         {func(d string) { r.Sign(t, d, ours, nil) }, true},
		"by Ed25519":     {func(d string) { r.Sign(t, d, edwards, nil) }, true},
		"by others":      {func(d string) { r.Sign(t, d, theirs, nil) }, false},
		"of another one": {func(d string) { r.Sign(t, d, ours, r.Payload(other)) }, false},
		"of another kind": {func(d string) {
			r.Sign(t, d, ours, []byte(strings.Replace(string(r.Payload(d)), "cosign container", "atomic container", 1)))
		}, false},
		"a bundle": {func(d string) { r.Bundle(t, d, ours, sign) }, true},
		"a bundle of another one": {func(d string) {
			r.Bundle(t, other, ours, sign)
			registry.Move("fleet", strings.Replace(d, ":", "-", 1), registryTag(registry, "fleet", strings.Replace(other, ":", "-", 1)))
		}, false},
		"a bundle by others":       {func(d string) { r.Bundle(t, d, theirs, sign) }, false},
		"a bundle about something": {func(d string) { r.Bundle(t, d, ours, "https://slsa.dev/provenance/v1") }, false},
		"a signature moved": {func(d string) {
			r.Sign(t, other, ours, nil)
			registry.Move("fleet", tagOf(d), registryTag(registry, "fleet", tagOf(other)))
		}, false},
		"others', and then a bundle": {func(d string) { r.Sign(t, d, theirs, nil); r.Bundle(t, d, ours, sign) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := r.Artifact(t, "latest", at(1), map[string]string{"name": name}, nil)
			c.sign(d)
			registry.Requests()
			_, _, err := get(t, open(t, r, oci.Options{Verify: keys.Verify}))
			if c.good {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, fleet.Invalid, "cosign sign")
			if !errors.Is(err, sources.ErrUntrusted) {
				t.Errorf("another key may be good for it: %v", err)
			}
			content := layerOf(t, r, d)
			for _, req := range registry.Requests() {
				if strings.Contains(req, content) {
					t.Errorf("the content was fetched: %s", req)
				}
			}
		})
	}
	t.Run("a registry that hides signatures", func(t *testing.T) {
		d := r.Artifact(t, "latest", at(1), files, nil)
		r.Sign(t, d, ours, nil)
		registry.Fault(func(w http.ResponseWriter, req *http.Request) bool {
			hit := strings.HasSuffix(req.URL.Path, ".sig")
			if hit {
				w.WriteHeader(503)
			}
			return hit
		})
		defer registry.Fault(nil)
		_, _, err := get(t, open(t, r, oci.Options{Verify: keys.Verify}))
		wantError(t, err, fleet.Unavailable, "signatures")
	})
	t.Run("a list of signatures without end", func(t *testing.T) {
		r.Artifact(t, "latest", at(1), map[string]string{"never": "signed"}, nil)
		pages := 0
		registry.Fault(func(w http.ResponseWriter, req *http.Request) bool {
			hit := strings.Contains(req.URL.Path, "/referrers/")
			if hit {
				pages++
				w.Header().Set("Content-Type", ocitest.IndexType)
				w.Header().Set("Link", "<"+req.URL.Path+">; rel=\"next\"")
				_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":%q,"manifests":[]}`, ocitest.IndexType)
			}
			return hit
		})
		defer registry.Fault(nil)
		_, _, err := get(t, open(t, r, oci.Options{Verify: keys.Verify, Budget: oci.Budget{Timeout: 20 * time.Second}}))
		wantError(t, err, fleet.Invalid, "it has no signature")
		if pages != 32 {
			t.Errorf("%d pages were read", pages)
		}
	})
	t.Run("a key that is withdrawn", func(t *testing.T) {
		var mu sync.Mutex
		withdrawn := false
		verify := func(payload, signature []byte) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if withdrawn {
				return "", errors.New("it is withdrawn")
			}
			return keys.Verify(payload, signature)
		}
		d := r.Artifact(t, "latest", at(1), files, nil)
		r.Sign(t, d, ours, nil)
		repo := open(t, r, oci.Options{Verify: verify})
		if _, _, err := get(t, repo); err != nil {
			t.Fatal(err)
		}
		withdrawn = true
		_, _, err := get(t, repo)
		wantError(t, err, fleet.Invalid, "withdrawn")
	})
}

func tagOf(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// registryTag returns the digest of a tag.
func registryTag(r *ocitest.Registry, repository, tag string) string {
	res, err := http.Head(r.URL + "/v2/" + repository + "/manifests/" + tag) //nolint:gosec // the test's own registry
	if err != nil {
		return ""
	}
	_ = res.Body.Close()
	return res.Header.Get("Docker-Content-Digest")
}

// layerOf returns the digest of the content of an artifact.
func layerOf(t *testing.T, r ocitest.Repository, digest string) string {
	t.Helper()
	res, err := http.Get(r.URL + "/v2/" + r.Name + "/manifests/" + digest) //nolint:gosec // the test's own registry
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	m := regexp.MustCompile(`gzip","digest":"(sha256:[a-f0-9]+)`).FindSubmatch(b)
	if err != nil || m == nil {
		t.Fatalf("%v: %s", err, b)
	}
	return string(m[1])
}

// TestSignedTagsAreNotMovedBack: who may push and has no key brings no older artifact back.
func TestSignedTagsAreNotMovedBack(t *testing.T) {
	registry := ocitest.New(t)
	r := registry.Repository("fleet")
	key, public := ocitest.NewKey(t)
	keys, err := oci.NewKeys(map[string][]byte{"a.pub": public})
	if err != nil {
		t.Fatal(err)
	}
	push := func(tag string, when time.Time, text string) fleet.Revision {
		d := r.Artifact(t, tag, when, map[string]string{"a": text}, nil)
		r.Sign(t, d, key, nil)
		return fleet.Revision{Ref: tag, Digest: d}
	}
	one, two := push("main", at(1), "1"), push("main", at(2), "2")
	same, timeless := push("main", at(2), "3"), push("main", time.Unix(0, 0), "4")
	signed, unsigned := open(t, r, oci.Options{Ref: "main", Verify: keys.Verify}), open(t, r, oci.Options{Ref: "main"})
	if err := signed.Continues(t.Context(), one, two); err != nil {
		t.Error(err)
	}
	if err := unsigned.Continues(t.Context(), two, one); err != nil || unsigned.Signed() {
		t.Errorf("nobody asks for signatures: %v", err)
	}
	wantError(t, signed.Continues(t.Context(), two, one), fleet.Invalid, "was moved back")
	if err := signed.Continues(t.Context(), two, same); err != nil {
		t.Errorf("of one second: %v", err)
	}
	wantError(t, signed.Continues(t.Context(), two, timeless), fleet.Invalid, "--reproducible")
	if err := signed.Includes(t.Context(), two, one); err != nil {
		t.Error(err)
	}
	wantError(t, signed.Includes(t.Context(), one, two), fleet.Invalid, "not made before it")
	if err := open(t, r, oci.Options{Ref: one.Digest, Verify: keys.Verify}).Continues(t.Context(), two, one); err != nil {
		t.Errorf("a digest that is named is a new beginning: %v", err)
	}
	if err := open(t, r, oci.Options{Ref: "v1", Verify: keys.Verify}).Continues(t.Context(), two, fleet.Revision{Ref: "v1", Digest: one.Digest}); err != nil {
		t.Errorf("another tag that is named is a new beginning: %v", err)
	}
	wantError(t, open(t, r, oci.Options{Ref: "v*", Verify: keys.Verify}).Continues(t.Context(), two, fleet.Revision{Ref: "v1", Digest: one.Digest}), fleet.Invalid, "was moved back")
	unsignedOne := r.Artifact(t, "main", at(9), map[string]string{"a": "9"}, nil)
	wantError(t, signed.Continues(t.Context(), two, fleet.Revision{Ref: "main", Digest: unsignedOne}), fleet.Invalid, "no signature")
	registry.Forget("fleet", one.Digest)
	wantError(t, open(t, r, oci.Options{Ref: "main", Verify: keys.Verify}).Continues(t.Context(), one, two), fleet.NotFound, "name a digest with --ref")
}

// TestKeys: what is no public key of cosign is refused.
func TestKeys(t *testing.T) {
	_, public := ocitest.NewKey(t)
	for name, c := range map[string]struct{ text, want string }{
		"an SSH key":    {"ssh-ed25519 AAAA ada", "no public key in PEM"},
		"nothing":       {"", "is empty"},
		"a private key": {"-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n", "no public key in PEM"},
		"no key in it":  {"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "cannot be read"},
		"words after":   {string(public) + "words", "no public key in PEM"},
	} {
		if _, err := oci.NewKeys(map[string][]byte{"k": []byte(c.text)}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oci.NewKeys(map[string][]byte{"k": ocitest.Public(t, weak)}); err == nil || !strings.Contains(err.Error(), "1024 bits") {
		t.Errorf("got %v", err)
	}
	if _, err := oci.NewKeys(map[string][]byte{"k": append(bytes.Clone(public), public...)}); err != nil {
		t.Error(err)
	}
}

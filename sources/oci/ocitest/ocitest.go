// Package ocitest has a registry for tests, and pushes and signs artifacts as
// `flux push artifact` and `cosign sign --key` do.
package ocitest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The media types of artifacts and signatures.
const (
	ManifestType = "application/vnd.oci.image.manifest.v1+json"
	IndexType    = "application/vnd.oci.image.index.v1+json"
	ConfigType   = "application/vnd.cncf.flux.config.v1+json"
	ContentType  = "application/vnd.cncf.flux.content.v1.tar+gzip"
	BundleType   = "application/vnd.dev.sigstore.bundle.v0.3+json"
)

// T is what a test gives: its testing.TB, or a script.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// A Repository is one of a registry that is spoken to at URL, http://HOST:PORT.
type Repository struct{ URL, Name string }

// OCI returns the address that a source has.
func (r Repository) OCI() string {
	_, host, _ := strings.Cut(r.URL, "://")
	return "oci://" + host + "/" + r.Name
}

// A Descriptor is that of the image specification.
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

// A Manifest is that of the image specification.
type Manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType,omitempty"`
	ArtifactType  string            `json:"artifactType,omitempty"`
	Config        Descriptor        `json:"config"`
	Layers        []Descriptor      `json:"layers"`
	Subject       *Descriptor       `json:"subject,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// Artifact pushes files under tag as Flux does, and returns the digest. What change makes of
// the manifest is pushed; it may be nil.
func (r Repository) Artifact(t T, tag string, created time.Time, files map[string]string, change func(*Manifest)) string {
	t.Helper()
	return r.Packed(t, tag, created, Pack(t, files), change)
}

// Packed is like Artifact, of an archive.
func (r Repository) Packed(t T, tag string, created time.Time, archive []byte, change func(*Manifest)) string {
	t.Helper()
	m := Manifest{
		SchemaVersion: 2, MediaType: ManifestType,
		Config: r.Blob(t, ConfigType, []byte("{}")),
		Layers: []Descriptor{r.Blob(t, ContentType, archive)},
		Annotations: map[string]string{
			"org.opencontainers.image.created":  created.UTC().Format(time.RFC3339),
			"org.opencontainers.image.source":   "https://git.example.com/fleet.git",
			"org.opencontainers.image.revision": "main@sha1:0123456789abcdef0123456789abcdef01234567",
		},
	}
	if change != nil {
		change(&m)
	}
	return r.Manifest(t, tag, m)
}

// Pack returns files as tar in gzip.
func Pack(t T, files map[string]string) []byte {
	t.Helper()
	var headers []tar.Header
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		headers = append(headers, h)
	}
	return PackHeaders(t, headers, files)
}

// PackHeaders returns entries as tar in gzip, whatever they mean.
func PackHeaders(t T, headers []tar.Header, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, files[h.Name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Blob pushes content.
func (r Repository) Blob(t T, mediaType string, content []byte) Descriptor {
	t.Helper()
	d := Descriptor{MediaType: mediaType, Digest: digest(content), Size: int64(len(content))}
	at := r.do(t, http.MethodPost, r.URL+"/v2/"+r.Name+"/blobs/uploads/", "", nil).Get("Location")
	if strings.HasPrefix(at, "/") {
		at = r.URL + at
	}
	join := "?"
	if strings.Contains(at, "?") {
		join = "&"
	}
	r.do(t, http.MethodPut, at+join+"digest="+d.Digest, "application/octet-stream", content)
	return d
}

// Manifest pushes m under a tag, or by its digest where that is empty, and returns the digest.
func (r Repository) Manifest(t T, tag string, m any) string {
	t.Helper()
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	kind := ManifestType
	switch m := m.(type) {
	case Manifest:
		kind = cmp.Or(m.MediaType, kind)
	case map[string]any:
		kind, _ = m["mediaType"].(string)
	}
	d := digest(data)
	if tag == "" {
		tag = d
	}
	r.do(t, http.MethodPut, r.URL+"/v2/"+r.Name+"/manifests/"+tag, kind, data)
	return d
}

// do makes a request that has to work, and returns the header of the answer.
func (r Repository) do(t T, method, url, kind string, body []byte) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= 300 {
		b, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %s: %s: %s", method, url, res.Status, b)
	}
	return res.Header
}

// NewKey returns a private key as cosign makes them, and the public one in PEM.
func NewKey(t T) (crypto.Signer, []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k, Public(t, k)
}

// Public returns the public key of k in PEM.
func Public(t T, k crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// Payload returns what cosign signs of the artifact with that digest.
func (r Repository) Payload(digest string) []byte {
	_, host, _ := strings.Cut(r.URL, "://")
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":"%s/%s"},"image":{"docker-manifest-digest":"%s"},"type":"cosign container image signature"},"optional":null}`, host, r.Name, digest)
}

// Sign signs the artifact with that digest, as cosign does under a tag of its own. What is
// signed is payload; nil: what cosign signs.
func (r Repository) Sign(t T, digest string, k crypto.Signer, payload []byte) {
	t.Helper()
	if payload == nil {
		payload = r.Payload(digest)
	}
	d := r.Blob(t, "application/vnd.dev.cosign.simplesigning.v1+json", payload)
	d.Annotations = map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature(t, k, payload))}
	r.Manifest(t, strings.Replace(digest, ":", "-", 1)+".sig", Manifest{
		SchemaVersion: 2, MediaType: ManifestType,
		Config: r.Blob(t, "application/vnd.oci.image.config.v1+json", []byte("{}")), Layers: []Descriptor{d},
	})
}

// Bundle signs the artifact with that digest, as cosign does in a bundle that refers to it.
func (r Repository) Bundle(t T, of string, k crypto.Signer, predicate string) {
	t.Helper()
	const kind = "application/vnd.in-toto+json"
	statement := fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"%s"}}],"predicateType":"%s","predicate":{}}`, strings.TrimPrefix(of, "sha256:"), predicate)
	signed := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(statement), statement)
	bundle, err := json.Marshal(map[string]any{
		"mediaType": BundleType,
		"dsseEnvelope": map[string]any{
			"payload": statement, "payloadType": kind, "signatures": []any{map[string]any{"sig": signature(t, k, signed)}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := Manifest{
		SchemaVersion: 2, MediaType: ManifestType, ArtifactType: BundleType,
		Config: r.Blob(t, "application/vnd.oci.empty.v1+json", []byte("{}")), Layers: []Descriptor{r.Blob(t, BundleType, bundle)},
		Subject: &Descriptor{MediaType: ManifestType, Digest: of, Size: 1},
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	// As for a registry that knows no referrers.
	r.Manifest(t, strings.Replace(of, ":", "-", 1), map[string]any{
		"schemaVersion": 2, "mediaType": IndexType,
		"manifests": []Descriptor{{MediaType: ManifestType, ArtifactType: BundleType, Digest: r.Manifest(t, "", m), Size: int64(len(data))}},
	})
}

func signature(t T, k crypto.Signer, payload []byte) []byte {
	t.Helper()
	sum, hash := sha256.Sum256(payload), crypto.SHA256
	toSign := sum[:]
	if _, whole := k.(ed25519.PrivateKey); whole {
		toSign, hash = payload, 0
	}
	s, err := k.Sign(rand.Reader, toSign, hash)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

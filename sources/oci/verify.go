package oci

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// What cosign stores beside an artifact. Sources: cosign, specs/SIGNATURE_SPEC.md and
// specs/BUNDLE_SPEC.md; DSSE, protocol.md.
const (
	simpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureKey  = "dev.cosignproject.cosign/signature"
	simpleType    = "cosign container image signature"

	bundleType    = "application/vnd.dev.sigstore.bundle.v0.3+json"
	statementType = "application/vnd.in-toto+json"
	signPredicate = "https://sigstore.dev/cosign/sign/v1"

	maxSignatures = 32       // signatures of one artifact that are tried, of each form, and pages of their list
	maxSigned     = 64 << 10 // size of signed content, in bytes
)

// verified returns why the artifact of that digest must not be followed.
func (r *Repository) verified(ctx context.Context, from *remote.Repository, digest string) error {
	if r.options.Verify == nil {
		return nil
	}
	who, why := "", errors.New("it has no signature")
	for _, look := range []func(context.Context, *remote.Repository, string, func(payload, signature []byte) (bool, error)) error{simpleSignatures, bundles} {
		err := look(ctx, from, digest, func(payload, signature []byte) (bool, error) {
			signer, err := r.options.Verify(payload, signature)
			if err == nil {
				who = signer
				r.remember(digest, proof{payload, signature})
				return true, nil
			}
			if fleet.KindOf(err) != fleet.Unknown {
				return false, err
			}
			why = err
			return false, nil
		})
		if err != nil {
			return err
		}
		if who != "" {
			r.log.Debug("verified", "digest", digest, "signer", who)
			return nil
		}
	}
	return untrusted("%w: sign it with cosign sign --key KEY %s/%s@%s", why, r.name.host, r.name.repository, digest)
}

func untrusted(format string, args ...any) error {
	return fleet.Errorf(fleet.Invalid, "trust it", "%w: %w", sources.ErrUntrusted, fmt.Errorf(format, args...))
}

// simpleSignatures calls verify with the signatures under the tag that cosign derives from
// the digest, until one counts. It skips signatures of other content.
func simpleSignatures(ctx context.Context, from *remote.Repository, digest string, verify func(payload, signature []byte) (bool, error)) error {
	data, err := manifest(ctx, from, strings.Replace(digest, ":", "-", 1)+".sig")
	if kindOf(err) == fleet.NotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get its signatures: %w", err)
	}
	var m ocispec.Manifest
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	for _, l := range m.Layers[:min(len(m.Layers), maxSignatures)] {
		signature, err := base64.StdEncoding.DecodeString(l.Annotations[signatureKey])
		if err != nil || len(signature) == 0 || l.MediaType != simpleSigning || !fits(l) {
			continue
		}
		payload, err := blob(ctx, from, l)
		if err != nil {
			return fmt.Errorf("get its signatures: %w", err)
		}
		var said struct {
			Critical struct {
				Image struct {
					Digest string `json:"docker-manifest-digest"`
				} `json:"image"`
				Type string `json:"type"`
			} `json:"critical"`
		}
		if json.Unmarshal(payload, &said) != nil || said.Critical.Image.Digest != digest || said.Critical.Type != simpleType {
			continue
		}
		if ok, err := verify(payload, signature); ok || err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether d may be signed content.
func fits(d ocispec.Descriptor) bool {
	return digestName.MatchString(string(d.Digest)) && d.Size > 0 && d.Size <= maxSigned
}

// errEnough ends a listing.
var errEnough = errors.New("enough")

// A counted client allows a number of requests.
type counted struct {
	remote.Client
	left int
}

// Do implements remote.Client.
func (c *counted) Do(req *http.Request) (*http.Response, error) {
	if c.left--; c.left < 0 {
		return nil, errEnough
	}
	return c.Client.Do(req)
}

// bundles calls verify with the signatures in Sigstore bundles that refer to the digest,
// until one counts.
func bundles(ctx context.Context, from *remote.Repository, digest string, verify func(payload, signature []byte) (bool, error)) error {
	var found []ocispec.Descriptor
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: godigest.Digest(digest)}
	// The registry may return endless pages without results.
	list := &remote.Repository{
		Client: &counted{from.Client, maxSignatures}, Reference: from.Reference, PlainHTTP: from.PlainHTTP, MaxMetadataBytes: from.MaxMetadataBytes,
	}
	err := list.Referrers(ctx, subject, bundleType, func(page []ocispec.Descriptor) error {
		for _, d := range page {
			if d.ArtifactType == bundleType && digestName.MatchString(string(d.Digest)) {
				found = append(found, d)
			}
		}
		if len(found) >= maxSignatures {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) && kindOf(err) != fleet.NotFound {
		return fmt.Errorf("get its signatures: %w", err)
	}
	for _, d := range found[:min(len(found), maxSignatures)] {
		data, err := manifest(ctx, from, string(d.Digest))
		if err != nil {
			return fmt.Errorf("get its signatures: %w", err)
		}
		var m ocispec.Manifest
		if json.Unmarshal(data, &m) != nil || len(m.Layers) != 1 || m.Layers[0].MediaType != bundleType || !fits(m.Layers[0]) {
			continue
		}
		bundle, err := blob(ctx, from, m.Layers[0])
		if err != nil {
			return fmt.Errorf("get its signatures: %w", err)
		}
		payload, signatures := opened(bundle, digest)
		for _, s := range signatures[:min(len(signatures), maxSignatures)] {
			if ok, err := verify(payload, s); ok || err != nil {
				return err
			}
		}
	}
	return nil
}

// opened returns the signed content and the signatures of a bundle, if that says that
// somebody signed the artifact of that digest; else none.
func opened(bundle []byte, digest string) (payload []byte, signatures [][]byte) {
	var b struct {
		Envelope struct {
			Payload    []byte `json:"payload"`
			Type       string `json:"payloadType"`
			Signatures []struct {
				Signature []byte `json:"sig"`
			} `json:"signatures"`
		} `json:"dsseEnvelope"`
	}
	var statement struct {
		Subject []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
		Predicate string `json:"predicateType"`
	}
	if json.Unmarshal(bundle, &b) != nil || b.Envelope.Type != statementType || json.Unmarshal(b.Envelope.Payload, &statement) != nil {
		return nil, nil
	}
	if statement.Predicate != signPredicate || len(statement.Subject) != 1 || "sha256:"+statement.Subject[0].Digest["sha256"] != digest {
		return nil, nil
	}
	for _, s := range b.Envelope.Signatures {
		signatures = append(signatures, s.Signature)
	}
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(statementType), statementType, len(b.Envelope.Payload), b.Envelope.Payload), signatures
}

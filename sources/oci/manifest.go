package oci

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
)

// manifest returns the manifest of that digest.
func (r *Repository) manifest(ctx context.Context, remote *remote.Repository, digest string) (ocispec.Manifest, error) {
	if m, ok := r.known[digest]; ok {
		return m, nil
	}
	data, err := manifest(ctx, remote, digest)
	if err != nil {
		return ocispec.Manifest{}, err
	}
	m, err := readManifest(data)
	if err != nil {
		return ocispec.Manifest{}, err
	}
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[digest] = m
	return m, nil
}

// readManifest reads a manifest whose digest was checked.
func readManifest(data []byte) (ocispec.Manifest, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return m, refuse("its manifest is not JSON of the form that it should have")
	}
	if m.MediaType != "" && m.MediaType != ocispec.MediaTypeImageManifest {
		return m, refuse("its manifest is of type %.100q and not %s: push it with flux push artifact", m.MediaType, ocispec.MediaTypeImageManifest)
	}
	return m, nil
}

// contentOf returns the blob with the content of an artifact.
func contentOf(m ocispec.Manifest, most int64) (ocispec.Descriptor, error) {
	if m.Config.MediaType != configType {
		return ocispec.Descriptor{}, refuse("its config is of type %.100q and not %s: push it with flux push artifact", m.Config.MediaType, configType)
	}
	if len(m.Layers) != 1 || m.Layers[0].MediaType != contentType {
		return ocispec.Descriptor{}, refuse("it has not one layer of type %s: push it with flux push artifact", contentType)
	}
	d := m.Layers[0]
	switch {
	case !digestName.MatchString(string(d.Digest)):
		return d, refuse("its layer has the digest %.100q, which is not one of SHA-256", string(d.Digest))
	case d.Size < 0 || d.Size > most:
		return d, refuse("its layer has %d bytes, more than %d", d.Size, most)
	}
	return d, nil
}

// errNoTime says that an artifact does not say when it was made.
var errNoTime = errors.New("its annotation " + createdKey + " is not the time at which it was made: push it with flux push artifact, without --reproducible")

// created returns the time at which the artifact was made, by its manifest.
func created(m ocispec.Manifest) (time.Time, error) {
	text := m.Annotations[createdKey]
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Unix() <= 0 {
		return time.Time{}, errNoTime
	}
	return at, nil
}

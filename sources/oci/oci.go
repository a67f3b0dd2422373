// Package oci follows a fleet in a repository of an OCI registry, as
// `flux push artifact` writes it. It writes nothing.
//
//	repo, err := oci.New(oci.Options{URL: "oci://registry.example.com/team/fleet", Ref: "main"})
//	rev, err := repo.Resolve(ctx)      // one HEAD
//	tree, err := repo.Fetch(ctx, rev)  // manifest, signatures, content; in this order
//
// A revision is the digest of a manifest. Content that does not match its digest was
// damaged, and is fetched again. Content that matches is checked once. With Options.Verify
// nothing is unpacked without a trusted signature.
package oci

import (
	"log/slog"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/tree"
)

// Media types and annotations of what Flux writes.
// Source: Flux, OCI Artifacts; OCI image-spec, annotations.
const (
	configType  = "application/vnd.cncf.flux.config.v1+json"
	contentType = "application/vnd.cncf.flux.content.v1.tar+gzip"

	createdKey  = "org.opencontainers.image.created"
	sourceKey   = "org.opencontainers.image.source"
	revisionKey = "org.opencontainers.image.revision"
)

// Scheme begins the URL of a repository of a registry.
const Scheme = "oci://"

// Options describe one repository of a registry and how to reach it.
type Options struct {
	// URL is oci://HOST[:PORT]/REPOSITORY, without a tag.
	URL string
	// Ref is what to follow: a tag, or a digest, sha256:…; or, for the highest of the tags
	// that match, "semver:" and a range of versions, or a tag with *. Empty is the tag
	// latest.
	Ref string
	// Path is the folder of the artifact that is the root of trees; empty is all of it.
	// Files elsewhere are not read, and symbolic links do not lead out of it.
	Path string

	Auth Auth
	// Proxy is the URL of the proxy for the registry, which may have a user and a password:
	// http://, https:// or socks5://. Zero: the proxy in the environment.
	Proxy fleet.Secret
	// CABundle is PEM of CA certificates to trust beside the system's.
	CABundle []byte
	// PlainHTTP allows requests without TLS. They are always allowed to this computer,
	// unless CABundle or a client certificate is given.
	PlainHTTP bool

	// Refresh, if not nil, sets Auth, Proxy and CABundle to their current values. New and
	// each operation call it, one at a time.
	Refresh func(*Options) error

	// Verify, if not nil, is called with signed content and a signature. It returns who
	// signed. An error without a kind says why the signature does not count. An error with
	// a kind may pass.
	Verify func(payload, signature []byte) (who string, err error)

	Budget Budget
	Log    *slog.Logger // nil discards
}

// Auth is a credential: Bearer, or Username and Password; for https a client certificate,
// alone or in addition.
type Auth struct {
	Username string
	Password fleet.Secret
	Bearer   fleet.Secret // a token that the registry accepts directly
	Refresh  fleet.Secret // an identity token, which is exchanged for tokens

	Certificate    []byte       // of the client, with its chain, PEM
	CertificateKey fleet.Secret // its private key, PEM
}

// anonymous reports whether there is no secret that could be stolen.
func (a Auth) anonymous() bool {
	return a.Username == "" && a.Password.IsZero() && a.Bearer.IsZero() && a.Refresh.IsZero()
}

// A Budget bounds one operation and one revision. A field that is 0 has its default.
type Budget struct {
	Tree       tree.Budget
	Compressed int64         // bytes of the content, compressed: 32 MiB
	Tags       int           // tags that are compared with a range: 10,000
	Timeout    time.Duration // for a Fetch: 2 min
	ListTime   time.Duration // for a Resolve: 30 s
}

func (b Budget) withDefaults() Budget {
	b.Tree = b.Tree.WithDefaults()
	if b.Compressed == 0 {
		b.Compressed = 32 << 20
	}
	if b.Tags == 0 {
		b.Tags = 10_000
	}
	if b.Timeout == 0 {
		b.Timeout = 2 * time.Minute
	}
	if b.ListTime == 0 {
		b.ListTime = 30 * time.Second
	}
	return b
}

// maxManifest bounds manifests, lists of referrers and signed content, in bytes.
const maxManifest = 1 << 20

// Package oci follows a fleet in a repository of an OCI registry, as
// `flux push artifact` writes it. It writes nothing.
//
//	repo, err := oci.New(oci.Options{URL: "oci://registry.example.com/team/fleet", Ref: "main"})
//	rev, err := repo.Resolve(ctx)      // one HEAD
//	tree, err := repo.Fetch(ctx, rev)  // manifest, signatures, content; in this order
//
// A revision is the digest of a manifest. What a registry sends for a digest and does not
// have it is damage on the way, and tried again; what has it is judged once. With
// Options.Verify nothing is unpacked that no key vouches for.
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
	// Ref is what to follow: a tag, or a digest, sha256:…; "semver:" and a range of
	// versions, or a tag with * in it, for the highest of the tags that match. Empty is
	// the tag latest.
	Ref string
	// Path is the folder of the artifact that trees begin at; empty is all of it. Files
	// elsewhere are not read, and symbolic links do not lead out of it.
	Path string

	Auth Auth
	// Proxy is the URL of the proxy that the registry is reached through, which may hold a
	// user and a password: http://, https:// or socks5://. Zero: the one that the
	// environment names.
	Proxy fleet.Secret
	// CABundle is PEM of authorities to trust beside the system's.
	CABundle []byte
	// PlainHTTP has the registry spoken to without TLS. One on this computer is anyway,
	// unless CABundle or a client certificate is given.
	PlainHTTP bool

	// Refresh, if not nil, sets Auth, Proxy and CABundle to what they are now. It is called
	// by New and before each operation, one call at a time.
	Refresh func(*Options) error

	// Verify, if not nil, is given what was signed and a signature of it. It returns who
	// signed, or why the signature does not count, where the error has no kind; one that
	// has may be gone with the next try.
	Verify func(payload, signature []byte) (who string, err error)

	Budget Budget
	Log    *slog.Logger // nil discards
}

// Auth is a credential: Bearer, or Username and Password; and for https a client
// certificate, alone or beside them.
type Auth struct {
	Username string
	Password fleet.Secret
	Bearer   fleet.Secret // a token that the registry itself takes
	Refresh  fleet.Secret // an identity token, which tokens are got for

	Certificate    []byte       // of the client, with its chain, PEM
	CertificateKey fleet.Secret // its private key, PEM
}

// anonymous reports whether nothing is sent that could be stolen.
func (a Auth) anonymous() bool {
	return a.Username == "" && a.Password.IsZero() && a.Bearer.IsZero() && a.Refresh.IsZero()
}

// A Budget bounds what one operation may take and one revision may hold. A field
// that is 0 takes its default.
type Budget struct {
	Tree       tree.Budget
	Compressed int64         // bytes of the content as it is sent: 32 MiB
	Tags       int           // tags that are looked at for a range: 10,000
	Timeout    time.Duration // of a Fetch: 2 min
	ListTime   time.Duration // of a Resolve: 30 s
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

// maxManifest bounds manifests, lists of referrers and what was signed, in bytes.
const maxManifest = 1 << 20

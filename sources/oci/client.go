package oci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"fairlead.dev/fleet"
)

// A client reaches one repository with the current credentials.
type client struct {
	name    reference
	options Options

	mu   sync.Mutex
	now  *remote.Repository
	pool *http.Transport
	as   Options // the options that now was made of
}

func newClient(name reference, o Options) (*client, error) {
	c := &client{name: name, options: o}
	var err error
	if c.as, err = c.refreshed(); err == nil {
		c.now, c.pool, err = c.open(c.as)
	}
	return c, err
}

func (c *client) refreshed() (Options, error) {
	o := c.options
	if o.Refresh == nil {
		return o, nil
	}
	err := o.Refresh(&o)
	return o, err
}

// repository returns the client of the registry. Credentials that cannot be used are an
// error of kind Unauthorized: the old ones may have been revoked for a reason.
func (c *client) repository() (*remote.Repository, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, err := c.refreshed()
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, "read the credentials", "%w", err)
	}
	if sameCredentials(o, c.as) {
		return c.now, nil
	}
	next, pool, err := c.open(o)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, "use the credentials that have changed", "%w", err)
	}
	c.pool.CloseIdleConnections()
	c.now, c.pool, c.as = next, pool, o
	return next, nil
}

func sameCredentials(a, b Options) bool {
	same := func(a, b fleet.Secret) bool { return bytes.Equal(a.Reveal(), b.Reveal()) }
	return a.Auth.Username == b.Auth.Username && same(a.Auth.Password, b.Auth.Password) && same(a.Auth.Bearer, b.Auth.Bearer) &&
		same(a.Auth.Refresh, b.Auth.Refresh) && bytes.Equal(a.Auth.Certificate, b.Auth.Certificate) &&
		same(a.Auth.CertificateKey, b.Auth.CertificateKey) && same(a.Proxy, b.Proxy) && bytes.Equal(a.CABundle, b.CABundle)
}

// maxRedirects is how many redirects of one request are followed: registries redirect to
// where their content is.
const maxRedirects = 5

func (c *client) open(o Options) (*remote.Repository, *http.Transport, error) {
	plain := o.PlainHTTP || isLoopback(c.name.host) && len(o.CABundle) == 0 && len(o.Auth.Certificate) == 0
	if plain && !o.Auth.anonymous() && !isLoopback(c.name.host) {
		return nil, nil, errors.New("credentials are not sent over plain http: leave out --plain-http, or the credentials")
	}
	t, err := transport(o, plain)
	if err != nil {
		return nil, nil, err
	}
	r := &remote.Repository{
		Reference: registry.Reference{Registry: c.name.host, Repository: c.name.repository},
		PlainHTTP: plain, MaxMetadataBytes: maxManifest, TagListPageSize: 1000,
		ManifestMediaTypes: []string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex},
		Client: &auth.Client{
			Client: &http.Client{
				Transport: guard{t, plain},
				CheckRedirect: func(req *http.Request, via []*http.Request) error {
					if len(via) > maxRedirects {
						return fmt.Errorf("stopped after %d redirects, the last one to %s", maxRedirects, req.URL.Host)
					}
					return nil
				},
			},
			Header: http.Header{"User-Agent": {"fairlead"}},
			Cache:  auth.NewCache(),
			Credential: func(_ context.Context, host string) (auth.Credential, error) {
				if host != c.name.host && !(c.name.host == "docker.io" && host == "registry-1.docker.io") {
					return auth.EmptyCredential, nil
				}
				return auth.Credential{
					Username: o.Auth.Username, Password: string(o.Auth.Password.Reveal()),
					AccessToken: string(o.Auth.Bearer.Reveal()), RefreshToken: string(o.Auth.Refresh.Reveal()),
				}, nil
			},
		},
	}
	return r, t, nil
}

func transport(o Options, plain bool) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if !o.Proxy.IsZero() {
		u, err := url.Parse(string(o.Proxy.Reveal()))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
			return nil, errors.New("the proxy is no URL of http, https or socks5, as in http://proxy.example.com:3128")
		}
		t.Proxy = http.ProxyURL(u)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if len(o.CABundle) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(o.CABundle) {
			return nil, errors.New("the CA bundle has no certificate in PEM")
		}
		t.TLSClientConfig.RootCAs = pool
	}
	if len(o.Auth.Certificate) == 0 && o.Auth.CertificateKey.IsZero() {
		return t, nil
	}
	if plain {
		return nil, errors.New("a client certificate does not work over plain http")
	}
	if len(o.Auth.Certificate) == 0 || o.Auth.CertificateKey.IsZero() {
		return nil, errors.New("a client certificate needs both the certificate and its key")
	}
	pair, err := tls.X509KeyPair(o.Auth.Certificate, o.Auth.CertificateKey.Reveal())
	if err != nil {
		return nil, fmt.Errorf("the client certificate cannot be used: %w", err)
	}
	t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	return t, nil
}

// A guard refuses requests and redirects without TLS.
type guard struct {
	base  http.RoundTripper
	plain bool // PlainHTTP is set
}

var errPlain = errors.New("refused to go on without TLS")

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !g.plain {
		return nil, fmt.Errorf("%w to %s", errPlain, req.URL.Host)
	}
	return g.base.RoundTrip(req)
}

// errDamaged says that content does not have the digest that was asked for.
var errDamaged = errors.New("what the registry sent does not have the digest that was asked for: something between changed it, or the registry is damaged")

// manifest returns the manifest of a digest, which is verified, or of a tag.
func manifest(ctx context.Context, r *remote.Repository, ref string) ([]byte, error) {
	_, body, err := r.Manifests().FetchReference(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, maxManifest+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxManifest:
		return nil, refuse("its manifest has more than %d bytes", maxManifest)
	case digestName.MatchString(ref) && digestOf(data) != ref:
		return nil, errDamaged
	}
	return data, nil
}

// blob returns the blob d, whose digest is verified.
func blob(ctx context.Context, r *remote.Repository, d ocispec.Descriptor) ([]byte, error) {
	body, err := r.Blobs().Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(body, d.Size+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) != d.Size || digestOf(b.Bytes()) != string(d.Digest) {
		return nil, errDamaged
	}
	return b.Bytes(), nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

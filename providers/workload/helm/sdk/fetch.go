package sdk

import (
	"bytes"
	"cmp"
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
	"strings"

	"helm.sh/helm/v4/pkg/registry"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"fairlead.dev/fleet"
)

// A repository is a chart repository with its credentials.
type repository struct {
	http *http.Client
	cred auth.CredentialFunc
}

// fetch returns the packed chart.
func fetch(ctx context.Context, c fleet.Chart, a fleet.ChartAccess) ([]byte, error) {
	u, err := url.Parse(c.Repository)
	if err != nil {
		return nil, err
	}
	d, err := newRepository(a)
	if err != nil {
		return nil, err
	}
	defer d.http.CloseIdleConnections()
	if u.Scheme == registry.OCIScheme {
		return d.pull(ctx, strings.TrimPrefix(c.Repository, "oci://")+"/"+c.Name, c.Version)
	}
	return d.download(ctx, c)
}

func newRepository(a fleet.ChartAccess) (*repository, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: a.Insecure} //nolint:gosec // Git asks for it by name
	if !a.CA.IsZero() {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(a.CA.Reveal()) {
			return nil, fleet.Errorf(fleet.Invalid, "read ca.crt of tlsConfig.caSecret", "there is no certificate in it")
		}
		t.TLSClientConfig.RootCAs = pool
	}
	d := &repository{http: &http.Client{Transport: &bounded{t}, Timeout: fetchTimeout}}
	store := credentials.NewMemoryStore()
	if !a.Credentials.IsZero() {
		var err error
		if store, err = credentials.NewMemoryStoreFromDockerConfig(a.Credentials.Reveal()); err != nil {
			return nil, fleet.Errorf(fleet.Invalid, "read the credentials", "they are no config.json of Docker") // the error may quote them
		}
	}
	d.cred = credentials.Credential(store)
	return d, nil
}

// bounded cuts answers off that are too long.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxIndex)
	}
	return resp, err
}

// pull returns the chart of a registry.
func (d *repository) pull(ctx context.Context, name, version string) ([]byte, error) {
	client, err := registry.NewClient(
		registry.ClientOptHTTPClient(d.http),
		registry.ClientOptAuthorizer(auth.Client{Client: d.http, Credential: d.cred, Cache: auth.NewCache()}),
	)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // Pull takes no context: its client has a timeout
		return nil, err
	}
	// A tag has no plus; Helm writes an underscore.
	got, err := client.Pull(name + ":" + strings.ReplaceAll(version, "+", "_"))
	if err != nil {
		return nil, err
	}
	return got.Chart.Data, nil
}

// download returns the chart of a repository with an index.
func (d *repository) download(ctx context.Context, c fleet.Chart) ([]byte, error) {
	raw, err := d.get(ctx, c.Repository+"/index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	versions, ok, err := readIndex(raw, c.Name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fleet.Errorf(fleet.NotFound, "find the chart", "the index of the repository has none of that name")
	}
	for _, v := range versions {
		if strings.TrimPrefix(v.Version, "v") != strings.TrimPrefix(c.Version, "v") || len(v.URLs) == 0 {
			continue
		}
		pack, err := d.archive(ctx, c, v.URLs[0])
		if err != nil {
			return nil, err
		}
		if sum := sha256.Sum256(pack); v.Digest != "" && strings.TrimPrefix(v.Digest, "sha256:") != hex.EncodeToString(sum[:]) {
			return nil, fleet.Errorf(fleet.Invalid, "verify the chart", "its digest is sha256:%x, and the index of the repository says %s", sum, v.Digest)
		}
		return pack, nil
	}
	newest := "none"
	if len(versions) > 0 {
		newest = versions[0].Version
	}
	return nil, fleet.Errorf(fleet.NotFound, "find the chart", "the index of the repository has no such version of it; the first that it has is %s", newest)
}

// archive returns what is at ref, an address or a path below the repository.
func (d *repository) archive(ctx context.Context, c fleet.Chart, ref string) ([]byte, error) {
	base, err := url.Parse(c.Repository + "/")
	if err != nil {
		return nil, err
	}
	u, err := base.Parse(ref)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "read index.yaml", "the chart is at %q, which is no address", ref)
	}
	switch u.Scheme {
	case "https":
		return d.get(ctx, u.String(), maxArchive)
	case registry.OCIScheme:
		name, _, _ := strings.Cut(u.Path, ":")
		return d.pull(ctx, u.Host+name, c.Version)
	}
	return nil, fleet.Errorf(fleet.Invalid, "read index.yaml", "the chart is at %q, which is neither https:// nor oci://", ref)
}

// get returns the body of an address. Credentials go to the hosts that they are for.
func (d *repository) get(ctx context.Context, address string, most int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "fairlead")
	cred, err := d.cred(ctx, req.URL.Host)
	if err != nil {
		return nil, err
	}
	if cred.Username != "" {
		req.SetBasicAuth(cred.Username, cred.Password)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{address, resp.StatusCode}
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, http.MaxBytesReader(nil, resp.Body, most)); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", address, err)
	}
	return b.Bytes(), nil
}

// A statusError is an HTTP response other than 2xx.
type statusError struct {
	address string
	code    int
}

// Error implements error.
func (e *statusError) Error() string {
	return fmt.Sprintf("%s answers %d %s", e.address, e.code, http.StatusText(e.code))
}

// fetchKind returns the kind of an error of a repository.
func fetchKind(err error) fleet.ErrorKind {
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return e.Kind
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fleet.Invalid
	}
	code := 0
	if e, ok := errors.AsType[*statusError](err); ok {
		code = e.code
	}
	if e, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		code = cmp.Or(code, e.StatusCode)
	}
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden || errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fleet.Unauthorized
	case code == http.StatusNotFound || code == http.StatusGone || errors.Is(err, errdef.ErrNotFound):
		return fleet.NotFound
	}
	return fleet.Unavailable
}

package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"fairlead.dev/fleet"
)

// errRedirect says that a server redirected a request with credentials.
var errRedirect = errors.New("refused a redirect")

type httpRemote struct {
	endpoint transport.Endpoint
	auth     transport.AuthMethod
	client   transport.Transport
	web      *http.Client // the http.Client that client uses
	pool     *http.Transport
	multiACK atomic.Bool // the server requires multi_ack

	credential Auth // for an API
}

func newHTTPRemote(ep *transport.Endpoint, auth Auth, o Options) (remote, error) {
	if !auth.Key.IsZero() {
		return nil, errors.New("an SSH key does not work over " + ep.Protocol)
	}
	r := &httpRemote{endpoint: *ep, credential: auth}
	r.endpoint.User, r.endpoint.Password = "", ""
	if !auth.isZero() {
		if ep.Protocol == "http" && !isLoopback(ep.Host) {
			return nil, errors.New("credentials are not sent over plain http: use https")
		}
		r.auth = httpAuth(auth)
	}
	r.multiACK.Store(isAzure(ep.Host))
	t := http.DefaultTransport.(*http.Transport).Clone()
	if err := useProxy(t, o.Proxy); err != nil {
		return nil, err
	}
	if len(o.CABundle) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(o.CABundle) {
			return nil, errors.New("the CA bundle has no certificate in PEM")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if err := useCertificate(t, auth, ep.Protocol); err != nil {
		return nil, err
	}
	if !auth.App.IsZero() {
		in, err := newInstallation(auth.App, ep.Protocol, hostOf(ep), t)
		if err != nil {
			return nil, err
		}
		r.auth = in
	}
	r.pool = t
	r.web = &http.Client{
		Transport:     limitedTransport{t, o.Budget.Received},
		CheckRedirect: r.checkRedirect,
	}
	r.client = githttp.NewClient(r.web)
	return r, nil
}

func hostOf(ep *transport.Endpoint) string {
	if ep.Port == 0 || ep.Port == defaultPort(ep.Protocol) {
		return ep.Host
	}
	return ep.Host + ":" + strconv.Itoa(ep.Port)
}

// useProxy makes t use the proxy at address, or, where that is empty, the proxy in the
// environment.
func useProxy(t *http.Transport, address fleet.Secret) error {
	if address.IsZero() {
		return nil
	}
	u, err := url.Parse(string(address.Reveal()))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5" {
		return errors.New("the proxy is no URL of http, https or socks5, as in http://proxy.example.com:3128")
	}
	t.Proxy = http.ProxyURL(u)
	return nil
}

// useCertificate makes t use the client certificate of a, if there is one.
func useCertificate(t *http.Transport, a Auth, protocol string) error {
	switch {
	case len(a.Certificate) == 0 && a.CertificateKey.IsZero():
		return nil
	case protocol != "https":
		return errors.New("a client certificate does not work over " + protocol)
	case len(a.Certificate) == 0 || a.CertificateKey.IsZero():
		return errors.New("a client certificate needs both the certificate and its key")
	}
	pair, err := tls.X509KeyPair(a.Certificate, a.CertificateKey.Reveal())
	if err != nil {
		return fmt.Errorf("the client certificate cannot be used: %w", err)
	}
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	return nil
}

// isAzure reports whether host is Azure DevOps, which requires multi_ack.
func isAzure(host string) bool {
	host = strings.ToLower(host)
	return strings.HasSuffix(host, "dev.azure.com") || strings.HasSuffix(host, ".visualstudio.com")
}

// A bearer sends a token as a bearer, and as a password where the server accepts no bearer:
// GitHub and GitLab accept tokens as passwords.
type bearer struct {
	token    fleet.Secret
	password atomic.Bool
}

var _ githttp.AuthMethod = (*bearer)(nil)

// Name implements transport.AuthMethod.
func (b *bearer) Name() string { return "bearer" }

// String implements transport.AuthMethod.
func (b *bearer) String() string { return "bearer" }

// SetAuth implements githttp.AuthMethod.
func (b *bearer) SetAuth(r *http.Request) {
	if b.password.Load() {
		r.SetBasicAuth(tokenUser, string(b.token.Reveal()))
		return
	}
	r.Header.Set("Authorization", "Bearer "+string(b.token.Reveal()))
}

// tokenUser is the user name that forges expect with a token as password.
const tokenUser = "x-access-token"

// httpAuth returns the authentication of requests. Nil: a client certificate is enough.
func httpAuth(a Auth) transport.AuthMethod {
	switch {
	case !a.Bearer.IsZero() && a.Username == "":
		return &bearer{token: a.Bearer}
	case !a.Bearer.IsZero():
		a.Token = a.Bearer
	case a.Username == "" && a.Password.IsZero() && a.Token.IsZero():
		return nil
	}
	user, secret := a.Username, a.Password
	if !a.Token.IsZero() {
		secret = a.Token
		if user == "" {
			user = tokenUser
		}
	}
	return &githttp.BasicAuth{Username: user, Password: string(secret.Reveal())}
}

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// checkRedirect refuses redirects to another host with credentials, redirects away from
// https, and too many redirects.
func (r *httpRemote) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("stopped after %d redirects, the last one to %s", maxRedirects, req.URL.Redacted())
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("%w to %s: it leaves https", errRedirect, req.URL.Redacted())
	}
	if (r.auth != nil || r.hasCertificate()) && !strings.EqualFold(req.URL.Host, via[0].URL.Host) {
		return fmt.Errorf("%w to %s: credentials are only for %s", errRedirect, req.URL.Host, via[0].URL.Host)
	}
	return nil
}

func (r *httpRemote) open(ctx context.Context, service string) (session, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	ep := r.endpoint // go-git changes it on a redirect
	s := &httpSession{remote: r}
	var err error
	if service == uploadPack {
		s.up, err = r.client.NewUploadPackSession(&ep, r.auth)
		s.both = s.up
	} else {
		s.down, err = r.client.NewReceivePackSession(&ep, r.auth)
		s.both = s.down
	}
	return s, err
}

func (r *httpRemote) hasCertificate() bool {
	return r.pool.TLSClientConfig != nil && len(r.pool.TLSClientConfig.Certificates) > 0
}

type httpSession struct {
	remote *httpRemote

	both transport.Session
	up   transport.UploadPackSession
	down transport.ReceivePackSession
}

func (s *httpSession) refs(ctx context.Context) (*packp.AdvRefs, error) {
	return signedIn(ctx, s.remote, func() (*packp.AdvRefs, error) { return s.both.AdvertisedReferencesContext(ctx) })
}

// ready makes sure that there is a credential.
func (r *httpRemote) ready(ctx context.Context) error {
	if in, ok := r.auth.(*installation); ok {
		return in.ready(ctx)
	}
	return nil
}

// signedIn calls ask, and calls it again where another form of the credential may work: a
// password where the server accepts no bearer, a new token of an app where the old one was
// revoked.
func signedIn[T any](ctx context.Context, r *httpRemote, ask func() (T, error)) (T, error) {
	got, err := ask()
	if !errors.Is(err, transport.ErrAuthenticationRequired) {
		return got, err
	}
	switch a := r.auth.(type) {
	case *bearer:
		if a.password.Swap(true) {
			return got, err
		}
		again, second := ask()
		if second != nil {
			a.password.Store(false)
			return got, err
		}
		return again, nil
	case *installation:
		a.forget()
		if err := a.ready(ctx); err != nil {
			return got, err
		}
		return ask()
	}
	return got, err
}

func (s *httpSession) fetch(ctx context.Context, req *packp.UploadPackRequest) (io.ReadCloser, error) {
	if s.remote.multiACK.Load() {
		if err := req.Capabilities.Set(capability.MultiACK); err != nil {
			return nil, err
		}
	}
	res, err := s.up.UploadPack(ctx, req)
	if e, ok := errors.AsType[*githttp.Err](unexpected(err)); !ok || e.StatusCode() != http.StatusBadRequest || s.remote.multiACK.Load() {
		return res, err
	}
	if err := req.Capabilities.Set(capability.MultiACK); err != nil {
		return nil, err
	}
	res, second := s.up.UploadPack(ctx, req)
	if second != nil {
		return nil, err
	}
	s.remote.multiACK.Store(true)
	return res, nil
}

func (s *httpSession) push(ctx context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	return s.down.ReceivePack(ctx, req)
}

func (s *httpSession) close() { _ = s.both.Close() }

package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// errRedirect says that a server sent a request with credentials elsewhere.
var errRedirect = errors.New("refused a redirect")

type httpRemote struct {
	endpoint transport.Endpoint
	auth     transport.AuthMethod
	client   transport.Transport
	pool     *http.Transport
}

func newHTTPRemote(ep *transport.Endpoint, auth Auth, o Options) (remote, error) {
	if !auth.Key.IsZero() {
		return nil, errors.New("an SSH key does not work over " + ep.Protocol)
	}
	r := &httpRemote{endpoint: *ep}
	r.endpoint.User, r.endpoint.Password = "", ""
	if !auth.isZero() {
		if ep.Protocol == "http" && !isLoopback(ep.Host) {
			return nil, errors.New("credentials are not sent over plain http: use https")
		}
		r.auth = basicAuth(auth)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
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
	r.pool = t
	r.client = githttp.NewClient(&http.Client{
		Transport:     limitedTransport{t, o.Budget.Received},
		CheckRedirect: r.checkRedirect,
	})
	return r, nil
}

func basicAuth(a Auth) transport.AuthMethod {
	user, secret := a.Username, a.Password
	if !a.Token.IsZero() {
		secret = a.Token
		if user == "" {
			user = "x-access-token"
		}
	}
	return &githttp.BasicAuth{Username: user, Password: string(secret.Reveal())}
}

// checkRedirect refuses to go to another host with credentials. go-git itself
// refuses to leave https.
func (r *httpRemote) checkRedirect(req *http.Request, via []*http.Request) error {
	if r.auth != nil && !strings.EqualFold(req.URL.Host, via[0].URL.Host) {
		return fmt.Errorf("%w to %s: credentials are only for %s", errRedirect, req.URL.Host, via[0].URL.Host)
	}
	return nil
}

// limitedTransport bounds the bytes of each answer.
type limitedTransport struct {
	base  http.RoundTripper
	limit int64
}

// RoundTrip implements http.RoundTripper.
func (t limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	limit := t.limit
	if res.StatusCode >= 300 {
		limit = 64 << 10 // words, not content
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{bounded(res.Body, limit), res.Body}
	return res, nil
}

func (r *httpRemote) open(_ context.Context, service string) (session, error) {
	ep := r.endpoint // go-git changes it on a redirect
	s := &httpSession{}
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

type httpSession struct {
	both transport.Session
	up   transport.UploadPackSession
	down transport.ReceivePackSession
}

func (s *httpSession) refs(ctx context.Context) (*packp.AdvRefs, error) {
	return s.both.AdvertisedReferencesContext(ctx)
}

func (s *httpSession) fetch(ctx context.Context, req *packp.UploadPackRequest) (io.ReadCloser, error) {
	return s.up.UploadPack(ctx, req)
}

func (s *httpSession) push(ctx context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error) {
	return s.down.ReceivePack(ctx, req)
}

func (s *httpSession) close() { _ = s.both.Close() }

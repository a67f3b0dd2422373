package git

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"regexp"
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

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// checkRedirect refuses to go to another host with credentials, and to go on for
// ever. go-git itself refuses to leave https.
func (r *httpRemote) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("stopped after %d redirects, the last one to %s", maxRedirects, req.URL.Redacted())
	}
	if r.auth != nil && !strings.EqualFold(req.URL.Host, via[0].URL.Host) {
		return fmt.Errorf("%w to %s: credentials are only for %s", errRedirect, req.URL.Host, via[0].URL.Host)
	}
	return nil
}

// limitedTransport bounds the bytes of each answer, and tells answers of Git from
// those of something between.
type limitedTransport struct {
	base  http.RoundTripper
	limit int64
}

// maxPage is how many bytes of an answer that is no content are read.
const maxPage = 64 << 10

// RoundTrip implements http.RoundTripper.
func (t limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := res.Body
	page := isHTML(res.Header)
	switch {
	case page && res.StatusCode < 300:
		defer body.Close()
		return nil, &pageError{titleOf(body)}
	case page:
		defer body.Close()
		res.Body = io.NopCloser(strings.NewReader(titleOf(body)))
	case res.StatusCode >= 300:
		res.Body = readCloser{io.LimitReader(body, maxPage), body} // words, not content
	default:
		res.Body = readCloser{bounded(body, t.limit), body}
	}
	return res, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// A pageError says that a web page came in place of Git's answer.
type pageError struct{ title string }

func (e *pageError) Error() string {
	if e.title == "" {
		return "the answer is a web page and not Git's: something between answers, or the URL is not that of the repository"
	}
	return fmt.Sprintf("the answer is a web page and not Git's, with the title %q: something between answers, or the URL is not that of the repository", e.title)
}

func isHTML(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)

// titleOf returns the title of a web page on one line of at most 200 letters.
func titleOf(page io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(page, maxPage)) // what came is enough
	m := title.FindSubmatch(b)
	if m == nil {
		return ""
	}
	words := []rune(strings.Join(strings.Fields(html.UnescapeString(strings.ToValidUTF8(string(m[1]), "?"))), " "))
	return string(words[:min(len(words), 200)])
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

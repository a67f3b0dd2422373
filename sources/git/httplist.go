package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// infoRefs ends the URL of the refs of a repository.
const infoRefs = "/info/refs"

func (r *httpRemote) list(ctx context.Context, prefixes []string) (listing, error) {
	if err := r.ready(ctx); err != nil {
		return listing{}, err
	}
	return signedIn(ctx, r, func() (listing, error) { return r.ask(ctx, prefixes) })
}

// ask asks for refs with the current credentials.
func (r *httpRemote) ask(ctx context.Context, prefixes []string) (listing, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.endpoint.String()+infoRefs+"?service="+uploadPack, nil)
	if err != nil {
		return listing{}, err
	}
	req.Header.Set("Accept", "*/*")
	res, err := r.do(r.web, req)
	if err != nil {
		return listing{}, err
	}
	defer answer{res}.Close()
	// Redirects are followed here, as git does: later requests go to the new address.
	base, ok := strings.CutSuffix(res.Request.URL.Path, infoRefs)
	if !ok {
		return listing{}, fmt.Errorf("%w to %s: it is not the address of a repository", errRedirect, res.Request.URL.Redacted())
	}
	return listed(res.Body, prefixes, func(request []byte) (io.ReadCloser, error) {
		to := *res.Request.URL
		to.Path, to.RawPath, to.RawQuery, to.User = base+"/"+uploadPack, "", "", nil
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(request))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/x-"+uploadPack+"-request")
		req.Header.Set("Accept", "application/x-"+uploadPack+"-result")
		stay := *r.web
		stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		res, err := r.do(&stay, req) //nolint:bodyclose // the reader of the answer closes it
		if err != nil {
			return nil, err
		}
		return answer{res}, nil
	})
}

// do sends a request of version 2 with the credentials.
func (r *httpRemote) do(c *http.Client, req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", capability.DefaultAgent())
	req.Header.Set("Git-Protocol", protocol2)
	if a, ok := r.auth.(githttp.AuthMethod); ok {
		a.SetAuth(req)
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	return res, githttp.NewErr(res)
}

// An answer reads the rest of its body when it is closed, if that is short: a connection
// can be used again only when nothing is left on it.
type answer struct{ *http.Response }

// Read implements io.Reader.
func (a answer) Read(p []byte) (int, error) { return a.Body.Read(p) }

// Close implements io.Closer.
func (a answer) Close() error {
	_, _ = io.CopyN(io.Discard, a.Body, 4<<10)
	return a.Body.Close()
}

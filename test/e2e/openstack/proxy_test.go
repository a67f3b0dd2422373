package openstack_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/test/lab/openstack/lab"
)

// A call is a request that the agent made of the cloud.
type call struct {
	Service string
	Method  string
	Path    string // with {id} for each id
	Status  int
}

func (c call) String() string {
	return fmt.Sprintf("%s %s %s: %d", c.Method, c.Service, c.Path, c.Status)
}

// changes reports whether it changed anything. Asking for a token does not.
func (c call) changes() bool { return c.Method != http.MethodGet && c.Service != "identity" }

// A proxy stands before the services of the lab, counts what the agent asks of
// them and cuts the line on demand. The cloud's own links lead through it.
type proxy struct {
	AuthURL string

	rename *strings.Replacer // addresses of services to those of the proxy

	mu     sync.Mutex
	calls  []call
	cut    bool              // nothing gets through
	answer func(c call) bool // false: the answer is lost, and the line is cut
}

func newProxy(t testing.TB, p *lab.Project) *proxy {
	t.Helper()
	x := &proxy{answer: func(call) bool { return true }}
	var names []string
	a := p.Admin
	for _, s := range []struct{ name, endpoint string }{
		{"identity", a.Identity.Endpoint},
		{"compute", a.Compute.Endpoint},
		{"network", a.Network.Endpoint},
		{"image", a.Image.Endpoint},
		{"volume", a.BlockStorage.Endpoint},
		{"load-balancer", a.LoadBalancer.Endpoint},
	} {
		to, err := url.Parse(s.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(x.handler(s.name, &url.URL{Scheme: to.Scheme, Host: to.Host}))
		t.Cleanup(server.Close)
		names = append(names, to.Host, strings.TrimPrefix(server.URL, "http://"))
	}
	x.rename = strings.NewReplacer(names...)
	x.AuthURL = x.rename.Replace(p.AuthURL)
	return x
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)

func (x *proxy) handler(service string, to *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // links in answers are made from it
			r.Out.Header.Del("Accept-Encoding")
			if x.isCut() {
				panic(http.ErrAbortHandler)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			_ = r.Body.Close()
			if r.Request.Method != http.MethodHead {
				body = []byte(x.rename.Replace(string(body)))
				r.Header.Set("Content-Length", strconv.Itoa(len(body)))
				r.ContentLength = int64(len(body))
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			c := call{Service: service, Method: r.Request.Method, Path: ids.ReplaceAllString(r.Request.URL.Path, "{id}"), Status: r.StatusCode}
			if !x.record(c) {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

func (x *proxy) isCut() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.cut
}

// record takes note of c and reports whether its answer gets through.
func (x *proxy) record(c call) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cut {
		return false
	}
	x.calls = append(x.calls, c)
	x.cut = !x.answer(c)
	return !x.cut
}

// onAnswer has f see each call after it was done; where it returns false, the
// answer is lost and the line stays cut until mend.
func (x *proxy) onAnswer(f func(call) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answer = f
}

func (x *proxy) mend() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cut = false
}

// take returns the calls since the last take.
func (x *proxy) take() []call {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.calls
	x.calls = nil
	return out
}

// peek returns the calls since the last take, and leaves them there.
func (x *proxy) peek() []call {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.calls)
}

// summary counts calls by what they ask, the most frequent first.
func summary(calls []call) string {
	count := make(map[call]int)
	for _, c := range calls {
		count[c]++
	}
	var lines []string
	for c, n := range count {
		lines = append(lines, fmt.Sprintf("%5d %s", n, c))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

func count(calls []call, which func(call) bool) int {
	n := 0
	for _, c := range calls {
		if which(c) {
			n++
		}
	}
	return n
}

package engine_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/moby/moby/api/types/container"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/docker/dockertest"
	"fairlead.dev/providers/infrastructure/docker/engine"
)

func newClient(t *testing.T, base http.RoundTripper) *engine.Client {
	t.Helper()
	c, err := engine.New(engine.Options{Host: "unix:///test.sock", Base: base})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestVersions: requests have the newest version that both sides know.
func TestVersions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ oldest, newest, want string }{
		"podman 4":        {"1.24", "1.41", ""},
		"Docker 29":       {"1.44", "1.52", ""},
		"a later one":     {"1.44", "1.99", ""},
		"too old":         {"1.12", "1.39", "is too new. Maximum supported API version is 1.39"},
		"a far later one": {"1.90", "1.99", "is too old. Minimum supported API version is 1.90"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dockertest.New()
			d.Speaks(tc.oldest, tc.newest)
			info, err := newClient(t, d).Info(t.Context())
			if tc.want == "" && (err != nil || info.ServerVersion != "28.0") || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Info = %q, %v, want the error %q", info.ServerVersion, err, tc.want)
			}
		})
	}
}

// roundTripper answers requests but those for the version.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Path == "/_ping" {
		return dockertest.New().RoundTrip(q)
	}
	return f(q)
}

// answer is one whose body ends with an error.
func answer(status int, text string, end error) roundTripper {
	return func(*http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(text), iotest.ErrReader(end))
		return &http.Response{StatusCode: status, Header: make(http.Header), Body: io.NopCloser(body)}, nil
	}
}

func fails(err error) roundTripper {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// TestKinds: an error says whether a request may have been carried out, in the words of the daemon.
func TestKinds(t *testing.T) {
	t.Parallel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "unix", Err: err} }
	for name, tc := range map[string]struct {
		base       roundTripper
		kind, look fleet.ErrorKind // of a change, and of a request that changes nothing
		says       string
	}{
		"no daemon":      {fails(dial(syscall.ENOENT)), fleet.Unavailable, fleet.Unavailable, "no such file"},
		"no permission":  {fails(dial(syscall.EACCES)), fleet.Unavailable, fleet.Unavailable, "permission denied"},
		"not listening":  {fails(dial(syscall.ECONNREFUSED)), fleet.Unavailable, fleet.Unavailable, "connection refused"},
		"silent":         {fails(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}), fleet.Unanswered, fleet.Unavailable, "timeout"},
		"reset":          {fails(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), fleet.Unanswered, fleet.Unavailable, "connection reset"},
		"cut off":        {answer(200, `{"Id":`, io.ErrUnexpectedEOF), fleet.Unanswered, fleet.Unavailable, "unexpected EOF"},
		"of another API": {answer(200, "<html>", io.EOF), fleet.Unavailable, fleet.Unavailable, "none of Docker's API"},
		"a redirection":  {answer(302, "Found", io.EOF), fleet.Unknown, fleet.Unknown, "Found"},
		"refused":        {answer(409, `{"message":"dial unix: connection refused"}`, io.EOF), fleet.Conflict, fleet.Conflict, "dial unix: connection refused"},
		"a failure":      {answer(500, `{"message":"no space"}`, io.EOF), fleet.Unanswered, fleet.Unavailable, "no space"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, tc.base)
			_, changed := c.Create(t.Context(), "x", &container.Config{Image: "y"}, nil)
			_, looked := c.Info(t.Context())
			for err, want := range map[error]fleet.ErrorKind{engine.Wrap("create it", changed): tc.kind, engine.WrapLook("look", looked): tc.look} {
				if fleet.KindOf(err) != want || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%v (kind %s), want kind %s with %q", err, fleet.KindOf(err), want, tc.says)
				}
			}
		})
	}
}

// TestNoSpans: a request is no span of the trace that it belongs to. Package transport reports it.
func TestNoSpans(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test").Start(t.Context(), "an observation")
	if _, err := newClient(t, dockertest.New()).Info(ctx); err != nil {
		t.Fatal(err)
	}
	span.End()
	if n := len(spans.Ended()); n != 1 {
		t.Errorf("%d spans, want that of the test", n)
	}
}

// TestNetworkIsCreatedOnce: requests that need a network at the same time do not create two.
func TestNetworkIsCreatedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := dockertest.New()
		c := newClient(t, d)
		d.Watch(func(c dockertest.Call) {
			if c.Path != "/_ping" { // for which Moby's client holds a lock
				time.Sleep(time.Second)
			}
		})
		var creating sync.WaitGroup
		for range 3 {
			creating.Go(func() {
				if err := c.EnsureNetwork(t.Context(), "kind"); err != nil {
					t.Error(err)
				}
			})
		}
		creating.Wait()
		created := slices.DeleteFunc(d.Calls(), func(c dockertest.Call) bool { return c.Path != "/networks/create" })
		if len(created) != 1 {
			t.Errorf("%d networks were created, want 1", len(created))
		}
	})
}

package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// server answers with each of answers in turn, the last for ever: "429 Retry-After".
type server struct {
	answers []string
	bodies  []string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
	}
	s.bodies = append(s.bodies, body)
	answer := s.answers[min(len(s.bodies), len(s.answers))-1]
	var status int
	_, err := fmt.Sscan(answer, &status)
	if err != nil {
		return nil, io.EOF
	}
	resp := &http.Response{StatusCode: status, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(""))}
	if _, after, ok := strings.Cut(answer, " "); ok {
		resp.Header.Set("Retry-After", after)
	}
	return resp, nil
}

func request(t *testing.T, ctx context.Context, method string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://cloud.test/a?token=x", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		method  string
		answers []string
		status  int
		sent    int
		took    time.Duration
	}{
		"at once":              {"POST", []string{"200"}, 200, 1, 0},
		"too many, then none":  {"POST", []string{"429", "429", "200"}, 200, 3, 3 * time.Second},
		"it says how long":     {"POST", []string{"429 7", "200"}, 200, 2, 7 * time.Second},
		"too long":             {"POST", []string{"429 31", "200"}, 429, 1, 0},
		"for ever":             {"GET", []string{"429"}, 429, 4, 7 * time.Second},
		"away, to look":        {"GET", []string{"503", "200"}, 200, 2, time.Second},
		"away, to change":      {"POST", []string{"503", "200"}, 503, 1, 0},
		"a failure is no wait": {"GET", []string{"500", "200"}, 500, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{answers: c.answers}
			var told []int
			client := transport.New(transport.Options{Base: s, Sent: func(c transport.Call) { told = append(told, c.Status) }})
			began := time.Now()
			resp, err := client.RoundTrip(request(t, t.Context(), c.method))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != c.status || len(s.bodies) != c.sent || time.Since(began) != c.took || len(told) != c.sent {
				t.Errorf("%s: %d after %d requests, %d told, in %s, want %d after %d in %s", name, resp.StatusCode, len(s.bodies), len(told), time.Since(began), c.status, c.sent, c.took)
			}
			if got := strings.Join(s.bodies, ""); got != strings.Repeat("body", c.sent) {
				t.Errorf("%s: the bodies were %q", name, s.bodies)
			}
		})
	}
}

// TestUnsent: what ends before the request is sent says so.
func TestUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answers: []string{"429", "200"}}
		client := transport.New(transport.Options{Base: s})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := client.RoundTrip(request(t, ctx, "POST"))
		if kind, ok := transport.KindOf(err); !ok || kind != fleet.Unavailable || len(s.bodies) != 1 {
			t.Errorf("given up while waiting: %v after %d requests", err, len(s.bodies))
		}
		_, err = client.RoundTrip(request(t, ctx, "POST"))
		if kind, ok := transport.KindOf(err); !ok || kind != fleet.Unavailable || len(s.bodies) != 1 {
			t.Errorf("given up before: %v after %d requests", err, len(s.bodies))
		}
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := transport.New(transport.Options{Base: &server{answers: []string{"200"}}, PerSecond: 2})
		began := time.Now()
		for range 15 { // five come at once
			resp, err := client.RoundTrip(request(t, t.Context(), "GET"))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		if took := time.Since(began).Round(time.Millisecond); took != 5*time.Second {
			t.Errorf("15 requests at two a second took %s, want 5s", took)
		}
	})
}

func TestKindOf(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for name, c := range map[string]struct {
		err  error
		want fleet.ErrorKind
	}{
		"unsent":         {&url.Error{Op: "Post", Err: &transport.UnsentError{Err: context.Canceled}}, fleet.Unavailable},
		"no name":        {&url.Error{Op: "Post", Err: &net.DNSError{}}, fleet.Unavailable},
		"refused":        {&url.Error{Op: "Post", Err: dial}, fleet.Unavailable},
		"look, reset":    {&url.Error{Op: "Get", Err: io.EOF}, fleet.Unavailable},
		"change, reset":  {&url.Error{Op: "Post", Err: io.EOF}, fleet.Unanswered},
		"body cut off":   {io.ErrUnexpectedEOF, fleet.Unanswered},
		"gave up":        {context.DeadlineExceeded, fleet.Unanswered},
		"something else": {errors.New("x"), fleet.Unknown},
	} {
		if got, ok := transport.KindOf(c.err); got != c.want || ok == (c.want == fleet.Unknown) {
			t.Errorf("%s: %s, %t, want %s", name, got, ok, c.want)
		}
	}
	if transport.Look(fleet.Unanswered) != fleet.Unavailable || transport.Look(fleet.Conflict) != fleet.Conflict {
		t.Error("Look is wrong")
	}
}

func TestPlain(t *testing.T) {
	err := transport.Plain(fmt.Errorf("x: %w", &url.Error{Op: "Get", URL: "https://u:pw@cloud.test/v3?token=s3cret", Err: io.EOF}))
	if got := err.Error(); got != "GET https://cloud.test/v3: EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("Plain = %q", got)
	}
	if plain := errors.New("x"); transport.Plain(plain) != plain { //nolint:errorlint // the very same
		t.Error("an error without a URL changed")
	}
}

func TestText(t *testing.T) {
	message := func(o map[string]json.RawMessage) (s string) {
		_ = json.Unmarshal(o["message"], &s)
		return s
	}
	for body, want := range map[string]string{
		`{"message": "no\n  room"}`: "no room",
		`{"other": 1}`:              `{"other": 1}`,
		"<html><head><title>502</title></head><body><h1>Bad  Gateway</h1></body></html>": "Bad Gateway",
		"":                        "",
		strings.Repeat("é", 1000): strings.Repeat("é", 300) + "…",
	} {
		if got := transport.Text([]byte(body), message); got != want {
			t.Errorf("Text(%.40q) = %.40q, want %.40q", body, got, want)
		}
	}
}

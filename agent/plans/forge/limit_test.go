package forge_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// recorded answers each request with a status and a header, without a network.
type recorded struct {
	forge.API
	code   int
	header http.Header
	body   string
}

func (recorded) URL() string { return "https://git.example.com" }
func (recorded) App() string { return "" }

func (r recorded) Do(context.Context, *http.Request, git.Authorization) (*http.Response, error) {
	w := httptest.NewRecorder()
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.code)
	_, _ = w.WriteString(r.body)
	return w.Result(), nil
}

func TestLimits(t *testing.T) {
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	const secondary = `{"message":"You have exceeded a secondary rate limit"}`
	for name, c := range map[string]struct {
		code int
		h    http.Header
		body string
		want time.Duration // 0: it is no limit
	}{
		"seconds":                   {429, header("Retry-After", "90"), "", 90 * time.Second},
		"a date":                    {429, header("Retry-After", "Sat, 01 Jan 2000 00:02:00 GMT"), "", 2 * time.Minute},
		"a date of another clock":   {429, header("Retry-After", "Sat, 01 Jan 2000 01:02:00 GMT", "Date", "Sat, 01 Jan 2000 01:00:00 GMT"), "", 2 * time.Minute},
		"github's limit of an hour": {403, header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946685700"), "", 15 * time.Minute},
		"github's secondary limit":  {403, header("Retry-After", "60"), secondary, time.Minute},
		"the same without a time":   {403, nil, secondary, time.Minute},
		// GitHub: if Retry-After is absent and X-RateLimit-Remaining is not 0, wait at least one minute.
		"the same, with the header of the other limit": {403, header("X-RateLimit-Remaining", "4800", "X-RateLimit-Reset", "946687800"), secondary, time.Minute},
		"gitlab's":                     {429, header("RateLimit-Remaining", "0", "RateLimit-Reset", "946684830"), "", 30 * time.Second},
		"no time":                      {429, nil, "", time.Minute},
		"a time that has passed":       {429, header("X-RateLimit-Reset", "1"), "", time.Second},
		"a time that is far":           {429, header("Retry-After", "86400000000"), "", time.Hour},
		"a server that names a time":   {503, header("Retry-After", "5"), "", 5 * time.Second},
		"a server that names no time":  {503, nil, "", 0},
		"no right":                     {403, header("X-RateLimit-Remaining", "4999", "X-RateLimit-Reset", "946685700"), `{"message":"no"}`, 0},
		"not found, while some remain": {404, header("Retry-After", "5"), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, kind := range forge.Kinds() {
					f, err := forge.New(forge.Options{Kind: kind, Repository: "https://git.example.com/team/fleet.git", API: func(string) (forge.API, error) {
						return recorded{code: c.code, header: c.h, body: c.body}, nil
					}})
					if err != nil {
						t.Fatal(err)
					}
					err = f.SetStatus(t.Context(), forgetest.Hash(1), forge.Status{Name: "x", Verdict: forge.Success})
					l, limited := errors.AsType[*forge.Limited](err)
					if limited != (c.want > 0) || limited && (time.Until(l.Until) != c.want || fleet.KindOf(err) != fleet.Unavailable) {
						t.Errorf("%s: %v (%s), until %+v, want %s from now", kind, err, fleet.KindOf(err), l, c.want)
					}
				}
			})
		})
	}
}

// endless answers with one more page, until it was asked too often.
type endless struct {
	recorded

	calls *int
}

func (e endless) Do(ctx context.Context, r *http.Request, as git.Authorization) (*http.Response, error) {
	if *e.calls++; *e.calls > 1000 {
		return nil, fleet.Errorf(fleet.Invalid, "list", "asked for ever")
	}
	return e.recorded.Do(ctx, r, as)
}

// A list without end is an error.
func TestListEnds(t *testing.T) {
	more := http.Header{"Link": {`<https://git.example.com/2>; rel="next"`}, "X-Next-Page": {"2"}}
	for _, kind := range forge.Kinds() {
		calls := 0
		f, err := forge.New(forge.Options{Kind: kind, Repository: "https://git.example.com/team/fleet.git", API: func(string) (forge.API, error) {
			return endless{recorded{code: 200, header: more, body: `[{"number": 1, "iid": 1}]`}, &calls}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Open(t.Context()); fleet.KindOf(err) != fleet.Exhausted {
			t.Errorf("%s: %v after %d requests", kind, err, calls)
		}
	}
}

package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// An API sends requests with a credential. See git.API.
type API interface {
	URL() string
	// App returns the id of the GitHub App that the credential is; empty: it is none.
	App() string
	Do(ctx context.Context, r *http.Request, as git.Authorization) (*http.Response, error)
}

var _ API = (*git.API)(nil)

const (
	// patience is how long one answer may take.
	patience = 30 * time.Second
	// maxPages bounds a list.
	maxPages = 100
	// maxWords bounds the forge's own words in an error, in characters.
	maxWords = 300
)

// A client asks one API.
type client struct {
	api API
	as  git.Authorization
	// accept is the media type that answers are asked for in; empty: JSON.
	accept string
}

// call sends in as JSON, unless it is nil, and decodes the answer into out, unless that is
// nil. It returns the header of the answer.
func (c client) call(ctx context.Context, method, path string, in, out any) (http.Header, error) {
	op := strings.ToLower(method) + " " + path + " of the forge"
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("there was no answer within %s", patience))
	defer cancel()
	var body io.Reader = http.NoBody
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.api.URL()+path, body)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	req.Header.Set("User-Agent", "fairlead")
	req.Header.Set("Accept", "application/json")
	if c.accept != "" {
		req.Header.Set("Accept", c.accept)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.api.Do(ctx, req, c.as)
	if err != nil {
		return nil, unanswered(method, op, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, unanswered(method, op, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		no := &statusError{code: res.StatusCode, words: words(answer)}
		now := time.Now()
		if rest, limited := restOf(no.code, res.Header, no.words, now); limited {
			return nil, fleet.Errorf(fleet.Unavailable, op, "%w", &Limited{Until: now.Add(rest), why: no})
		}
		return nil, fleet.Errorf(kindOfStatus(method, no.code), op, "%w", no)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			return nil, fleet.Errorf(fleet.Unavailable, op, "the answer is not what this forge gives: %w", err)
		}
	}
	return res.Header, nil
}

// A statusError is an HTTP response other than 2xx.
type statusError struct {
	code  int
	words string
}

func (r *statusError) Error() string { return fmt.Sprintf("HTTP %d: %s", r.code, r.words) }

// words returns what a forge says of an error, on one line.
func words(answer []byte) string {
	var said map[string]any
	text := string(answer)
	if json.Unmarshal(answer, &said) == nil {
		text = saidIn(said, text)
	}
	text = fleet.PlainText(strings.Join(strings.Fields(text), " "))
	if r := []rune(text); len(r) > maxWords {
		text = string(r[:maxWords]) + "…"
	}
	return text
}

// saidIn returns the words in what forges answer: a message, an error, which may have one, or
// the first of errors.
func saidIn(said map[string]any, otherwise string) string {
	for _, key := range []string{"message", "error", "errors"} {
		switch v := said[key].(type) {
		case nil:
		case map[string]any:
			return saidIn(v, fmt.Sprint(v))
		case []any:
			if len(v) > 0 {
				if first, ok := v[0].(map[string]any); ok {
					return saidIn(first, fmt.Sprint(v))
				}
			}
			return fmt.Sprint(v)
		default:
			return fmt.Sprint(v)
		}
	}
	return otherwise
}

// unanswered returns err, of kind Unanswered where something may have been written.
func unanswered(method, op string, err error) error {
	switch k := kindOf(err); {
	case method == http.MethodGet || k == fleet.Invalid || k == fleet.Unauthorized:
		return fleet.Errorf(k, op, "%w", err)
	default:
		return fleet.Errorf(fleet.Unanswered, op, "%w", err)
	}
}

func kindOfStatus(method string, code int) fleet.ErrorKind {
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fleet.Unauthorized
	case code == http.StatusNotFound, code == http.StatusGone:
		return fleet.NotFound
	case code == http.StatusConflict, code == http.StatusPreconditionFailed:
		return fleet.Conflict
	case code == http.StatusTooManyRequests, code < 400:
		return fleet.Unavailable
	case code < 500:
		return fleet.Invalid
	case method != http.MethodGet:
		return fleet.Unanswered // a gateway may answer for a forge that has written
	}
	return fleet.Unavailable
}

// kindOf returns the kind of err; Unavailable where it has none.
func kindOf(err error) fleet.ErrorKind {
	if k := fleet.KindOf(err); k != "" && k != fleet.Unknown {
		return k
	}
	return fleet.Unavailable
}

// pages calls get with the numbers of pages from 1, until it returns false.
func pages(what string, get func(page int) (more bool, err error)) error {
	for page := 1; page <= maxPages; page++ {
		if more, err := get(page); err != nil || !more {
			return err
		}
	}
	return fleet.Errorf(fleet.Exhausted, "list "+what, "there are more than %d pages", maxPages)
}

// linksNext reports whether a header names a next page. Its address is not followed.
func linksNext(h http.Header) bool {
	for _, link := range h.Values("Link") {
		if strings.Contains(link, `rel="next"`) {
			return true
		}
	}
	return false
}

package git

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"fairlead.dev/fleet"
)

// An apiError is an error answer of GitHub.
type apiError struct {
	code int
	said string
	why  string        // a possible cause
	skew time.Duration // how far GitHub's clock is ahead
}

func (e *apiError) Error() string {
	text := fmt.Sprintf("GitHub gives the app no token: %s (HTTP %d)", e.said, e.code)
	if e.why != "" {
		text += ": " + e.why
	}
	return text
}

// read decodes an answer into out, and returns GitHub's time.
func (i *installation) read(res *http.Response, out any) (time.Time, error) {
	now := time.Now()
	at, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		at = now.Add(i.ahead)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return at, fmt.Errorf("cannot read GitHub's answer: %w", err)
	}
	if res.StatusCode < 300 {
		if err := json.Unmarshal(body, out); err != nil {
			return at, fleet.Errorf(fleet.Unavailable, "ask GitHub for a token", "the answer is not GitHub's: %w", err)
		}
		return at, nil
	}
	var words struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &words) // the page of a proxy has none
	e := &apiError{code: res.StatusCode, said: words.Message, skew: at.Sub(now.Add(i.ahead))}
	if e.said == "" {
		e.said = http.StatusText(e.code)
	}
	kind := fleet.Unauthorized
	switch pause, busy := pauseOf(res.Header, at); {
	case busy && (e.code == http.StatusForbidden || e.code == http.StatusTooManyRequests):
		kind = fleet.Unavailable
		i.rest = now.Add(pause)
		e.why = "it asks to be left alone for " + pause.Round(time.Second).String()
	case e.code >= 500, e.code == http.StatusTooManyRequests, e.code == http.StatusRequestTimeout:
		kind = fleet.Unavailable
	case e.code == http.StatusUnauthorized:
		e.why = "githubAppPrivateKey is not, or not any more, a key of the app that githubAppID names"
		if off := at.Sub(now).Abs().Round(time.Minute); off > 0 {
			e.why += fmt.Sprintf("; and the clock of this computer is %s off", off)
		}
	case e.code == http.StatusForbidden:
		e.why = "the installation is suspended, or may not be used from here"
	case e.code == http.StatusNotFound && i.number == "":
		e.why = fmt.Sprintf("the app is not installed for %q, which githubAppInstallationOwner names", i.app.Owner)
	case e.code == http.StatusNotFound:
		e.why = fmt.Sprintf("the app has no installation %s (any more)", i.number)
	}
	return at, &fleet.Error{Kind: kind, Op: "sign in", Err: e}
}

// pauseOf returns how long GitHub wants no requests, and whether it says so. Source:
// GitHub, "Rate limits for the REST API".
func pauseOf(h http.Header, now time.Time) (time.Duration, bool) {
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return min(max(time.Duration(min(s, 3600))*time.Second, time.Second), maxRest), true
	}
	if h.Get("X-RateLimit-Remaining") != "0" {
		return 0, false
	}
	reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil {
		return time.Minute, true
	}
	return min(max(time.Unix(reset, 0).Sub(now), time.Second), maxRest), true
}

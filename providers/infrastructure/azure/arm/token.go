package arm

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/driver/transport/logins"
)

// renewBefore is how long before its end a token is renewed.
const renewBefore = 5 * time.Minute

// A token is that of a principal, which lives an hour, or of a machine a day.
// Source: Microsoft identity platform, "OAuth 2.0 client credentials flow".
type token struct {
	credential Credential
	gate       *logins.Gate
	http       *http.Client

	mu    sync.Mutex
	text  string
	until time.Time
}

// get returns the token, or a new one.
func (t *token) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text != "" && time.Now().Before(t.until) {
		return t.text, nil
	}
	what, correct := t.credential.what()
	op := "get a token of " + what
	q, digest, err := t.credential.request(ctx, time.Now())
	if err != nil {
		return "", fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	if err := t.gate.Enter(digest); err != nil {
		return "", err
	}
	res, err := t.http.Do(q)
	if err != nil { // nothing was asked of ARM
		return "", fleet.Errorf(fleet.Unavailable, op, "%w", transport.Plain(err))
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, longestError))
	if err != nil {
		return "", fleet.Errorf(fleet.Unavailable, op, "%w", err)
	}
	var answer struct {
		Token       string  `json:"access_token"`
		Expires     seconds `json:"expires_in"`
		Description string  `json:"error_description"`
	}
	_ = json.Unmarshal(data, &answer) // what is no JSON has no token
	switch {
	case res.StatusCode == http.StatusOK && answer.Token != "":
		t.gate.Accepted()
		t.text, t.until = answer.Token, time.Now().Add(max(time.Duration(answer.Expires)*time.Second-renewBefore, renewBefore/5))
		return t.text, nil
	case res.StatusCode/100 == 4 && !t.passes(res.StatusCode):
		// The first line has the code; what follows are ids of the request.
		text, _, _ := strings.Cut(answer.Description, "\r\n")
		text, _, _ = strings.Cut(text, " Trace ID:")
		err := fleet.Errorf(fleet.Unauthorized, op, "%s (%s)", transport.Text([]byte(text), func(map[string]json.RawMessage) string { return "" }), correct)
		t.gate.Refused(digest, err)
		return "", err
	}
	return "", fleet.Errorf(fleet.Unavailable, op, "%s answers %s", q.URL.Host, res.Status)
}

// passes reports whether what answers with a status of a client's error may answer otherwise soon. The metadata of a VM
// has 404 and 410 while it is being updated.
// Source: Azure, "How to use managed identities for Azure resources on an Azure VM to acquire an access token", retries.
func (t *token) passes(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return true
	case http.StatusNotFound, http.StatusGone:
		return t.credential.Machine
	}
	return false
}

// seconds are a number, which the metadata of a VM writes as a text.
type seconds int

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(data []byte) error {
	n, _ := strconv.Atoi(strings.Trim(string(data), `"`)) // what is no number is over at once
	*s = seconds(n)
	return nil
}

// drop forgets a token that ARM refused.
func (t *token) drop(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text == text {
		t.text = ""
	}
}

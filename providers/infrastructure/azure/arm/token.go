package arm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/driver/transport/logins"
)

// renewBefore is how long before its end a token is renewed.
const renewBefore = 5 * time.Minute

// A token is that of a service principal, which lives an hour.
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
	c := t.credential
	sum := sha256.Sum256([]byte(c.Password))
	digest := hex.EncodeToString(sum[:])
	if err := t.gate.Enter(digest); err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.ID}, "client_secret": {c.Password}, "scope": {"https://" + c.Manager + "/.default"}}
	at := url.URL{Scheme: "https", Host: c.Login, Path: "/" + c.Tenant + "/oauth2/v2.0/token"}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	const op = "get a token of the service principal"
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
		Token       string `json:"access_token"`
		Expires     int    `json:"expires_in"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(data, &answer) // what is no JSON has no token
	switch {
	case res.StatusCode == http.StatusOK && answer.Token != "":
		t.gate.Accepted()
		t.text, t.until = answer.Token, time.Now().Add(max(time.Duration(answer.Expires)*time.Second-renewBefore, renewBefore/5))
		return t.text, nil
	case res.StatusCode/100 == 4 && res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusRequestTimeout:
		// The first line has the code; what follows are ids of the request.
		what, _, _ := strings.Cut(answer.Description, "\r\n")
		what, _, _ = strings.Cut(what, " Trace ID:")
		err := fleet.Errorf(fleet.Unauthorized, op, "%s (correct tenantID and clientID of the AzureClusterIdentity, and the password in its Secret)", transport.Text([]byte(what), func(map[string]json.RawMessage) string { return "" }))
		t.gate.Refused(digest, err)
		return "", err
	}
	return "", fleet.Errorf(fleet.Unavailable, op, "%s answers %s", c.Login, res.Status)
}

// drop forgets a token that ARM refused.
func (t *token) drop(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text == text {
		t.text = ""
	}
}

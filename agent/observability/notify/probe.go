package notify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"fairlead.dev/fleet"
)

// A Prober is a Sender that says, without a message, whether one would get there.
type Prober interface {
	// Probe returns what was found out, for people.
	Probe(ctx context.Context) (string, error)
}

var (
	_ Prober = slack{}
	_ Prober = teams{}
	_ Prober = matrix{}
	_ Prober = webhook{}
	_ Prober = email{}
)

// unproved is what is found out of a target that takes messages and nothing else.
const unproved = "it is reached; whether it takes messages shows with the first"

// reach asks for nothing at the root of the address, without a credential. Whatever is answered
// shows that somebody is there.
func (c client) reach(ctx context.Context) (string, error) {
	root := &url.URL{Scheme: c.address.Scheme, Host: c.address.Host, Path: "/"}
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, root.String(), http.NoBody)
	if err != nil {
		return "", errors.New("its address cannot be asked")
	}
	a, err := c.http.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the URL
		}
		return "", fleet.Errorf(fleet.Unavailable, "reach it", "%w", err)
	}
	_ = a.Body.Close()
	return unproved, nil
}

// Probe implements Prober.
func (t teams) Probe(ctx context.Context) (string, error) { return t.reach(ctx) }

// Probe implements Prober.
func (w webhook) Probe(ctx context.Context) (string, error) { return w.reach(ctx) }

// Probe implements Prober. A bot may ask who it is, and is refused with 200.
// Source: https://docs.slack.dev/reference/methods/auth.test.
func (s slack) Probe(ctx context.Context) (string, error) {
	if s.token.IsZero() {
		return s.reach(ctx)
	}
	answer, err := s.send(ctx, http.MethodPost, "../auth.test", jsonType, map[string]string{}, map[string]string{"Authorization": "Bearer " + string(s.token.Reveal())})
	if err != nil {
		return "", probed(err)
	}
	var said struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		User  string `json:"user"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || !said.OK {
		return "", fleet.Errorf(fleet.Unauthorized, "ask who writes", "it says %q", fleet.PlainText(said.Error))
	}
	return "it takes the token of " + fleet.PlainText(said.User), nil
}

// Probe implements Prober.
// Source: https://spec.matrix.org/latest/client-server-api/#get_matrixclientv3accountwhoami.
func (m matrix) Probe(ctx context.Context) (string, error) {
	answer, err := m.send(ctx, http.MethodGet, "_matrix/client/v3/account/whoami", jsonType, []byte{}, map[string]string{"Authorization": "Bearer " + string(m.token.Reveal())})
	if err != nil {
		return "", probed(err)
	}
	var said struct {
		User string `json:"user_id"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || said.User == "" {
		return "", fleet.Errorf(fleet.Unavailable, "ask who writes", "what answers is no homeserver")
	}
	return "it takes the token of " + fleet.PlainText(said.User), nil
}

// Probe implements Prober.
func (e email) Probe(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := e.dial(ctx)
	if err != nil {
		return "", fleet.Errorf(fleet.Unavailable, "reach the mail server", "%w", err)
	}
	_ = c.Quit() // nothing was begun
	if e.username == "" {
		return unproved, nil
	}
	return "the mail server takes the account", nil
}

// probed returns err, of the kind that the answer is.
func probed(err error) error {
	if no, ok := errors.AsType[*refusal](err); ok && (no.status == http.StatusUnauthorized || no.status == http.StatusForbidden) {
		return fleet.Errorf(fleet.Unauthorized, "ask who writes", "%w", err)
	}
	return fleet.Errorf(fleet.Unavailable, "ask who writes", "%w", err)
}

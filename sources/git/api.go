package git

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"fairlead.dev/fleet"
)

// maxAnswer bounds one answer of an API.
const maxAnswer = 8 << 20

// An API is the API of the forge that a repository is on. It uses the credential,
// the CA certificates and the proxy of the repository. It is safe for concurrent use.
type API struct {
	base *url.URL
	from *rotating
}

// NewAPI returns the API at base, with what o has for the repository at o.URL. It does not
// connect. A credential is sent to the host of base alone.
func NewAPI(base string, o Options) (*API, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return nil, fleet.Errorf(fleet.Invalid, "use the forge", "%.100q is no URL of https without a user", base)
	}
	o.Budget = o.Budget.withDefaults()
	o.Budget.Received = maxAnswer
	r, _, err := newRotating(o)
	if err != nil {
		return nil, err
	}
	if _, ok := r.now.(*httpRemote); !ok {
		return nil, fleet.Errorf(fleet.Invalid, "use the forge", "%s is not reached over https, so its credential is for no API: name one for the forge", o.URL)
	}
	return &API{base: u, from: r}, nil
}

// URL returns the base, as it was given.
func (a *API) URL() string { return a.base.String() }

// Authorization says how a credential is shown.
type Authorization int

// The ways of forges.
const (
	// AsBearer shows a token as a bearer, and a user with a password as such.
	AsBearer Authorization = iota
	// AsToken shows a password as a bearer too, for forges whose API knows tokens alone.
	AsToken
)

// App returns the id of the GitHub App that the credential is; empty: it is none.
func (a *API) App() string {
	a.from.mu.Lock()
	defer a.from.mu.Unlock()
	return a.from.as.Auth.App.ID
}

// Do sends r, which has to be for the host of the base, with the credential. It follows no
// redirect: the answer is the redirect. The body of an answer ends with an error after eight
// mebibytes. Errors have a kind; answers of any status are none.
func (a *API) Do(ctx context.Context, r *http.Request, as Authorization) (*http.Response, error) {
	op := "ask the forge at " + a.base.Host
	if r.URL.Scheme != a.base.Scheme || r.URL.Host != a.base.Host {
		return nil, fleet.Errorf(fleet.Invalid, op, "the request is for %s", r.URL.Host)
	}
	now, err := a.from.fresh()
	if err != nil {
		return nil, err
	}
	h, ok := now.(*httpRemote)
	if !ok {
		return nil, fleet.Errorf(fleet.Invalid, op, "%w", errors.New("the repository is not reached over https"))
	}
	if err := h.authorize(ctx, r, as); err != nil {
		return nil, classify(ctx, op, err)
	}
	client := http.Client{
		Transport:     h.web.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r.WithContext(ctx))
	if err != nil {
		return nil, classify(ctx, op, err)
	}
	if in, ok := h.auth.(*installation); ok && res.StatusCode == http.StatusUnauthorized {
		in.forget()
	}
	return res, nil
}

// authorize shows the credential of h.
func (h *httpRemote) authorize(ctx context.Context, r *http.Request, as Authorization) error {
	bearer := func(token string) { r.Header.Set("Authorization", "Bearer "+token) }
	if in, ok := h.auth.(*installation); ok {
		if err := in.ready(ctx); err != nil {
			return err
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		bearer(in.token)
		return nil
	}
	switch c := h.credential; {
	case !c.Bearer.IsZero():
		bearer(string(c.Bearer.Reveal()))
	case !c.Token.IsZero():
		bearer(string(c.Token.Reveal()))
	case !c.Password.IsZero():
		if as == AsToken {
			bearer(string(c.Password.Reveal()))
			return nil
		}
		r.SetBasicAuth(c.Username, string(c.Password.Reveal()))
	}
	return nil
}

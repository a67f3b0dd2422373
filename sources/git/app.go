package git

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"fairlead.dev/fleet"
)

// App is a GitHub App as a credential, with the rights of one of its installations.
type App struct {
	ID string // the app's id, or its client id
	// Installation is the number of the installation. Owner is the organisation or user
	// that it belongs to; one of them is enough.
	Installation, Owner string
	Key                 fleet.Secret // private, RSA, PEM
	// API is the URL of the API. Empty: that of github.com, or of the repository's GitHub
	// Enterprise.
	API string
}

// IsZero reports whether a is empty.
func (a App) IsZero() bool {
	return a.ID == "" && a.Installation == "" && a.Owner == "" && a.Key.IsZero() && a.API == ""
}

// An installation authenticates requests with a token of GitHub, and renews that in time.
// It is safe for concurrent use. Source: GitHub, "Authenticating as a GitHub App
// installation".
type installation struct {
	app    App
	key    *rsa.PrivateKey
	api    string
	client *http.Client

	mu     sync.Mutex
	number string        // of the installation
	ahead  time.Duration // how far GitHub's clock is ahead, as far as known
	token  string
	renew  time.Time // time to renew the token
	end    time.Time // when the token ends
	rest   time.Time // no request before that time, as GitHub asked
	failed error     // the error that came with that
}

var _ githttp.AuthMethod = (*installation)(nil)

const (
	// early is how long before its end a token is renewed; most tokens live an hour.
	early = 10 * time.Minute
	// maxRest bounds the time without requests that GitHub can ask for.
	maxRest = 15 * time.Minute
	// maxSkew is the difference of the clocks from which it may explain an error.
	maxSkew = 30 * time.Second
)

// newInstallation returns the credential for a repository at scheme and host.
func newInstallation(a App, scheme, host string, pool http.RoundTripper) (*installation, error) {
	switch {
	case a.ID == "":
		return nil, errors.New("githubAppID is missing: it is in the settings of the GitHub App")
	case a.Installation == "" && a.Owner == "":
		return nil, errors.New("the GitHub App needs githubAppInstallationID or githubAppInstallationOwner")
	case a.Installation != "" && a.Owner != "":
		return nil, errors.New("the GitHub App has both githubAppInstallationID and githubAppInstallationOwner: one says it")
	}
	if n, err := strconv.ParseUint(a.Installation, 10, 63); a.Installation != "" && (err != nil || n == 0) {
		return nil, fmt.Errorf("githubAppInstallationID is %.40q, and no number", a.Installation)
	}
	key, err := rsaKey(a.Key.Reveal())
	if err != nil {
		return nil, err
	}
	api, err := apiURL(a.API, scheme, host)
	if err != nil {
		return nil, err
	}
	return &installation{app: a, key: key, api: api, number: a.Installation, client: &http.Client{
		Transport:     limitedTransport{pool, 1 << 20},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func rsaKey(text []byte) (*rsa.PrivateKey, error) {
	const what = "githubAppPrivateKey is no RSA key in PEM, as GitHub makes it"
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New(what)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New(what)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New(what)
	}
	return key, nil
}

// apiURL returns the URL of the API, without a slash at the end.
func apiURL(given, scheme, host string) (string, error) {
	if given == "" {
		switch host = strings.ToLower(host); {
		case host == "github.com" || host == "www.github.com":
			return "https://api.github.com", nil
		case strings.HasSuffix(host, ".ghe.com"):
			return "https://api." + host, nil
		}
		return scheme + "://" + host + "/api/v3", nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return "", errors.New("githubAppBaseURL is no URL of https, as in https://github.example.com/api/v3")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasPrefix(u.Host, "api.") && !strings.HasSuffix(u.Path, "/api/v3") {
		u.Path += "/api/v3"
	}
	return u.String(), nil
}

// Name implements transport.AuthMethod.
func (i *installation) Name() string { return "github-app" }

// String implements transport.AuthMethod.
func (i *installation) String() string { return "github-app" }

// SetAuth implements githttp.AuthMethod.
func (i *installation) SetAuth(r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r.SetBasicAuth(tokenUser, i.token)
}

// ready makes sure that there is a token. A token that has not ended is enough where GitHub
// does not answer.
func (i *installation) ready(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	if i.token != "" && now.Before(i.renew) {
		return nil
	}
	if now.Before(i.rest) {
		return i.unless(now, i.failed)
	}
	i.rest = time.Time{}
	good := i.token != "" && now.Before(i.end)
	if good { // no need to wait
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
	}
	if i.failed = i.ask(ctx); i.failed != nil && good && i.rest.IsZero() {
		i.rest = time.Now().Add(time.Minute)
	}
	return i.unless(time.Now(), i.failed)
}

// unless returns err, or nil while the token has not ended.
func (i *installation) unless(now time.Time, err error) error {
	if err != nil && i.token != "" && now.Before(i.end) {
		return nil
	}
	return err
}

// forget drops the token, after the server refused it.
func (i *installation) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.token = ""
}

// ask gets a token. It tries again after correcting the clock, or looking up the
// installation.
func (i *installation) ask(ctx context.Context) error {
	err := i.exchange(ctx)
	e, ok := errors.AsType[*apiError](err)
	switch {
	case !ok:
		return err
	case e.code == http.StatusUnauthorized && (e.skew > maxSkew || e.skew < -maxSkew):
		i.ahead += e.skew
		err = i.exchange(ctx)
	case e.code == http.StatusNotFound && i.app.Owner != "" && i.number != "":
		i.number = ""
		err = i.exchange(ctx)
	}
	return err
}

// exchange makes one attempt: it looks up the installation, where that is not known, and
// gets a token.
func (i *installation) exchange(ctx context.Context) error {
	if i.number == "" {
		if err := i.find(ctx); err != nil {
			return err
		}
	}
	var got struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	at, err := i.call(ctx, http.MethodPost, "/app/installations/"+i.number+"/access_tokens", &got)
	if err != nil {
		return err
	}
	if got.Token == "" || strings.ContainsFunc(got.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fleet.Errorf(fleet.Unavailable, "ask GitHub for a token", "the answer has none")
	}
	lives := got.Expires.Sub(at)
	now := time.Now()
	i.token, i.end = got.Token, now.Add(lives)
	i.renew = i.end.Add(-min(early, lives/2))
	return nil
}

// find looks up the installation of the owner.
func (i *installation) find(ctx context.Context) error {
	var got struct {
		ID int64 `json:"id"`
	}
	for _, kind := range []string{"orgs", "users"} {
		_, err := i.call(ctx, http.MethodGet, "/"+kind+"/"+url.PathEscape(i.app.Owner)+"/installation", &got)
		if e, ok := errors.AsType[*apiError](err); ok && e.code == http.StatusNotFound && kind == "orgs" {
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	if got.ID <= 0 {
		return fleet.Errorf(fleet.Unavailable, "look for the installation of the GitHub App", "the answer has none")
	}
	i.number = strconv.FormatInt(got.ID, 10)
	return nil
}

// jwt returns a token that proves for a few minutes that this is the app.
func (i *installation) jwt() (string, error) {
	now := time.Now().Add(i.ahead)
	claims, err := json.Marshal(map[string]any{"iss": i.app.ID, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(5 * time.Minute).Unix()})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	return text + "." + encode(signature), err
}

// call asks the API, decodes the answer into out, and returns GitHub's time.
func (i *installation) call(ctx context.Context, method, path string, out any) (time.Time, error) {
	token, err := i.jwt()
	if err != nil {
		return time.Time{}, err
	}
	req, err := http.NewRequestWithContext(ctx, method, i.api+path, bytes.NewReader(nil))
	if err != nil {
		return time.Time{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	req.Header.Set("User-Agent", "fairlead")
	res, err := i.client.Do(req)
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot ask GitHub for a token: %w", err)
	}
	defer res.Body.Close()
	return i.read(res, out)
}

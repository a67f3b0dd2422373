package region

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
)

// defaultTimeout is the time limit of a request. MAAS repeats a transaction for up to 30 seconds by itself.
const defaultTimeout = time.Minute

// Options say how to ask. Zero values mean the defaults.
type Options struct {
	Rate    float64              `setting:"rate" usage:"requests per second to a MAAS"` // no bound by default
	Timeout time.Duration        // of one request
	Sent    func(transport.Call) // is called after each request
	Base    http.RoundTripper    // default: connections of its own
}

// A Client sends requests to one region as one user. It is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
}

// New returns a client, and makes no request.
func New(c Credential, o Options) (*Client, error) {
	if o.Base == nil {
		base, err := transport.Trusting(c.CA)
		if err != nil {
			return nil, fleet.Errorf(fleet.Unauthorized, "use the credential of MAAS", "%w", err)
		}
		o.Base = base
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	part := strings.Split(c.Key, ":")
	t := transport.New(transport.Options{Base: &signer{o.Base, part}, PerSecond: o.Rate, Sent: o.Sent})
	return &Client{base: c.Endpoint + "api/2.0/", http: &http.Client{
		Transport: t, Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// A signer signs each request, also a repeated one: MAAS accepts a nonce once.
type signer struct {
	base http.RoundTripper
	key  []string
}

// RoundTrip implements http.RoundTripper.
func (s *signer) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.Header.Set("Authorization", fmt.Sprintf(`OAuth realm="", oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", `+
		`oauth_token="%s", oauth_signature="%%26%s", oauth_timestamp="%d", oauth_nonce="%s"`,
		url.QueryEscape(s.key[0]), url.QueryEscape(s.key[1]), url.QueryEscape(s.key[2]), time.Now().Unix(), rand.Text()))
	return s.base.RoundTrip(q)
}

// CloseIdleConnections closes those of the base.
func (s *signer) CloseIdleConnections() {
	if c, ok := s.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// send sends a request and returns its body if the status is one of success.
func (c *Client) send(ctx context.Context, method, path string, query, form url.Values) (io.ReadCloser, error) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	if form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := c.http.Do(q)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 == 2 {
		return res.Body, nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, longestError))
	if err != nil {
		return nil, err
	}
	return nil, refusal(method, res, text)
}

// longestError is how much of the body of an error is read.
const longestError = 16 << 10

// get decodes the answer to a GET into out.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	body, err := c.send(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, longestAnswer))
	if err != nil {
		return err
	}
	if json.Unmarshal(text, out) != nil {
		return errNotMAAS
	}
	return nil
}

// longestAnswer is how much of an answer is read that is no list of machines.
const longestAnswer = 64 << 20

// change sends a change, and drops the answer.
func (c *Client) change(ctx context.Context, method, path, op string, form url.Values) error {
	query := url.Values{}
	if op != "" {
		query.Set("op", op)
	}
	body, err := c.send(ctx, method, path, query, form)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(body, 1<<20))
	_ = body.Close()
	return nil
}

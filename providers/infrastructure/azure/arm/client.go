package arm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport"
	"fairlead.dev/providers/driver/transport/logins"
)

// Options say how to ask. Zero values mean the defaults.
type Options struct {
	Timeout time.Duration        // of one request
	Sent    func(transport.Call) // is called after each request
	Base    http.RoundTripper    // default: http.DefaultTransport
}

// defaultTimeout is the time limit of a request. ARM ends its own after a minute.
const defaultTimeout = time.Minute

// A Client sends requests of one principal to one subscription. It is safe for concurrent use.
type Client struct {
	credential Credential
	http       *http.Client
	token      token
}

// New returns a client, and makes no request. Gate keeps the principal from being locked.
func New(c Credential, o Options, gate *logins.Gate) *Client {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	h := &http.Client{
		Transport: transport.New(transport.Options{Base: &budget{base: o.Base}, Sent: o.Sent}), Timeout: o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	asked := o.Base
	if direct, ok := asked.(*http.Transport); ok && c.Machine { // metadata is asked without a proxy
		direct = direct.Clone()
		direct.Proxy = nil
		asked = direct
	}
	return &Client{credential: c, http: h, token: token{credential: c, gate: gate, http: &http.Client{
		Transport: transport.New(transport.Options{Base: asked, Sent: o.Sent}), Timeout: o.Timeout, CheckRedirect: h.CheckRedirect,
	}}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Subscription returns the id of the subscription.
func (c *Client) Subscription() string { return c.credential.Subscription }

// Tenant returns the tenant of the service principal.
func (c *Client) Tenant() string { return c.credential.Tenant }

// Principal returns the id of the application and its password; without one it is empty.
func (c *Client) Principal() (id, password string) { return c.credential.ID, c.credential.Password }

// A Condition is what has to be so for a change to be made.
type Condition struct{ header, value string }

// Absent lets a PUT make a resource, and refuses it if one of that name is there.
// Source: RFC 9110, section 13.1.2.
func Absent() Condition { return Condition{"If-None-Match", "*"} }

// Unchanged lets a change be made to what had that ETag; empty: to anything.
func Unchanged(etag string) Condition {
	if etag == "" {
		return Condition{}
	}
	return Condition{"If-Match", etag}
}

// Get reads a resource into out. Query has pairs of names and values.
func (c *Client) Get(ctx context.Context, id string, out any, query ...string) error {
	return c.do(ctx, http.MethodGet, c.address(id, query), nil, Condition{}, out)
}

// Put makes a resource, or changes it.
func (c *Client) Put(ctx context.Context, id string, body any, if_ Condition) error {
	return c.do(ctx, http.MethodPut, c.address(id, nil), body, if_, nil)
}

// Post asks a resource for something, and changes nothing.
func (c *Client) Post(ctx context.Context, id, action string, out any) error {
	return c.do(ctx, http.MethodPost, c.address(id+"/"+action, nil), nil, Condition{}, out)
}

// Tag adds tags to a resource, or changes them. Others stay, and nothing else of it changes.
// Source: Azure REST API, Tags, Update At Scope.
func (c *Client) Tag(ctx context.Context, id string, tags Tags) error {
	return c.changeTags(ctx, id, "Merge", tags)
}

// Untag removes tags with these values from a resource.
func (c *Client) Untag(ctx context.Context, id string, tags Tags) error {
	return c.changeTags(ctx, id, "Delete", tags)
}

func (c *Client) changeTags(ctx context.Context, id, operation string, tags Tags) error {
	body := map[string]any{"operation": operation, "properties": map[string]any{"tags": tags}}
	return c.do(ctx, http.MethodPatch, c.address(id+"/providers/Microsoft.Resources/tags/default", nil), body, Condition{}, nil)
}

// Delete deletes a resource. It succeeds if that is not there.
func (c *Client) Delete(ctx context.Context, id string) error {
	err := c.do(ctx, http.MethodDelete, c.address(id, nil), nil, Condition{}, nil)
	if IsMissing(err) {
		return nil
	}
	return err
}

// mostPages bounds a listing.
const mostPages = 10000

// List returns all pages of a listing.
func List[T any](ctx context.Context, c *Client, id string, query ...string) ([]T, error) {
	var out []T
	at := c.address(id, query)
	for range mostPages {
		var page struct {
			Value    *[]T   `json:"value"`
			NextLink string `json:"nextLink"`
		}
		if err := c.do(ctx, http.MethodGet, at, nil, Condition{}, &page); err != nil {
			return nil, err
		}
		if page.Value == nil {
			return nil, fleet.Errorf(fleet.Unavailable, "list "+id, "the answer is no list")
		}
		out = append(out, *page.Value...)
		if page.NextLink == "" {
			return out, nil
		}
		next, err := url.Parse(page.NextLink) // it gets the token; Compute writes the port
		if err != nil || next.Scheme != "https" || !strings.EqualFold(strings.TrimSuffix(next.Host, ":443"), c.credential.Manager) {
			return nil, fleet.Errorf(fleet.Unavailable, "list "+id, "the next page is not at %s", c.credential.Manager)
		}
		at = page.NextLink
	}
	return nil, fleet.Errorf(fleet.Unavailable, "list "+id, "it has more than %d pages", mostPages)
}

func (c *Client) address(id string, query []string) string {
	q := url.Values{"api-version": {versionOf(id)}}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	u := url.URL{Scheme: "https", Host: c.credential.Manager, Path: id, RawQuery: q.Encode()}
	return u.String()
}

// The largest answers that are read.
const (
	longestAnswer = 64 << 20
	longestError  = 64 << 10
)

func (c *Client) do(ctx context.Context, method, address string, body any, if_ Condition, out any) error {
	var text io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(data)
	}
	q, err := http.NewRequestWithContext(ctx, method, address, text)
	if err != nil {
		return err
	}
	bearer, err := c.token.get(ctx)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+bearer)
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if if_.header != "" {
		q.Header.Set(if_.header, if_.value)
	}
	res, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		if res.StatusCode == http.StatusUnauthorized {
			c.token.drop(bearer)
		}
		data, err := io.ReadAll(io.LimitReader(res.Body, longestError))
		if err != nil {
			return &url.Error{Op: urlOp(method), URL: address, Err: err}
		}
		return refusal(method, res, data)
	}
	if out == nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, longestAnswer))
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return &url.Error{Op: urlOp(method), URL: address, Err: fmt.Errorf("the answer is not whole: %w", err)}
	}
	return nil
}

// urlOp names a method as package net/http does in its errors.
func urlOp(method string) string { return method[:1] + strings.ToLower(method[1:]) }

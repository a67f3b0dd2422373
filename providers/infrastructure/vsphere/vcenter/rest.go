package vcenter

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/vmware/govmomi/vapi/rest"

	"fairlead.dev/fleet"
)

// rest calls ask with a client of vCenter's REST services, which keep a session of their own.
// It is opened when it is first needed, and again where it ended: 401 proves that nothing was
// done.
func (c *Client) rest(ctx context.Context, op string, ask func(context.Context, *rest.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	r, err := c.restClient(ctx, nil)
	if err != nil {
		return Wrap(op, err)
	}
	err = ask(ctx, r)
	if e, ok := errors.AsType[*statusError](err); ok && e.Code == http.StatusUnauthorized {
		if r, err = c.restClient(ctx, r); err != nil {
			return Wrap(op, err)
		}
		err = ask(ctx, r)
	}
	return Wrap(op, err)
}

// restClient returns one with a session, other than ended.
func (c *Client) restClient(ctx context.Context, ended *rest.Client) (*rest.Client, error) {
	vim, err := c.conn(ctx)
	if err != nil {
		return nil, err
	}
	op := "log in to the REST services of " + c.String() + " as " + c.credential.User
	select {
	case c.connecting <- struct{}{}:
		defer func() { <-c.connecting }()
	case <-ctx.Done():
		return nil, fleet.Errorf(fleet.Unavailable, op, "%w", ctx.Err())
	}
	c.mu.Lock()
	r := c.restful
	c.mu.Unlock()
	if r != nil && r != ended {
		return r, nil
	}
	digest := c.credential.Digest()
	if err := c.login.Enter(digest); err != nil {
		return nil, err
	}
	r = rest.NewClient(vim)
	r.Client.Client.Transport = answers{c.base}
	if err := r.Login(ctx, url.UserPassword(c.credential.User, string(c.credential.Password.Reveal()))); err != nil {
		if e, ok := errors.AsType[*statusError](err); ok && e.Code == http.StatusUnauthorized {
			return nil, c.refused(digest, fleet.Errorf(fleet.Unauthorized, op, "%w", e))
		}
		return nil, WrapLook(op, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restful = r
	return r, nil
}

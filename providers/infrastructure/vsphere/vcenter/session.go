package vcenter

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
)

// connect logs in, unless another goroutine did since session number seen.
//
// No session is kept alive beyond its use: what Watch waits for does that, and looks of every
// tick where it does not wait, and one without use ends by itself. vCenter has room for a
// bounded number of them.
func (c *Client) connect(ctx context.Context, seen uint64) error {
	op := "log in to " + c.String() + " as " + c.credential.User
	if c.credential.From != "" {
		op += " with " + c.credential.From
	}
	select {
	case c.connecting <- struct{}{}:
		defer func() { <-c.connecting }()
	case <-ctx.Done():
		return fleet.Errorf(fleet.Unavailable, op, "%w", ctx.Err())
	}
	c.mu.Lock()
	vim, session := c.vim, c.session
	c.mu.Unlock()
	if session > seen {
		return nil
	}
	digest := c.credential.Digest()
	if err := c.login.Enter(digest); err != nil {
		return err
	}
	if vim == nil {
		s := c.soapClient()
		s.Namespace, s.Version = "urn:"+vim25.Namespace, vim25.Version
		var err error
		vim, err = vim25.NewClient(ctx, trip(func(ctx context.Context, req, res soap.HasFault) error { return c.ask(ctx, s, req, res) }))
		if err != nil {
			return WrapLook(op, err)
		}
		vim.Client = s
		client := vim.Client
		vim.RoundTripper = trip(func(ctx context.Context, req, res soap.HasFault) error { return c.roundTrip(ctx, client, req, res) })
	}
	req := methods.LoginBody{Req: &types.Login{
		This: *vim.ServiceContent.SessionManager, UserName: c.credential.User,
		Password: string(c.credential.Password.Reveal()), Locale: "en_US",
	}}
	var res methods.LoginBody
	if err := c.ask(ctx, vim.Client, &req, &res); err != nil {
		err = WrapLook(op, err)
		if fleet.KindOf(err) == fleet.Unauthorized && FaultOf(err) != nil {
			return c.refused(digest, err)
		}
		return err
	}
	c.login.Accepted()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vim, c.opened, c.key = vim, true, res.Res.Returnval.Key
	if at := res.Res.Returnval.LoginTime; !at.IsZero() {
		c.ahead = time.Until(at)
	}
	c.session++
	return nil
}

// A trip is a function as a soap.RoundTripper.
type trip func(ctx context.Context, req, res soap.HasFault) error

// RoundTrip implements soap.RoundTripper.
func (t trip) RoundTrip(ctx context.Context, req, res soap.HasFault) error { return t(ctx, req, res) }

// longestPoll is how long vCenter holds an answer to WaitForUpdatesEx back.
const longestPoll = time.Minute

// ask makes one request of s, within the time that one may take.
func (c *Client) ask(ctx context.Context, s soap.RoundTripper, req, res soap.HasFault) error {
	method, limit := strings.TrimSuffix(reflect.TypeOf(req).Elem().Name(), "Body"), c.o.Timeout
	if method == "WaitForUpdatesEx" {
		limit += c.poll
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	service, _, _ := strings.Cut(strings.TrimPrefix(reflect.TypeOf(req).Elem().PkgPath(), "github.com/vmware/govmomi/"), "/")
	return s.RoundTrip(withMethod(ctx, strings.TrimSuffix(service, "25"), method), req, res)
}

// roundTrip asks s, a service with the session of vCenter, and where the session ended logs in and asks again: NotAuthenticated
// proves that nothing was done.
func (c *Client) roundTrip(ctx context.Context, s soap.RoundTripper, req, res soap.HasFault) error {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	err := c.ask(ctx, s, req, res)
	if !notAuthenticated(err) {
		return err
	}
	if err := c.connect(ctx, session); err != nil {
		return err
	}
	reflect.ValueOf(res).Elem().SetZero() // the fault stays in it otherwise
	return c.ask(ctx, s, req, res)
}

// Close ends the session, so that vCenter need not keep it, and closes connections.
func (c *Client) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c.mu.Lock()
	vim, opened, restful := c.vim, c.opened, c.restful
	c.opened, c.restful = false, nil
	c.mu.Unlock()
	if restful != nil {
		if err := restful.Logout(ctx); err != nil {
			c.o.Log.Debug("REST session of a vCenter did not end", "server", c.Server(), "error", err)
		}
	}
	if opened {
		req := methods.LogoutBody{Req: &types.Logout{This: *vim.ServiceContent.SessionManager}}
		var res methods.LogoutBody
		if err := c.ask(ctx, vim.Client, &req, &res); err != nil && !notAuthenticated(err) {
			c.o.Log.Debug("session of a vCenter did not end", "server", c.Server(), "error", err)
		}
	}
	c.base.CloseIdleConnections()
}

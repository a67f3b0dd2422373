package vcenter

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport/logins"
)

// A Pool has one client for each vCenter and credential, which all that have that credential share.
// It is safe for concurrent use.
type Pool struct {
	o       Options
	clients *logins.Pool[string, *Client] // by digest
}

// NewPool returns a pool without clients.
func NewPool(o Options) *Pool { return &Pool{o, logins.New[string, *Client](nil)} }

// Client returns the client of cred. It asks nothing of vCenter, and fails where cred can
// never be right.
func (p *Pool) Client(cred Credential) (*Client, error) {
	return p.clients.Client(cred.Digest(), cred.account(), func(gate *logins.Gate) (*Client, error) { return open(cred, p.o, gate) })
}

// Close ends all sessions.
func (p *Pool) Close() { p.clients.Close() }

// refused notes that vCenter refused the credential of c, and returns err with what follows.
func (c *Client) refused(digest string, err error) error {
	err = fleet.Errorf(fleet.Unauthorized, opOf(err), "%w (correct the password; so that the account is not locked, this one is tried again seldom)", causeOf(err))
	c.login.Refused(digest, err)
	return err
}

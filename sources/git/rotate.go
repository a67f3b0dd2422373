package git

import (
	"bytes"
	"context"
	"log/slog"
	"sync"

	"fairlead.dev/fleet"
)

// A rotating remote reads the credentials before each conversation, and uses new ones when
// they have changed.
type rotating struct {
	options Options
	log     *slog.Logger

	mu  sync.Mutex
	now remote
	as  Options // the options that now was made of
}

// newRotating returns the remote for o with the current credentials, and the normalised URL
// of the repository.
func newRotating(o Options) (*rotating, string, error) {
	r := &rotating{options: o, log: o.Log}
	var err error
	if r.as, err = r.refreshed(); err != nil {
		return nil, "", err
	}
	var name string
	r.now, name, err = newRemote(r.as)
	return r, name, err
}

func (r *rotating) refreshed() (Options, error) {
	o := r.options
	if o.Refresh == nil {
		return o, nil
	}
	err := o.Refresh(&o)
	return o, err
}

func (r *rotating) open(ctx context.Context, service string) (session, error) {
	now, err := r.fresh()
	if err != nil {
		return nil, err
	}
	return now.open(ctx, service)
}

func (r *rotating) list(ctx context.Context, prefixes []string) (listing, error) {
	now, err := r.fresh()
	if err != nil {
		return listing{}, err
	}
	return now.list(ctx, prefixes)
}

// fresh returns the remote for the current credentials. Credentials that cannot be used are
// an error of kind Unauthorized: the old ones may have been revoked for a reason.
func (r *rotating) fresh() (remote, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, err := r.refreshed()
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, "read the credentials", "%w", err)
	}
	if sameCredentials(o, r.as) {
		return r.now, nil
	}
	next, _, err := newRemote(o)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, "use the credentials that have changed", "%w", err)
	}
	r.log.Info("the credentials have changed, using the new ones")
	r.closeIdle()
	r.now, r.as = next, o
	return next, nil
}

// closeIdle closes connections that are not in use.
func (r *rotating) closeIdle() {
	if h, ok := r.now.(*httpRemote); ok {
		h.pool.CloseIdleConnections()
	}
}

func sameCredentials(a, b Options) bool {
	same := func(a, b fleet.Secret) bool { return bytes.Equal(a.Reveal(), b.Reveal()) }
	return a.Auth.Username == b.Auth.Username && same(a.Auth.Password, b.Auth.Password) && same(a.Auth.Token, b.Auth.Token) &&
		same(a.Auth.Bearer, b.Auth.Bearer) && bytes.Equal(a.Auth.Certificate, b.Auth.Certificate) &&
		same(a.Auth.CertificateKey, b.Auth.CertificateKey) && same(a.Proxy, b.Proxy) &&
		a.Auth.App.ID == b.Auth.App.ID && a.Auth.App.Installation == b.Auth.App.Installation && a.Auth.App.Owner == b.Auth.App.Owner &&
		a.Auth.App.API == b.Auth.App.API && same(a.Auth.App.Key, b.Auth.App.Key) &&
		same(a.Auth.Key, b.Auth.Key) && same(a.Auth.Passphrase, b.Auth.Passphrase) && a.Auth.Agent == b.Auth.Agent &&
		bytes.Equal(a.CABundle, b.CABundle) && bytes.Equal(a.KnownHosts, b.KnownHosts) && a.Address == b.Address
}

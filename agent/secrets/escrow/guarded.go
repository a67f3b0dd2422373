package escrow

import (
	"context"
	"errors"
	"net/url"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
)

// errAddress shows nothing of an address, which may hold a password.
var errAddress = errors.New("the address of the escrow's repository cannot be read")

// Guarded returns p for a process that may lose the right to write: may is asked before each
// write, and an error says why not. A nil may is a process that is alone.
func Guarded(p Place, may func() error) Place {
	if may == nil {
		return p
	}
	return guarded{p, may}
}

type guarded struct {
	Place
	may func() error
}

// Write implements Place.
func (g guarded) Write(ctx context.Context, s Snapshot, edits map[string][]byte, message string) error {
	if err := g.may(); err != nil {
		return err
	}
	return g.Place.Write(ctx, s, edits, message)
}

// MayReach refuses to send the credentials of the repositories in known to a host that no
// repository of known is on, and only Git names.
func MayReach(repository string, known []string) error {
	host, err := hostOf(repository)
	if err != nil {
		return err
	}
	for _, k := range known {
		if h, err := hostOf(k); err == nil && h == host {
			return nil
		}
	}
	return fleet.Errorf(fleet.Invalid, "open the escrow",
		"spec.escrow.repository is on another host than the fleet: its credentials are not sent there; use a branch of the status repository (--status-repository), or a folder")
}

func hostOf(repository string) (string, error) {
	normal, err := git.NormaliseURL(repository)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(normal)
	if err != nil {
		return "", errAddress
	}
	return u.Scheme + "://" + u.Host, nil
}

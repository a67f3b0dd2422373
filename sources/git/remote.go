package git

import (
	"context"
	"io"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"fairlead.dev/fleet"
)

// The services of a Git server.
const (
	uploadPack  = transport.UploadPackServiceName
	receivePack = transport.ReceivePackServiceName
)

// A remote opens conversations with one repository's server.
type remote interface {
	open(ctx context.Context, service string) (session, error)
	// list asks for the refs whose full names begin with one of prefixes; without prefixes,
	// for all. Some servers always list all. An error that version 0 might not have is a
	// *version2Error.
	list(ctx context.Context, prefixes []string) (listing, error)
}

// A session is one conversation: refs first, then one fetch or one push. It ends with the
// ctx of open. Its errors are not classified.
type session interface {
	refs(ctx context.Context) (*packp.AdvRefs, error)
	fetch(ctx context.Context, req *packp.UploadPackRequest) (io.ReadCloser, error)
	push(ctx context.Context, req *packp.ReferenceUpdateRequest) (*packp.ReportStatus, error)
	close()
}

// newRemote returns the remote for o, and the normalised URL of the repository.
func newRemote(o Options) (remote, string, error) {
	ep, err := parseURL(o.URL)
	if err != nil {
		return nil, "", err
	}
	name := normal(ep)
	auth := o.Auth
	if auth.isZero() && ep.Password != "" {
		auth.Username, auth.Password = ep.User, fleet.NewSecret([]byte(ep.Password))
	}
	var r remote
	switch ep.Protocol {
	case "file":
		r = &fileRemote{path: ep.Path, limit: o.Budget.Received}
	case "ssh":
		r, err = newSSHRemote(ep, auth, o)
	default:
		r, err = newHTTPRemote(ep, auth, o)
	}
	if err != nil {
		return nil, "", &fleet.Error{Kind: kindOr(err, fleet.Invalid), Op: "use repository " + name, Err: cause(err)}
	}
	return r, name, nil
}

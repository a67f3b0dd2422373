package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"fairlead.dev/fleet"
)

// errSlow is the cause of an operation that took too long.
var errSlow = errors.New("the registry does not answer in time")

// classify gives err its kind. Only content with a verified digest can be of kind Invalid,
// which is set where the content is checked. Any other error may pass.
func classify(ctx context.Context, op string, err error) error {
	if c := context.Cause(ctx); c != nil {
		kind := fleet.Unavailable
		if errors.Is(c, context.Canceled) {
			kind = fleet.Unknown
		}
		return &fleet.Error{Kind: kind, Op: op, Err: c}
	}
	if e, ok := errors.AsType[*fleet.Error](err); ok {
		return &fleet.Error{Kind: e.Kind, Op: op, Err: e.Err}
	}
	return &fleet.Error{Kind: kindOf(err), Op: op, Err: err}
}

func kindOf(err error) fleet.ErrorKind {
	code := 0
	if e, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		code = e.StatusCode
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case errors.Is(err, errDamaged):
		return fleet.Unavailable
	case code == http.StatusUnauthorized, code == http.StatusForbidden, errors.Is(err, auth.ErrBasicCredentialNotFound), errors.Is(err, errPlain), untrusted, unknown:
		return fleet.Unauthorized
	case code == http.StatusNotFound, code == http.StatusGone, errors.Is(err, errdef.ErrNotFound):
		return fleet.NotFound
	}
	return fleet.Unavailable
}

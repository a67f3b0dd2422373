package workload

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/fleet"
)

// A kinder is an error of something that is reached through a tunnel and knows its kind.
type kinder interface {
	error
	Kind() fleet.ErrorKind
}

// classify turns the errors of client-go, TLS and the network into those of
// package fleet, by what was sent. It is the only place that knows them.
func (s *sent) classify(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fleet.Error](err); ok {
		return err
	}
	kind, hint := kindOf(err)
	kind = s.kind(kind, err)
	if hint != "" {
		return fleet.Errorf(kind, op, "%s: %w", hint, err)
	}
	return fleet.Errorf(kind, op, "%w", err)
}

func kindOf(err error) (kind fleet.ErrorKind, hint string) {
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return kindOfStatus(err), ""
	}
	if e, ok := errors.AsType[kinder](err); ok {
		return e.Kind(), ""
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fleet.Unauthorized, "the server's certificate is not of the CA of this cluster"
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return fleet.Unauthorized, "the server's certificate is expired or not valid yet"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fleet.Unauthorized, "the server's certificate is not good for this cluster"
	}
	if isAlert(err) {
		return fleet.Unauthorized, "the server refused the client certificate"
	}
	if _, ok := errors.AsType[net.Error](err); ok ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, ErrTunnel) {
		return fleet.Unavailable, ""
	}
	return fleet.Unknown, ""
}

// isAlert reports whether the other side ended a TLS handshake because of the
// certificate that it was shown. crypto/tls does not export the alerts.
func isAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return false
	}
	text := op.Err.Error()
	return strings.Contains(text, "certificate") || strings.Contains(text, "unknown")
}

// rightText is in the answers of the authorizer, which name the user and the resource. What an
// admission webhook or a policy denies has the same reason and other words.
// Source: k8s.io/apiserver, endpoints/handlers/responsewriters, forbiddenMessage.
var rightText = regexp.MustCompile(` cannot [a-z*]+ (resource|path) "`)

// lacksRight reports whether err says that the user must not do what was asked for, to
// whichever object.
func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) && rightText.MatchString(err.Error())
}

func kindOfStatus(err error) fleet.ErrorKind {
	switch {
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return fleet.Unauthorized
	case apierrors.IsNotFound(err):
		return fleet.NotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return fleet.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsNotAcceptable(err), apierrors.IsUnsupportedMediaType(err), apierrors.IsRequestEntityTooLargeError(err):
		return fleet.Invalid
	}
	return fleet.Unavailable // too many requests, timeouts, internal errors
}

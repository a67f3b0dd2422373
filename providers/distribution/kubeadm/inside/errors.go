package inside

import (
	"fmt"
	"net/http"

	"fairlead.dev/fleet"
)

// An etcdError is what etcd's gRPC gateway answers when it refuses.
type etcdError struct {
	Status  int    `json:"-"` // of HTTP
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *etcdError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("etcd answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return e.Message
}

// The gRPC codes that etcd uses.
const (
	codeNotFound           = 5
	codePermissionDenied   = 7
	codeFailedPrecondition = 9
	codeUnauthenticated    = 16
)

// Kind implements what package workload asks of errors.
func (e *etcdError) Kind() fleet.ErrorKind {
	switch e.Code {
	case codeNotFound:
		return fleet.NotFound
	case codeFailedPrecondition:
		return fleet.Conflict
	case codePermissionDenied, codeUnauthenticated:
		return fleet.Unauthorized
	}
	return fleet.Unavailable
}

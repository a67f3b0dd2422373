package secrets

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"fairlead.dev/fleet"
)

// failed gives err its kind. A request that may have happened may be repeated:
// what is stored is asked for again.
func (k *Kubernetes) failed(op string, err error) error {
	kind := fleet.Unavailable
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch code := status.Status().Code; {
		case code == http.StatusNotFound:
			return fleet.Errorf(fleet.NotFound, op, "it is not stored")
		case code == http.StatusUnauthorized:
			kind = fleet.Unauthorized
		case code == http.StatusForbidden:
			kind, err = forbidden(err)
		case code == http.StatusConflict:
			kind = fleet.Conflict
		case code == http.StatusUnprocessableEntity, code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge:
			kind = fleet.Invalid
		}
	}
	return fleet.Errorf(kind, op, "%w", err)
}

// notAllowed matches what RBAC says of an account without any permission.
// Source: k8s.io/apiserver, endpoints/handlers/responsewriters.
var notAllowed = regexp.MustCompile(`cannot (\w+) resource "([a-z]+)" in API group "" (?:in the namespace "([^"]*)"|at the cluster scope)`)

// forbidden tells apart the reasons of an API server to refuse: no right to do
// it, which it gets the missing rule for, a quota, and a namespace that goes.
func forbidden(err error) (fleet.ErrorKind, error) {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return fleet.Unavailable, err
	}
	if strings.Contains(err.Error(), "exceeded quota") {
		return fleet.Exhausted, err
	}
	m := notAllowed.FindStringSubmatch(err.Error())
	if m == nil {
		return fleet.Unauthorized, err
	}
	where := "a ClusterRole"
	if m[3] != "" {
		where = "a Role in the namespace " + m[3] + " (the chart's value rbac.namespaces), or a ClusterRole,"
	}
	return fleet.Unauthorized, fmt.Errorf(`%w: give it %s with the rule {apiGroups: [""], resources: [%s], verbs: [%s]}`, err, where, m[2], m[1])
}

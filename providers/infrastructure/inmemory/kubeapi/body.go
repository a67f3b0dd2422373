package kubeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"fairlead.dev/fleet/documents"
)

// readBody reads a body of any type that clients send, and returns it as JSON.
func (s *Server) readBody(q request) ([]byte, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
		}
		return nil, apierrors.NewBadRequest(err.Error())
	}
	contentType, _, _ := strings.Cut(q.Header.Get("Content-Type"), ";")
	switch {
	case len(body) == 0 || contentType == "" || contentType == runtime.ContentTypeJSON:
	case contentType == runtime.ContentTypeYAML:
		body, err = documents.ToJSON(body, documents.AddonLimits())
	case contentType == runtime.ContentTypeProtobuf:
		body, err = s.protobufToJSON(body)
	default:
		return nil, unsupported(contentType)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return body, nil
}

func (s *Server) protobufToJSON(body []byte) ([]byte, error) {
	obj, gvk, err := protobuf.NewSerializer(s.catalog.scheme, s.catalog.scheme).Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(*gvk)
	return json.Marshal(obj)
}

// readObject reads the object in the body, which must be of the kind that the
// request is about.
func (s *Server) readObject(q request) (*unstructured.Unstructured, error) {
	body, err := s.readBody(q)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &u.Object); err != nil || u.Object == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is not an object: %v", err))
	}
	if gvk := u.GroupVersionKind(); !gvk.Empty() && gvk != q.kind.GroupVersionKind {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in the body, %s on the URL", gvk, q.kind.GroupVersionKind))
	}
	if ns := u.GetNamespace(); ns != "" && ns != q.namespace {
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	// Through the decoder of API objects, so that numbers are what it makes of them.
	u.SetGroupVersionKind(q.kind.GroupVersionKind)
	if err := u.UnmarshalJSON(encode(u)); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return u, nil
}

func (s *Server) deleteOptions(q request) (metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	body, err := s.readBody(q)
	if err != nil {
		return o, err
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &o); err != nil {
			return o, apierrors.NewBadRequest(err.Error())
		}
	}
	if g := q.query.Get("gracePeriodSeconds"); g != "" {
		n, err := strconv.ParseInt(g, 10, 64)
		if err != nil {
			return o, apierrors.NewBadRequest(err.Error())
		}
		o.GracePeriodSeconds = &n
	}
	return o, nil
}

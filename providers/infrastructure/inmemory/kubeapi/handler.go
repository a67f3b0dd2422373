package kubeapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
)

// maxBody is what a real API server reads of a request, too.
const maxBody = 3 << 20

// A request is one call about a resource.
type request struct {
	*http.Request
	kind            *kind
	namespace, name string
	sub             string
	query           url.Values
}

func (q request) write() write {
	return write{
		kind: q.kind, namespace: q.namespace, name: q.name,
		status: q.sub == "status",
		dryRun: q.query.Get("dryRun") != "",
	}
}

// authenticate returns an error unless r has a token that is accepted, or the certificate of a client.
func (s *Server) authenticate(r *http.Request) error {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && s.o.Tokens != nil && s.o.Tokens(token) {
		return nil
	}
	return s.clients.verify(r.TLS, s.o.Now())
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.serveSupervisor(w, r) || s.serveHealth(w, r) {
		return
	}
	if err := s.authenticate(r); err != nil {
		fail(w, err)
		return
	}
	if !acceptsJSON(r) {
		fail(w, status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "only application/json is served"))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	q, ok := s.parse(r)
	if !ok {
		s.serveDiscovery(w, r)
		return
	}
	if err := s.serveResource(w, q); err != nil {
		fail(w, err)
		return
	}
	s.wrote(q)
}

// parse finds out what resource r is about.
func (s *Server) parse(r *http.Request) (request, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	root := 2
	if parts[0] == "apis" {
		root = 3
	}
	if len(parts) <= root || (parts[0] != "api" && parts[0] != "apis") {
		return request{}, false
	}
	prefix, rest := strings.Join(parts[:root], "/"), parts[root:]
	q := request{Request: r, query: r.URL.Query()}
	if rest[0] == "namespaces" && len(rest) > 2 && rest[2] != "status" && rest[2] != "finalize" {
		q.namespace, rest = rest[1], rest[2:]
	}
	q.kind = s.kindAt(prefix + "/" + rest[0])
	if q.kind == nil || len(rest) > 3 {
		return request{}, false
	}
	if len(rest) > 1 {
		q.name = rest[1]
	}
	if len(rest) > 2 {
		q.sub = rest[2]
	}
	return q, true
}

func (s *Server) serveResource(w http.ResponseWriter, q request) error {
	watch := q.query.Get("watch")
	switch {
	case q.sub == "eviction" && q.Method == http.MethodPost:
		return s.serveEviction(w, q)
	case q.sub == "portforward":
		return s.servePortForward(w, q)
	case q.sub != "" && q.sub != "status":
		return apierrors.NewMethodNotSupported(q.kind.resource(), q.Method)
	case q.Method == http.MethodGet && (watch == "true" || watch == "1"):
		return s.serveWatch(w, q)
	case q.Method == http.MethodGet && q.name == "":
		return s.serveList(w, q)
	case q.Method == http.MethodGet:
		return s.serveGet(w, q)
	case q.Method == http.MethodPost && q.name == "":
		return s.serveCreate(w, q)
	case q.Method == http.MethodPut && q.name != "":
		return s.serveUpdate(w, q)
	case q.Method == http.MethodPatch && q.name != "":
		return s.servePatch(w, q)
	case q.Method == http.MethodDelete && q.name != "":
		return s.serveDelete(w, q)
	case q.Method == http.MethodDelete:
		return s.serveDeleteCollection(w, q)
	}
	return apierrors.NewMethodNotSupported(q.kind.resource(), q.Method)
}

func (s *Server) serveGet(w http.ResponseWriter, q request) error {
	raw, ok := s.read(q.kind, q.namespace, q.name)
	if !ok {
		return apierrors.NewNotFound(q.kind.resource(), q.name)
	}
	if wantsTable(q.Request) {
		reply(w, http.StatusOK, s.table(q, []item{{key{q.kind, q.namespace, q.name}, raw}}, ""))
		return nil
	}
	reply(w, http.StatusOK, raw)
	return nil
}

func (s *Server) serveCreate(w http.ResponseWriter, q request) error {
	u, err := s.readObject(q)
	if err != nil {
		return err
	}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(u.GetGenerateName() + rand.String(5))
	}
	if u.GetName() == "" {
		return apierrors.NewBadRequest("name or generateName is required")
	}
	if err := s.checkNamespace(q); err != nil {
		return err
	}
	in := q.write()
	in.name, in.create = u.GetName(), true
	raw, err := s.write(in, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return u, nil })
	if err != nil {
		return err
	}
	reply(w, http.StatusCreated, raw)
	return nil
}

func (s *Server) checkNamespace(q request) error {
	if !q.kind.namespaced {
		return nil
	}
	if q.namespace == "" {
		return apierrors.NewBadRequest("an empty namespace may not be set during creation")
	}
	ns := s.catalog.kinds[0]
	if _, ok := s.read(ns, "", q.namespace); !ok {
		return apierrors.NewNotFound(ns.resource(), q.namespace)
	}
	return nil
}

func (s *Server) serveUpdate(w http.ResponseWriter, q request) error {
	u, err := s.readObject(q)
	if err != nil {
		return err
	}
	if u.GetName() != q.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", u.GetName(), q.name))
	}
	raw, err := s.write(q.write(), func(old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if old == nil {
			return nil, apierrors.NewNotFound(q.kind.resource(), q.name)
		}
		return s.track(q, old, u)
	})
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, raw)
	return nil
}

func (s *Server) serveDelete(w http.ResponseWriter, q request) error {
	o, err := s.deleteOptions(q)
	if err != nil {
		return err
	}
	in := q.write()
	in.dryRun = in.dryRun || len(o.DryRun) > 0
	raw, err := s.erase(in, o)
	if err != nil {
		return err
	}
	reply(w, http.StatusOK, raw)
	return nil
}

func (s *Server) serveDeleteCollection(w http.ResponseWriter, q request) error {
	o, err := s.deleteOptions(q)
	if err != nil {
		return err
	}
	sel, err := parseSelector(q)
	if err != nil {
		return err
	}
	items, _ := s.items(q.kind, q.namespace)
	for _, it := range items {
		if !sel.matches(it.raw) {
			continue
		}
		in := q.write()
		in.namespace, in.name = it.key.namespace, it.key.name
		if _, err := s.erase(in, o); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	reply(w, http.StatusOK, &metav1.Status{TypeMeta: statusType(), Status: metav1.StatusSuccess})
	return nil
}

func acceptsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return accept == "" || strings.Contains(accept, "json") || strings.Contains(accept, "*/*")
}

// reply writes v, or v itself where it is JSON already.
func reply(w http.ResponseWriter, code int, v any) {
	raw, ok := v.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			panic(err) // API types always marshal
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(raw)
}

// fail writes err as a Status.
func fail(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		e = apierrors.NewInternalError(err)
	}
	st := e.Status()
	st.TypeMeta = statusType()
	if d := st.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	reply(w, int(st.Code), &st)
}

func status(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

func unsupported(contentType string) error {
	return status(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		fmt.Sprintf("the body of the request was in an unsupported format %q", contentType))
}

func statusType() metav1.TypeMeta { return metav1.TypeMeta{Kind: "Status", APIVersion: "v1"} }

func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

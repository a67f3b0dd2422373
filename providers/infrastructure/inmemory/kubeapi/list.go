package kubeapi

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func (s *Server) serveList(w http.ResponseWriter, q request) error {
	sel, err := parseSelector(q)
	if err != nil {
		return err
	}
	all, revision := s.items(q.kind, q.namespace)
	items, next, err := page(q, slices.DeleteFunc(all, func(it item) bool { return !sel.matches(it.raw) }))
	if err != nil {
		return err
	}
	rv := strconv.FormatUint(revision, 10)
	if wantsTable(q.Request) {
		t := s.table(q, items, rv)
		t.Continue = next
		reply(w, http.StatusOK, t)
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":%q,"continue":%q},"items":[`,
		q.kind.Kind, q.kind.GroupVersion(), rv, next)
	for i, it := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(it.raw)
	}
	b.WriteString("]}")
	reply(w, http.StatusOK, b.Bytes())
	return nil
}

// page returns the part of items that q asks for with limit and continue, and
// the token for the next one. The token is the last name that was given out.
func page(q request, items []item) ([]item, string, error) {
	if token := q.query.Get("continue"); token != "" {
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return nil, "", apierrors.NewBadRequest("continue key is not valid")
		}
		ns, name, _ := strings.Cut(string(raw), "/")
		items = slices.DeleteFunc(items, func(it item) bool {
			return cmp.Or(cmp.Compare(it.key.namespace, ns), cmp.Compare(it.key.name, name)) <= 0
		})
	}
	limit, _ := strconv.Atoi(q.query.Get("limit"))
	if limit <= 0 || len(items) <= limit {
		return items, "", nil
	}
	last := items[limit-1].key
	return items[:limit], base64.RawURLEncoding.EncodeToString([]byte(last.namespace + "/" + last.name)), nil
}

package kubeapi

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// historyLimit is how many changes a watch can be resumed over; one that lags
// further gets 410 Gone and lists again.
const historyLimit = 64

// A store holds objects as compact JSON, which takes a tenth of the memory of
// decoded ones and is what most requests want.
type store struct {
	mu       sync.RWMutex
	revision uint64
	objects  map[key][]byte
	history  []event // the latest changes, in order
	watchers map[*watcher]struct{}
}

type key struct {
	kind            *kind
	namespace, name string
}

// An event is one change. old is nil for a new object, new for one that is gone.
type event struct {
	revision uint64
	key      key
	old, new []byte
}

// A write is a request to change one object.
type write struct {
	kind            *kind
	namespace, name string
	status          bool // only the status, else all but the status
	inProcess       bool // all of the object
	dryRun          bool
	create          bool // it must not exist
}

func decode(raw []byte) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		panic(err) // the store holds what it encoded
	}
	return u
}

func (s *Server) read(k *kind, namespace, name string) ([]byte, bool) {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	raw, ok := s.store.objects[key{k, namespace, name}]
	return raw, ok
}

// An item is a stored object.
type item struct {
	key key
	raw []byte
}

// items returns the objects of a kind, sorted, and the revision at which they
// were read. An empty namespace means all.
func (s *Server) items(k *kind, namespace string) ([]item, uint64) {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	return s.itemsLocked(k, namespace), s.store.revision
}

func (s *Server) itemsLocked(k *kind, namespace string) []item {
	var out []item
	for key, raw := range s.store.objects {
		if key.kind == k && (namespace == "" || key.namespace == namespace) {
			out = append(out, item{key, raw})
		}
	}
	slices.SortFunc(out, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.key.namespace, b.key.namespace), cmp.Compare(a.key.name, b.key.name))
	})
	return out
}

// write changes one object to what f makes of it and returns what is stored
// then. f gets nil where there is nothing and may change what it gets.
func (s *Server) write(w write, f func(old *unstructured.Unstructured) (*unstructured.Unstructured, error)) ([]byte, error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	at := key{w.kind, w.namespace, w.name}
	raw, exists := s.store.objects[at]
	if exists && w.create {
		return nil, apierrors.NewAlreadyExists(w.kind.resource(), w.name)
	}
	var old, arg *unstructured.Unstructured
	if exists {
		old, arg = decode(raw), decode(raw)
	}
	u, err := f(arg)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(w, old, u); err != nil {
		return nil, err
	}
	next := encode(u)
	if exists && bytes.Equal(next, raw) {
		return raw, nil
	}
	u.SetResourceVersion(strconv.FormatUint(s.store.revision+1, 10))
	next = encode(u)
	if w.dryRun {
		return next, nil
	}
	if s.ended(u) {
		s.removeLocked(at)
		return next, nil
	}
	s.commit(at, raw, next)
	if w.kind.Kind == "Node" && old != nil && !hasCondition(old, "Ready", "True") {
		s.endPods(u)
	}
	return next, nil
}

func encode(u *unstructured.Unstructured) []byte {
	raw, err := u.MarshalJSON()
	if err != nil {
		panic(err) // it was decoded from JSON, or converted from an API type
	}
	return bytes.TrimSpace(raw)
}

// prepare fills in what the server owns of an object that is to be stored.
func (s *Server) prepare(w write, old, u *unstructured.Unstructured) error {
	u.SetGroupVersionKind(w.kind.GroupVersionKind)
	u.SetName(w.name)
	u.SetNamespace(w.namespace)
	if old == nil {
		if u.GetUID() == "" || !w.inProcess {
			u.SetUID(uuid.NewUUID())
		}
		if ts := u.GetCreationTimestamp(); ts.IsZero() || !w.inProcess {
			u.SetCreationTimestamp(metav1.NewTime(s.o.Now()))
		}
		u.SetGeneration(1)
		u.SetResourceVersion("")
		if !w.inProcess && w.kind.hasStatus() && w.kind.Kind != "Node" {
			delete(u.Object, "status")
		}
		s.fill(w, u)
		return nil
	}
	if rv := u.GetResourceVersion(); rv != "" && rv != old.GetResourceVersion() {
		return apierrors.NewConflict(w.kind.resource(), w.name, errModified)
	}
	if uid := u.GetUID(); uid != "" && uid != old.GetUID() && !w.inProcess {
		return apierrors.NewConflict(w.kind.resource(), w.name, errOtherUID)
	}
	switch {
	case w.status:
		status, has := u.Object["status"]
		managed := u.GetManagedFields()
		u.Object = old.DeepCopy().Object
		u.SetManagedFields(managed)
		if has {
			u.Object["status"] = status
		}
	case !w.inProcess && w.kind.hasStatus():
		delete(u.Object, "status")
		if status, has := old.Object["status"]; has {
			u.Object["status"] = status
		}
	}
	s.fill(w, u)
	u.SetUID(old.GetUID())
	u.SetCreationTimestamp(old.GetCreationTimestamp())
	u.SetResourceVersion(old.GetResourceVersion())
	u.SetDeletionTimestamp(old.GetDeletionTimestamp())
	u.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	u.SetGeneration(old.GetGeneration())
	if !sameSpec(old, u) {
		u.SetGeneration(old.GetGeneration() + 1)
	}
	return nil
}

// sameSpec reports whether a and b differ in metadata and status only.
func sameSpec(a, b *unstructured.Unstructured) bool {
	for _, pair := range [][2]*unstructured.Unstructured{{a, b}, {b, a}} {
		for name, v := range pair[0].Object {
			if name != "metadata" && name != "status" && !reflect.DeepEqual(v, pair[1].Object[name]) {
				return false
			}
		}
	}
	return true
}

// commit stores next in the place of old and tells everybody; nil is nothing.
func (s *Server) commit(at key, old, next []byte) {
	st := &s.store
	st.revision++
	if next == nil {
		delete(st.objects, at)
	} else {
		if st.objects == nil {
			st.objects = make(map[key][]byte)
		}
		st.objects[at] = next
	}
	if at.kind.Kind == definitionKind {
		s.define(at.name, next)
	}
	e := event{st.revision, at, old, next}
	if len(st.history) == historyLimit {
		st.history = slices.Delete(st.history, 0, historyLimit/4)
	}
	st.history = append(st.history, e)
	for w := range st.watchers {
		w.push(e)
	}
}

// fill sets the defaults that clients rely on.
func (s *Server) fill(w write, u *unstructured.Unstructured) {
	switch w.kind.Kind {
	case "Secret":
		text, _, _ := unstructured.NestedStringMap(u.Object, "stringData")
		for k, v := range text {
			_ = unstructured.SetNestedField(u.Object, base64Of(v), "data", k)
		}
		delete(u.Object, "stringData")
		if t, _, _ := unstructured.NestedString(u.Object, "type"); t == "" {
			u.Object["type"] = string(corev1.SecretTypeOpaque)
		}
	case "Pod":
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == "" {
			_ = unstructured.SetNestedField(u.Object, string(corev1.PodPending), "status", "phase")
		}
	case "Namespace":
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == "" {
			_ = unstructured.SetNestedField(u.Object, string(corev1.NamespaceActive), "status", "phase")
		}
	}
}

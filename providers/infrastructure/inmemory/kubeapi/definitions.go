package kubeapi

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const definitionKind = "CustomResourceDefinition"

var definitionVersion = schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"} //nolint:gochecknoglobals // a constant that Go cannot write as one

// definitions are the kinds that objects of one server define, by the name of the
// object. Its zero value has none.
type definitions struct {
	mu    sync.RWMutex
	kinds map[string]*kind
}

// define has the kind of the CustomResourceDefinition called name served, or no
// more where raw is nil. What a kind is, its first definition says.
func (s *Server) define(name string, raw []byte) {
	d := &s.defined
	d.mu.Lock()
	defer d.mu.Unlock()
	if raw == nil {
		delete(d.kinds, name)
		return
	}
	if _, known := d.kinds[name]; known {
		return
	}
	var in struct {
		Spec struct {
			Group string
			Scope string
			Names struct {
				Kind, Plural string
				ShortNames   []string
			}
			Versions []struct {
				Name         string
				Storage      bool
				Subresources map[string]any
			}
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return // it defines nothing
	}
	for _, v := range in.Spec.Versions {
		if !v.Storage {
			continue
		}
		k := &kind{
			GroupVersionKind: schema.GroupVersionKind{Group: in.Spec.Group, Version: v.Name, Kind: in.Spec.Names.Kind},
			plural:           in.Spec.Names.Plural, namespaced: in.Spec.Scope == "Namespaced",
		}
		if len(in.Spec.Names.ShortNames) > 0 {
			k.short = in.Spec.Names.ShortNames[0]
		}
		if _, ok := v.Subresources["status"]; ok {
			k.subs = []string{"status"}
		}
		if d.kinds == nil {
			d.kinds = make(map[string]*kind)
		}
		d.kinds[name] = k
	}
}

// kinds returns all that is served, those of the catalog first.
func (s *Server) kinds() iter.Seq[*kind] {
	s.defined.mu.RLock()
	more := slices.SortedFunc(maps.Values(s.defined.kinds), func(a, b *kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.plural, b.plural))
	})
	s.defined.mu.RUnlock()
	return func(yield func(*kind) bool) {
		for _, list := range [][]*kind{s.catalog.kinds, more} {
			for _, k := range list {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// kind returns the kind called gvk, or nil.
func (s *Server) kind(gvk schema.GroupVersionKind) *kind {
	if k, ok := s.catalog.byGVK[gvk]; ok {
		return k
	}
	return s.find(func(k *kind) bool { return k.GroupVersionKind == gvk })
}

// kindAt returns the kind that is served at path, or nil.
func (s *Server) kindAt(path string) *kind {
	if k, ok := s.catalog.byPath[path]; ok {
		return k
	}
	return s.find(func(k *kind) bool { return k.root()+"/"+k.plural == path })
}

func (s *Server) find(is func(*kind) bool) *kind {
	s.defined.mu.RLock()
	defer s.defined.mu.RUnlock()
	for _, k := range s.defined.kinds {
		if is(k) {
			return k
		}
	}
	return nil
}

// definedBy returns the objects of the kind that the object at defines.
func (s *Server) definedBy(at key) []item {
	if at.kind.Kind != definitionKind {
		return nil
	}
	s.defined.mu.RLock()
	k := s.defined.kinds[at.name]
	s.defined.mu.RUnlock()
	if k == nil {
		return nil
	}
	return s.itemsLocked(k, "")
}

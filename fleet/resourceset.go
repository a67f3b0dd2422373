package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PruneAnnotation with the value "true" on an addon has what it applied to a
// cluster go with it, when it leaves Git or no longer selects the cluster.
const PruneAnnotation = "fairlead.dev/prune"

// ResourceSetAnnotation on an object in a cluster names the ClusterResourceSet that
// applied it. Who manages its fields would not tell: an object that has a name and
// nothing else has no fields to manage.
const ResourceSetAnnotation = "fairlead.dev/resource-set"

// A ResourceStrategy says what becomes of objects that were applied.
type ResourceStrategy string

// The strategies of a ClusterResourceSet.
const (
	ApplyOnce         ResourceStrategy = "ApplyOnce" // they are made where they are missing, once, and never touched again
	ReconcileStrategy ResourceStrategy = "Reconcile" // they are as Git says, and go when Git no longer names them
)

// A ResourceSet is a ClusterResourceSet that selects a cluster.
type ResourceSet struct {
	Name      string
	Strategy  ResourceStrategy
	Prune     bool       `json:",omitempty"` // what it applied goes with it
	Paused    bool       `json:",omitempty"`
	Resources []Resource // in the order of the ClusterResourceSet
}

// A Resource is a ConfigMap or a Secret of manifests.
type Resource struct {
	Name    string // "ConfigMap/cni"
	Digest  string // over its objects
	Objects []Manifest
}

// A Manifest is one object to apply, as JSON. Its content may be secret.
type Manifest struct {
	ObjectRef
	Content Secret
}

// An ObjectRef names an object in a workload cluster, whatever the version of
// its kind. Namespace is as it was written: what a namespaced object without one
// is in is "default".
type ObjectRef struct{ Group, Kind, Namespace, Name string }

// String returns "Kind.group namespace/name", with no namespace where none was
// written.
func (r ObjectRef) String() string {
	return schema.GroupKind{Group: r.Group, Kind: r.Kind}.String() + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

// MarshalText implements encoding.TextMarshaler.
func (r ObjectRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler: it reads what String gives.
func (r *ObjectRef) UnmarshalText(text []byte) error {
	kind, at, ok := strings.Cut(string(text), " ")
	if !ok {
		return fmt.Errorf("%q names no object", text)
	}
	gk := schema.ParseGroupKind(kind)
	namespace, name, namespaced := strings.Cut(at, "/")
	if !namespaced {
		namespace, name = "", at
	}
	*r = ObjectRef{gk.Group, gk.Kind, namespace, name}
	return nil
}

// Compare orders references by what String returns.
func (r ObjectRef) Compare(o ObjectRef) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Group, o.Group), cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name))
}

// SameObject reports whether r and o name one object: no namespace is "default", or
// nothing to a kind that has none.
func (r ObjectRef) SameObject(o ObjectRef) bool {
	r.Namespace, o.Namespace = cmp.Or(r.Namespace, "default"), cmp.Or(o.Namespace, "default")
	return r == o
}

// Lasting reports whether others may have put into r what cannot be had back: it
// is never deleted because it left Git, only forgotten.
func (r ObjectRef) Lasting() bool {
	switch (schema.GroupKind{Group: r.Group, Kind: r.Kind}).String() {
	case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io", "PersistentVolumeClaim", "PersistentVolume":
		return true
	}
	return false
}

// Refs returns the objects of s, sorted.
func (s *ResourceSet) Refs() []ObjectRef {
	var out []ObjectRef
	for _, r := range s.Resources {
		for _, m := range r.Objects {
			out = append(out, m.ObjectRef)
		}
	}
	slices.SortFunc(out, ObjectRef.Compare)
	return slices.Compact(out)
}

// Mark identifies all that there is to apply of s.
func (s *ResourceSet) Mark() string {
	return DigestOf(s.Strategy, s.Prune, s.Resources) // contents hide themselves, digests stand for them
}

// ResourceSet returns the one called name.
func (c *Cluster) ResourceSet(name string) (ResourceSet, bool) {
	i := slices.IndexFunc(c.ResourceSets, func(s ResourceSet) bool { return s.Name == name })
	if i < 0 {
		return ResourceSet{}, false
	}
	return c.ResourceSets[i], true
}

// A ResourceSetState is what a cluster has of a ResourceSet: its inventory.
type ResourceSetState struct {
	Name     string           `json:"name"`
	Strategy ResourceStrategy `json:"strategy"`
	Prune    bool             `json:"prune,omitempty"`
	// Resources are those that were tried.
	Resources map[string]ResourceState `json:"resources,omitempty"`
	// Objects were applied, or may have been, and were not deleted since. Sorted.
	Objects []ObjectRef `json:"objects,omitempty"`
	// Failures are those of the last try, by object.
	Failures []ResourceFailure `json:"failures,omitempty"`
	Since    time.Time         `json:"since,omitzero"`   // when what is to be applied was tried first
	Tried    time.Time         `json:"tried,omitzero"`   // and last
	Applied  time.Time         `json:"applied,omitzero"` // when all of it was applied last
}

// A ResourceState is how far a Resource is.
type ResourceState struct {
	Digest  string `json:"digest"`  // of what was tried last
	Applied bool   `json:"applied"` // all of that was
}

// A ResourceFailure says why an object could not be applied or deleted.
type ResourceFailure struct {
	Object  ObjectRef `json:"object"`
	Kind    ErrorKind `json:"kind"`
	Message string    `json:"message"` // the API server's own words
}

// Pending returns the names of those resources of s that are still to be
// applied, where the inventory says what was.
func (s *ResourceSet) Pending(have ResourceSetState) []string {
	var out []string
	for _, r := range s.Resources {
		was := have.Resources[r.Name]
		if !was.Applied || s.Strategy == ReconcileStrategy && (was.Digest != r.Digest || have.Strategy != s.Strategy) {
			out = append(out, r.Name)
		}
	}
	return out
}

// Untried reports whether one of the resources of s that are called names was
// was never tried in its present form.
func (s *ResourceSet) Untried(have ResourceSetState, names []string) bool {
	return slices.ContainsFunc(s.Resources, func(r Resource) bool {
		was, tried := have.Resources[r.Name]
		return slices.Contains(names, r.Name) && (!tried || was.Digest != r.Digest)
	})
}

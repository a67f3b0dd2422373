package decode

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	kjson "sigs.k8s.io/json"
)

// writtenObjects are the objects that sets of strategy Reconcile write into a cluster, by what they
// are in it, and the first set that does.
type writtenObjects map[fleet.ObjectRef]writtenBy

type writtenBy struct {
	set     *object
	content string // may be secret
}

// sameObject returns r with the namespace that it has in a cluster: "default" if r has none and its
// kind is namespaced.
func sameObject(r fleet.ObjectRef) fleet.ObjectRef {
	if r.Namespace == metav1.NamespaceDefault {
		r.Namespace = ""
	}
	return r
}

// add notes that set writes m. It returns another set that writes the same object with other
// content; nil: there is none.
func (w writtenObjects) add(set *object, m fleet.Manifest) *object {
	r, content := sameObject(m.ObjectRef), string(m.Content.Reveal())
	by, ok := w[r]
	if !ok {
		w[r] = writtenBy{set, content}
	}
	if !ok || by.set == set || by.content == content {
		return nil
	}
	return by.set
}

// resourceSet returns what the ClusterResourceSet o has for the cluster, and notes in w what
// it writes there.
func (b *builder) resourceSet(o *object, in *addonsv1.ClusterResourceSet, w writtenObjects) fleet.ResourceSet {
	set := fleet.ResourceSet{
		Name: o.name, Strategy: fleet.ResourceStrategy(in.Spec.Strategy),
		Prune: o.notes[fleet.PruneAnnotation] == "true", Paused: isPaused(nil, o),
	}
	first := make(map[fleet.ObjectRef]string)
	for i, ref := range in.Spec.Resources {
		from := b.set.get("", ref.Kind, o.namespace, ref.Name)
		if from == nil {
			if !b.set.unreadable {
				b.addf(o, fmt.Sprintf("spec.resources[%d].name", i), b.set.there(ref.Kind),
					"names %s %s/%s, which the overlay does not hold", ref.Kind, o.namespace, ref.Name)
			}
			continue
		}
		if len(from.problems) > 0 {
			continue
		}
		r := fleet.Resource{Name: ref.Kind + "/" + ref.Name, Objects: b.manifests(from)}
		h := sha256.New()
		for _, m := range r.Objects {
			if where, twice := first[sameObject(m.ObjectRef)]; twice {
				b.addf(from, "data", "remove one of them", "%s is there twice, in %s and in %s", m.ObjectRef, where, r.Name)
			}
			first[sameObject(m.ObjectRef)] = r.Name
			if set.Strategy == fleet.ReconcileStrategy && !set.Paused {
				if other := w.add(o, m); other != nil {
					b.addf(o, fmt.Sprintf("spec.resources[%d]", i), "remove it from one of them, or have them select other clusters",
						"%s and this one both write %s in cluster %s, with other content", other, m.ObjectRef, b.key)
				}
			}
			h.Write(append(m.Content.Reveal(), '\n'))
		}
		r.Digest = hex.EncodeToString(h.Sum(nil)[:16])
		set.Resources = append(set.Resources, r)
	}
	return set
}

// manifests returns the objects that a ConfigMap or Secret holds, in the order of
// its keys and of the documents.
func (b *builder) manifests(o *object) []fleet.Manifest {
	content := make(map[string][]byte)
	switch v := o.value.(type) {
	case map[string]string:
		for key, text := range v {
			content[key] = []byte(text)
		}
	case fleet.SecretData:
		if t, _ := o.raw["type"].(string); t != string(addonsv1.ClusterResourceSetSecretType) {
			b.addf(o, "type", "set it to "+string(addonsv1.ClusterResourceSetSecretType),
				"must be %s in a Secret that a ClusterResourceSet names, is %q", addonsv1.ClusterResourceSetSecretType, t)
			return nil
		}
		for key, value := range v {
			content[key] = value.Reveal()
		}
	}
	var out []fleet.Manifest
	broken := false
	for _, key := range slices.Sorted(maps.Keys(content)) {
		found, err := manifests(content[key])
		if err != nil {
			broken = true
			text := err.Error()
			if o.kind.secret {
				text = hidden(err)
			}
			b.addf(o, "data."+key, "each document is one Kubernetes object with apiVersion, kind and metadata.name", "%s", text)
		}
		out = append(out, found...)
	}
	if len(out) == 0 && !broken {
		b.addf(o, "data", "put manifests there, or take it out of the ClusterResourceSet", "holds no object")
	}
	return out
}

// A documentError is what is wrong with a document of manifests.
type documentError struct {
	number int    // the first is 1; 0: all of them
	what   string // shows nothing of the content
	err    error  // may
}

// Error implements error.
func (e *documentError) Error() string {
	text := e.what
	if e.number > 0 {
		text = fmt.Sprintf("document %d %s", e.number, e.what)
	}
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

// hidden returns the text of err without anything of the content.
func hidden(err error) string {
	if e, ok := errors.AsType[*documentError](err); ok {
		return (&documentError{number: e.number, what: e.what}).Error()
	}
	return "cannot be read"
}

// manifests reads YAML documents, or JSON: an object, a List, or an array of
// them. Documents that hold nothing are passed over.
func manifests(data []byte) ([]fleet.Manifest, error) {
	limits := documents.AddonLimits()
	list, err := documents.Split(data, limits)
	if r, ok := errors.AsType[*documents.Refusal](err); ok {
		return nil, &documentError{what: "the manifests cannot be read", err: r}
	}
	var out []fleet.Manifest
	for i, document := range list {
		bad := func(what string, err error) error { return &documentError{i + 1, what, err} }
		data, err := documents.ToJSONStrict(document, limits)
		if err != nil {
			return out, bad("is not valid YAML", err)
		}
		var v any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &v); err != nil {
			return out, bad("is not valid YAML", err)
		}
		for _, item := range items(v) {
			m, err := manifest(item)
			if err != nil {
				return out, bad(err.Error(), nil)
			}
			out = append(out, m)
		}
	}
	if err != nil {
		return out, &documentError{len(list) + 1, "cannot be read", err}
	}
	return out, nil
}

// items returns the objects of a document.
func items(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case map[string]any:
		if list, ok := v["items"].([]any); ok && v["kind"] == "List" {
			return list
		}
	}
	return []any{v}
}

// manifest returns an object. Errors show nothing of the content.
func manifest(v any) (fleet.Manifest, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return fleet.Manifest{}, errors.New("is no mapping")
	}
	text := func(key string) string { s, _ := m[key].(string); return s }
	meta, _ := m["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	switch {
	case text("apiVersion") == "":
		return fleet.Manifest{}, errors.New("has no apiVersion")
	case text("kind") == "":
		return fleet.Manifest{}, errors.New("has no kind")
	case name == "":
		return fleet.Manifest{}, errors.New("has no metadata.name: names in Git are fixed")
	}
	u := unstructured.Unstructured{Object: m}
	u.SetManagedFields(nil) // a server writes these, and refuses what has them
	u.SetResourceVersion("")
	u.SetUID("")
	u.SetSelfLink("")
	for _, field := range []string{"creationTimestamp", "generation"} {
		unstructured.RemoveNestedField(m, "metadata", field)
	}
	delete(m, "status")
	content, err := canonicalJSON(m)
	if err != nil {
		return fleet.Manifest{}, errors.New("cannot be written as JSON")
	}
	gvk := u.GroupVersionKind()
	return fleet.Manifest{
		ObjectRef: fleet.ObjectRef{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: name},
		Content:   fleet.NewSecret(content),
	}, nil
}

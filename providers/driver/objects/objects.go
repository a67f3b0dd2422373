package objects

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
)

// Read returns the spec of o, a normalised object of that kind. For another kind the error has
// the kind Invalid.
func Read[T any](o fleet.Object, kind string) (*T, error) {
	if o.GVK.Kind != kind {
		return nil, fleet.Errorf(fleet.Invalid, "read "+kind+" "+o.Name, "it is a %s", o.GVK.Kind)
	}
	spec := new(T)
	if err := json.Unmarshal(o.Spec, spec); err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "read "+kind+" "+o.Name, "%w", err)
	}
	return spec, nil
}

// Companion returns the companion of c with that name; nil if there is none.
func Companion(c *fleet.Cluster, kind, name string) *fleet.Object {
	i := slices.IndexFunc(c.Companions, func(o fleet.Object) bool { return o.GVK.Kind == kind && o.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Companions[i]
}

// LetsIn reports whether selector, the namespaceSelector of an object that clusters of
// several namespaces may use, selects the namespace of c. No selector selects all.
func LetsIn(selector *metav1.LabelSelector, c *fleet.Cluster) (bool, error) {
	if selector == nil {
		return true, nil
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, err
	}
	return s.Matches(labels.Set(c.NamespaceLabels)), nil
}

// Secrets finds the Secrets that objects name.
type Secrets struct {
	// Store returns a Secret that Git does not hold; nil means that there are none.
	Store func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
	// Example is the key that such a Secret has, with its file: "clouds.yaml=FILE".
	Example string
}

// Find returns the Secret k: that of git, which is the object's overlay, otherwise that of the
// store. If neither has it, the error has the kind Unauthorized, and says what to do.
func (s Secrets) Find(ctx context.Context, k fleet.Key, git map[fleet.Key]fleet.SecretData) (fleet.SecretData, error) {
	if d, ok := git[k]; ok {
		return d, nil
	}
	op := "find Secret " + k.String()
	if s.Store == nil {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "Git does not hold it (add it to the overlay, encrypted)")
	}
	d, err := s.Store(ctx, k)
	if fleet.KindOf(err) == fleet.NotFound {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "neither Git nor the secret store has it (add it to the overlay, encrypted, or put it in with: fairlead secrets set %s --from-file %s)", k, s.Example)
	}
	return d, err
}

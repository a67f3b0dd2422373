package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// manager owns the fields that are applied.
const manager = "fairlead"

// ApplyResources implements providers.Workload.
func (c *Client) ApplyResources(ctx context.Context, a providers.Access, s fleet.ResourceSet, names []string) error {
	op := "apply ClusterResourceSet " + s.Name + " of cluster " + a.Cluster.String()
	n, err := c.conn(a)
	if err != nil {
		return err
	}
	ctx, sent := noteSent(ctx)
	i := &inventory{conn: n}
	if err := within(ctx, c.o.Timeout, func(ctx context.Context) error { return i.read(ctx, s.Name) }); err != nil {
		return sent.classify(op, err)
	}
	now := c.o.Now().UTC()
	if s.Untried(i.ResourceSetState, names) || i.Since.IsZero() {
		i.Since, i.Failures = now, nil
	}
	i.intend(s, names)
	if err := within(ctx, c.o.Timeout, i.write); err != nil {
		return sent.classify(op, err)
	}
	r := &resources{conn: n, set: s.Name, timeout: c.o.Timeout, force: s.Strategy == fleet.ReconcileStrategy}
	if err := r.apply(ctx, s, names); err != nil {
		return sent.classify(op, err)
	}
	i.conclude(s, names, r.failures)
	i.Tried = now
	if len(i.Failures) == 0 && len(s.Pending(i.ResourceSetState)) == 0 {
		i.Applied = now
	}
	return sent.classify(op, within(ctx, c.o.Timeout, i.write))
}

// PruneResources implements providers.Workload.
func (c *Client) PruneResources(ctx context.Context, a providers.Access, s fleet.ResourceSet, objects []fleet.ObjectRef) error {
	op := "prune ClusterResourceSet " + s.Name + " of cluster " + a.Cluster.String()
	n, err := c.conn(a)
	if err != nil {
		return err
	}
	ctx, sent := noteSent(ctx)
	i := &inventory{conn: n}
	if err := within(ctx, c.o.Timeout, func(ctx context.Context) error { return i.read(ctx, s.Name) }); err != nil {
		return sent.classify(op, err)
	}
	r := &resources{conn: n, set: s.Name, timeout: c.o.Timeout}
	if err := r.prune(ctx, objects); err != nil {
		return sent.classify(op, err)
	}
	stays := s.Refs()
	for _, f := range r.failures {
		stays = append(stays, f.Object)
	}
	i.Objects = slices.DeleteFunc(i.Objects, func(o fleet.ObjectRef) bool { return !slices.ContainsFunc(stays, o.SameObject) })
	if s.Resources == nil && len(r.failures) == 0 {
		return sent.classify(op, within(ctx, c.o.Timeout, i.remove))
	}
	if len(i.Failures) == 0 {
		i.Since = c.o.Now().UTC()
	}
	i.Failures, i.Tried = r.failures, c.o.Now().UTC()
	return sent.classify(op, within(ctx, c.o.Timeout, i.write))
}

// intend notes what is about to be applied: from now on, until conclude, no reader
// may take it for applied, nor its objects for somebody else's.
func (i *inventory) intend(s fleet.ResourceSet, names []string) {
	known := make(map[string]fleet.ResourceState)
	for _, r := range s.Resources {
		if slices.Contains(names, r.Name) {
			known[r.Name] = fleet.ResourceState{Digest: r.Digest}
			for _, m := range r.Objects {
				if !slices.ContainsFunc(i.Objects, m.SameObject) {
					i.Objects = append(i.Objects, m.ObjectRef)
				}
			}
		} else if was, ok := i.Resources[r.Name]; ok {
			known[r.Name] = was
		}
	}
	i.Resources, i.Strategy, i.Prune = known, s.Strategy, s.Prune
}

// conclude notes what came of applying.
func (i *inventory) conclude(s fleet.ResourceSet, names []string, failures []fleet.ResourceFailure) {
	for _, r := range s.Resources {
		if !slices.Contains(names, r.Name) {
			continue
		}
		i.Resources[r.Name] = fleet.ResourceState{Digest: r.Digest, Applied: !slices.ContainsFunc(r.Objects, func(m fleet.Manifest) bool {
			return slices.ContainsFunc(failures, func(f fleet.ResourceFailure) bool { return f.Object == m.ObjectRef })
		})}
	}
	i.Failures = failures
}

// resources applies and deletes objects of any kind, one after the other.
type resources struct {
	*conn
	set      string        // whose objects they are
	timeout  time.Duration // of one object
	force    bool          // what is there is brought to its desired state
	mapper   meta.RESTMapperWithContext
	defined  bool // kinds were, since mapper was made
	failures []fleet.ResourceFailure
}

// stage says when an object is applied: what others need comes first, what stands
// in their way while it has no pods yet comes last.
func stage(o fleet.ObjectRef) int {
	switch o.Kind {
	case "Namespace":
		return namespaces
	case "CustomResourceDefinition":
		return kinds
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService":
		return hooks
	}
	return everythingElse
}

const (
	namespaces = iota
	kinds
	everythingElse
	hooks
)

// apply applies the resources of s called names. It returns an error where the
// API server does not answer: what was refused is in failures.
func (r *resources) apply(ctx context.Context, s fleet.ResourceSet, names []string) error {
	var all []fleet.Manifest
	secret := make(map[fleet.ObjectRef]bool)
	for _, resource := range s.Resources {
		if !slices.Contains(names, resource.Name) {
			continue
		}
		all = append(all, resource.Objects...)
		for _, m := range resource.Objects {
			secret[m.ObjectRef] = strings.HasPrefix(resource.Name, "Secret/")
		}
	}
	slices.SortStableFunc(all, func(a, b fleet.Manifest) int { return cmp.Compare(stage(a.ObjectRef), stage(b.ObjectRef)) })
	for _, m := range all {
		refused := len(r.failures)
		if err := r.note(m.ObjectRef, r.one(ctx, m)); err != nil {
			return err
		}
		if len(r.failures) > refused && secret[m.ObjectRef] {
			r.failures[refused].Message = discreet(r.failures[refused])
		}
	}
	return nil
}

// discreet stands for what the API server said of an object whose content is
// secret: it may have quoted it, and what it said goes to the status branch.
func discreet(f fleet.ResourceFailure) string {
	return fmt.Sprintf("the API server refused it (%s); why is not shown, since it comes from a Secret", f.Kind)
}

// note takes err, of what was done to o, as a failure where it is the API server's
// answer, and returns it otherwise.
func (r *resources) note(o fleet.ObjectRef, err error) error {
	if err == nil {
		return nil
	}
	_, answer := errors.AsType[*apierrors.StatusError](err)
	kind, _ := kindOf(err)
	if meta.IsNoMatchError(err) {
		// Its definition may be new: the kind is served in a moment.
		answer, kind = true, fleet.Unavailable
	}
	if !answer {
		return fmt.Errorf("%s: %w", o, err)
	}
	r.failures = append(r.failures, fleet.ResourceFailure{Object: o, Kind: kind, Message: err.Error()})
	return nil
}

func (r *resources) one(ctx context.Context, m fleet.Manifest) error {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(m.Content.Reveal()); err != nil {
		return err
	}
	return within(ctx, r.timeout, func(ctx context.Context) error {
		path, namespace, err := r.path(ctx, m.ObjectRef, u.GroupVersionKind().Version)
		if err != nil {
			return err
		}
		if !r.force {
			err := r.rest.Get().MaxRetries(0).AbsPath(path).Do(ctx).Error()
			if !apierrors.IsNotFound(err) {
				return err
			}
		}
		u.SetNamespace(namespace)
		notes := u.GetAnnotations()
		if notes == nil {
			notes = make(map[string]string)
		}
		notes[fleet.ResourceSetAnnotation] = r.set
		u.SetAnnotations(notes)
		r.defined = r.defined || stage(m.ObjectRef) == kinds
		return r.applyAt(ctx, path, u)
	})
}

// prune deletes objects of the set. What somebody else made in the place of one, or
// another set applied since, is not of it.
func (r *resources) prune(ctx context.Context, objects []fleet.ObjectRef) error {
	for _, o := range objects {
		err := within(ctx, r.timeout, func(ctx context.Context) error { return r.delete(ctx, o) })
		if err := r.note(o, err); err != nil {
			return err
		}
	}
	return nil
}

func (r *resources) delete(ctx context.Context, o fleet.ObjectRef) error {
	path, _, err := r.path(ctx, o, "")
	if meta.IsNoMatchError(err) {
		return nil // with its kind, all objects of it went
	}
	if err != nil {
		return err
	}
	got := r.rest.Get().MaxRetries(0).AbsPath(path).Do(ctx)
	if err := got.Error(); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	var live metav1.PartialObjectMetadata // of whatever kind
	raw, err := got.Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &live); err != nil {
		return err
	}
	if live.Annotations[fleet.ResourceSetAnnotation] != r.set {
		return nil
	}
	background := metav1.DeletePropagationBackground
	err = r.rest.Delete().MaxRetries(0).AbsPath(path).Body(&metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: metav1.NewUIDPreconditions(string(live.UID)),
	}).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

package adopt

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// Classes says what is written to Git for a cluster of a ClusterClass.
type Classes string

// The choices.
const (
	KeepClasses   Classes = "keep"   // the class as a library, and the cluster with its topology
	ExpandClasses Classes = "expand" // the objects that Cluster API made of the class
)

// readClass reads the class of a topology, and the templates that the class names.
func (a *Adoption) readClass(ctx context.Context, f *existing) error {
	if !f.topology {
		return nil
	}
	f.class = fleet.Key{
		Namespace: cmp.Or(text(f.cluster, "spec", "topology", "classRef", "namespace"), text(f.cluster, "spec", "topology", "classNamespace"), f.key.Namespace),
		Name:      cmp.Or(text(f.cluster, "spec", "topology", "classRef", "name"), text(f.cluster, "spec", "topology", "class")),
	}
	if a.o.Classes == ExpandClasses {
		return nil
	}
	class, err := a.o.Management.get(ctx, groupKind("ClusterClass"), a.o.Kinds, f.class)
	if fleet.KindOf(err) == fleet.NotFound {
		f.addProblem(f.cluster, "spec.topology", "", "is of ClusterClass %s, which is not there", f.class)
		return nil
	}
	if err != nil {
		return err
	}
	f.classes = append(f.classes, class)
	var refs []ref
	walk(class.Object["spec"], func(key string, m map[string]any) {
		if r := refOf(m); (key == "templateRef" || key == "ref") && r.gk.Kind != "" {
			refs = append(refs, r)
		}
	})
	for _, r := range refs {
		t, err := a.follow(ctx, f, class, "spec", r)
		if err != nil {
			return err
		}
		if t != nil {
			f.classes = append(f.classes, t)
		}
	}
	f.classes = byName(f.classes)
	return nil
}

// walk calls visit for every mapping in v, with its key.
func walk(v any, visit func(key string, m map[string]any)) { walkAt("", v, visit) }

func walkAt(key string, v any, visit func(string, map[string]any)) {
	switch t := v.(type) {
	case map[string]any:
		visit(key, t)
		for k, below := range t {
			walkAt(k, below, visit)
		}
	case []any:
		for _, below := range t {
			walkAt(key, below, visit)
		}
	}
}

// providerObjects returns the objects of providers that the cluster consists of.
func (f *existing) providerObjects() []Object {
	var out []Object
	if f.infra != nil {
		out = append(out, f.infra)
	}
	for _, p := range f.pools {
		out = append(out, p.templates...)
	}
	return append(out, f.classes...)
}

// readCompanions reads the objects of providers that others refer to by name. It reads the
// namespace of the cluster too, since companions may select it by its labels.
func (a *Adoption) readCompanions(ctx context.Context, f *existing) error {
	named := make(map[string]bool)
	for _, o := range f.providerObjects() {
		walk(o.Object["spec"], func(key string, m map[string]any) {
			if name, ok := m["name"].(string); ok && strings.HasSuffix(key, "Ref") {
				named[name] = true
			}
		})
	}
	for _, k := range a.o.Kinds {
		if k.Role != fleet.InfrastructureCompanion {
			continue
		}
		all, err := a.o.Management.list(ctx, schema.GroupKind{Group: k.Group, Kind: k.Kind}, a.o.Kinds, f.key.Namespace, "")
		if err != nil {
			return err
		}
		for _, o := range all {
			if named[o.GetName()] {
				f.companions = append(f.companions, o)
			}
		}
	}
	if len(f.companions) == 0 {
		return nil
	}
	ns, err := a.o.Management.get(ctx, schema.GroupKind{Kind: "Namespace"}, a.o.Kinds, fleet.Key{Name: f.key.Namespace})
	if err != nil {
		return err
	}
	f.companions = append(f.companions, ns)
	return nil
}

// readCredentials reads the Secrets that manifests refer to.
func (a *Adoption) readCredentials(ctx context.Context, f *existing) error {
	wanted := make(map[fleet.Key]Object) // to the object that refers to it
	objects := append(f.providerObjects(), f.companions...)
	for _, p := range f.pools {
		objects = append(objects, p.object)
	}
	for _, o := range objects {
		for _, k := range a.secretsOf(o) {
			wanted[k] = o
		}
	}
	for k, from := range wanted {
		s, err := a.o.Management.get(ctx, schema.GroupKind{Kind: "Secret"}, a.o.Kinds, k)
		if fleet.KindOf(err) == fleet.NotFound {
			f.addProblem(from, "spec", "", "refers to Secret %s, which is not there", k)
			continue
		}
		if err != nil {
			return err
		}
		f.credentials = append(f.credentials, s)
	}
	f.credentials = byName(f.credentials)
	return nil
}

// secretsOf returns the Secrets that o refers to: by the rules of its kind, and those that
// user data takes files and passwords from.
func (a *Adoption) secretsOf(o Object) []fleet.Key {
	out := bootSecrets(o)
	gvk := o.GroupVersionKind()
	i := slices.IndexFunc(a.o.Kinds, func(k fleet.Kind) bool { return k.Group == gvk.Group && k.Kind == gvk.Kind })
	if i < 0 || a.o.Kinds[i].Secrets == nil {
		return out
	}
	kind := a.o.Kinds[i]
	v := kind.New(gvk.Version)
	raw, err := json.Marshal(o.Object)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return out // the decoder reports the problem
	}
	spec, errs := kind.Normalise(v)
	if len(errs) > 0 {
		return out
	}
	return append(out, kind.Secrets(spec, o.GetNamespace())...)
}

// bootSecrets returns the Secrets whose values go into user data of machines.
func bootSecrets(o Object) []fleet.Key {
	var out []fleet.Key
	walk(o.Object["spec"], func(key string, m map[string]any) {
		if key != "contentFrom" && key != "passwdFrom" {
			return
		}
		if name, _, _ := unstructured.NestedString(m, "secret", "name"); name != "" {
			out = append(out, fleet.Key{Namespace: o.GetNamespace(), Name: name})
		}
	})
	return out
}

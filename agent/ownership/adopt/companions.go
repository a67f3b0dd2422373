package adopt

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
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
	var there []Object
	for _, k := range a.o.Kinds {
		if k.Role != fleet.InfrastructureCompanion || k.Group == metal3Hosts { // see readHosts
			continue
		}
		all, err := a.o.Management.list(ctx, schema.GroupKind{Group: k.Group, Kind: k.Kind}, a.o.Kinds, f.key.Namespace, "")
		if err != nil {
			return err
		}
		there = append(there, all...)
	}
	// Companions name companions, and those beside a control plane that a cloud keeps, the cluster. Pools and machines name
	// zones.
	more := append(f.providerObjects(), f.cluster)
	there = slices.DeleteFunc(there, func(o Object) bool {
		of := f.hosted() && text(o, "spec", "clusterName") == f.key.Name
		if of {
			f.companions, more = append(f.companions, o), append(more, o)
		}
		return of
	})
	for _, p := range f.pools {
		more = append(more, p.object)
	}
	for more = slices.Concat(more, f.machines, f.health); len(more) > 0; {
		wanted := wantedBy(more)
		more = nil
		there = slices.DeleteFunc(there, func(o Object) bool {
			if wanted(o) {
				more = append(more, o)
			}
			return wanted(o)
		})
		f.companions = append(f.companions, more...)
	}
	f.companions = byName(f.companions)
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

// A wish is the need for a companion: for one of a name, and of a kind or of kinds that end alike.
type wish struct{ name, kind, suffix string }

func (w wish) means(o Object) bool {
	return o.GetName() == w.name && (w.kind == "" || o.GetKind() == w.kind) && strings.HasSuffix(o.GetKind(), w.suffix)
}

// zoneKind is how kinds end that machines name as their failure domain.
const zoneKind = "DeploymentZone"

// wishesOf returns what o refers to: by a reference, which may tell the kind, or by the name of a
// failure domain, as machines name zones, and these what they are made of.
func wishesOf(o Object) []wish {
	var out []wish
	walk(o.Object["spec"], func(key string, m map[string]any) {
		part := func(key string) string { s, _ := m[key].(string); return s }
		if part("name") != "" && namesCompanion(key) {
			// OpenStack's identityRef has a type, which its kinds end with, and no kind.
			out = append(out, wish{name: part("name"), kind: part("kind"), suffix: part("type")})
		}
		for field, v := range m { // Metal3's data templates name pools by texts
			if name, ok := v.(string); ok && strings.HasSuffix(strings.ToLower(field), "fromippool") {
				out = append(out, wish{name: name})
			}
		}
		switch domain := part("failureDomain"); {
		case domain == "":
		case strings.HasSuffix(o.GetKind(), zoneKind):
			out = append(out, wish{name: domain, suffix: "FailureDomain"})
		default:
			out = append(out, wish{name: domain, suffix: zoneKind})
		}
	})
	return out
}

// wantedBy returns whether objects refer to a companion: by its name, or, as vSphere's clusters
// do to deployment zones, by its labels.
func wantedBy(objects []Object) func(Object) bool {
	var wishes []wish
	var zones []labels.Selector
	for _, o := range objects {
		wishes = append(wishes, wishesOf(o)...)
		if raw, ok, err := unstructured.NestedMap(o.Object, "spec", "failureDomainSelector"); ok && err == nil {
			var s metav1.LabelSelector
			if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &s) != nil {
				continue // the decoder reports the problem
			}
			if selector, err := metav1.LabelSelectorAsSelector(&s); err == nil {
				zones = append(zones, selector)
			}
		}
	}
	return func(o Object) bool {
		selected := func(s labels.Selector) bool { return s.Matches(labels.Set(o.GetLabels())) }
		return slices.ContainsFunc(wishes, func(w wish) bool { return w.means(o) }) ||
			strings.HasSuffix(o.GetKind(), zoneKind) && slices.ContainsFunc(zones, selected)
	}
}

// namesCompanion reports whether a field has the name of a companion.
func namesCompanion(field string) bool {
	switch field {
	case "addressesFromPools", "dataTemplate", "remediationTemplate":
		return true
	}
	return strings.HasSuffix(field, "Ref") || strings.HasSuffix(field, "FromPool") || strings.HasSuffix(field, "FromIPPool")
}

// readCredentials reads the Secrets that manifests refer to. One that the management cluster does
// not have may be in the secret store: where the Ironic of Metal3 is, its objects do not say.
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
			switch _, stored := a.o.Secrets.Store.GetSecret(ctx, k); fleet.KindOf(stored) {
			case fleet.NotFound:
				f.addProblem(from, "spec", fmt.Sprintf("put it there, or into the secret store: fairlead secrets set %s", k), "refers to Secret %s, which is not there", k)
			default:
				if stored != nil {
					return stored
				}
			}
			continue
		}
		if err != nil {
			return err
		}
		if a.answers(f, s) {
			continue
		}
		f.credentials = append(f.credentials, s)
	}
	f.credentials = byName(f.credentials)
	return nil
}

// answers reports whether the controller of a template of f made s, as Fairlead's provider answers it: azure.json with a
// password. A copy in Git would keep the former password.
func (a *Adoption) answers(f *existing, s Object) bool {
	return slices.ContainsFunc(f.providerObjects(), func(o Object) bool {
		gvk := o.GroupVersionKind()
		return slices.ContainsFunc(a.o.Kinds, func(k fleet.Kind) bool {
			return k.Group == gvk.Group && k.Kind == gvk.Kind && k.Answers != nil && k.Answers(o.GetName())[s.GetName()] != nil
		}) && slices.ContainsFunc(s.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == o.GetUID() })
	})
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

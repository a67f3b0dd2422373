package decode

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// An overlaySet has all objects of an overlay, and the clusters that they belong to.
type overlaySet struct {
	path     string
	objects  []*object
	byName   map[string]*object // by nameKey
	clusters map[fleet.Key]*object
	keys     []fleet.Key // of clusters, sorted
	members  map[*object][]fleet.Key
	// unreadable says that the kind or name of some objects is not known: an object that
	// seems to be missing may be one of them.
	unreadable bool
}

func nameKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// add adds an object, unless the set has one with its name.
func (s *overlaySet) add(o *object) {
	s.objects = append(s.objects, o)
	if !o.identified() {
		s.unreadable = true
		return
	}
	key := nameKey(o.groupKind(), o.namespace, o.name)
	if first, ok := s.byName[key]; ok {
		o.add("metadata.name", "rename or remove one of them", "the overlay holds this object twice; the other one is in %s", cmp.Or(first.file, "the same overlay"))
		return
	}
	s.byName[key] = o
}

// get returns an object by kind and name.
func (s *overlaySet) get(group, kind, namespace, name string) *object {
	return s.byName[nameKey(groupKind(group, kind), namespace, name)]
}

// findMembers finds the clusters that each object belongs to. It uses the documents alone,
// so that it works for objects that could not be decoded.
func (s *overlaySet) findMembers() {
	s.clusters = make(map[fleet.Key]*object)
	s.members = make(map[*object][]fleet.Key)
	byKind := make(map[string]*object) // by nameKey, kinds without group
	for _, key := range slices.Sorted(maps.Keys(s.byName)) {
		o := s.byName[key]
		byKind[nameKey(o.gvk.Kind, o.namespace, o.name)] = o
		if o.groupKind() == "Cluster.cluster.x-k8s.io" {
			s.clusters[o.key()] = o
		}
	}
	s.keys = slices.SortedFunc(maps.Keys(s.clusters), fleet.Key.Compare)
	for _, k := range s.keys {
		var visit func(o *object)
		visit = func(o *object) {
			if o == nil || slices.Contains(s.members[o], k) {
				return
			}
			s.members[o] = append(s.members[o], k)
			namespace := cmp.Or(o.namespace, k.Namespace)
			refs(o.raw, func(kind, name string) { visit(byKind[nameKey(kind, namespace, name)]) })
			visit(o.class)
		}
		visit(s.clusters[k])
		for _, o := range s.objects {
			if o.namespace == k.Namespace && o.clusterName() == k.Name {
				visit(o)
			}
		}
		for _, o := range s.objects {
			switch o.groupKind() {
			case "MachineDrainRule.cluster.x-k8s.io":
				if o.namespace == k.Namespace {
					visit(o)
				}
			case "ClusterResourceSet.addons.cluster.x-k8s.io", "HelmChartProxy.addons.cluster.x-k8s.io":
				if s.clusters[k].selectedBy(o) {
					visit(o)
				}
			}
		}
		visit(s.get("", "Namespace", "", k.Namespace))
		for _, o := range s.sites(k) {
			visit(o)
		}
		for _, o := range s.companions(k) {
			visit(o)
		}
		for _, o := range s.objects {
			in, ok := o.value.(*infrastructure)
			if !ok || !slices.Contains(s.members[o], k) {
				continue
			}
			for _, secret := range in.secrets {
				visit(s.get("", "Secret", secret.Namespace, secret.Name))
			}
		}
	}
}

// sites returns the objects for clusters of any provider that have the name and namespace
// of the one that the cluster refers to, including that one. Each makes its provider a site
// of the cluster. Source: people who mix providers in Cluster API write them like this,
// since controllers of machines look for a cluster of their own kind with the name in
// spec.infrastructureRef. A class generates the name of the one that the cluster refers to: then
// objects of other providers may have the name of the cluster.
func (s *overlaySet) sites(cluster fleet.Key) []*object {
	root := s.clusters[cluster]
	in, ok := root.value.(*clusterv1.Cluster)
	if !ok || in.Spec.InfrastructureRef.Name == "" {
		return nil
	}
	ref := in.Spec.InfrastructureRef
	first := s.get(ref.APIGroup, ref.Kind, cluster.Namespace, ref.Name)
	named := func(o *object) bool {
		if o.name == ref.Name {
			return true
		}
		return o.name == cluster.Name && root.expansion != nil && (first == nil || first.kind == nil || first.kind.provider != o.kind.provider)
	}
	var out []*object
	for _, o := range s.objects {
		if o.kind != nil && o.kind.role == fleet.InfrastructureCluster && o.namespace == cluster.Namespace && named(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(x, y *object) int { return strings.Compare(x.groupKind(), y.groupKind()) })
	return out
}

// companions returns the companions that a cluster may refer to: those of its providers, in
// its namespace or in none.
func (s *overlaySet) companions(cluster fleet.Key) []*object {
	var out []*object
	for _, o := range s.objects {
		if o.kind == nil || o.kind.role != fleet.InfrastructureCompanion || o.namespace != "" && o.namespace != cluster.Namespace {
			continue
		}
		if of := o.ofCluster(); of != "" && of != cluster.Name {
			continue
		}
		if slices.ContainsFunc(s.objects, func(other *object) bool {
			return other.kind != nil && slices.Contains(o.kind.users, other.kind.provider) && other.kind.role != fleet.InfrastructureCompanion &&
				slices.Contains(s.members[other], cluster)
		}) {
			out = append(out, o)
		}
	}
	return out
}

// specs returns the normalised specs of a provider's companions of a kind, by name: those
// in a namespace, or those of a kind without namespaces. nil stands for one with problems.
func (s *overlaySet) specs(provider, kind, namespace string) map[string]any {
	out := make(map[string]any)
	for _, o := range s.objects {
		if o.kind == nil || o.kind.role != fleet.InfrastructureCompanion || !slices.Contains(o.kind.users, provider) || o.gvk.Kind != kind || o.namespace != "" && o.namespace != namespace {
			continue
		}
		out[o.name] = nil
		if in, ok := o.value.(*infrastructure); ok {
			out[o.name] = in.value
		}
	}
	return out
}

// checkClusters adds a problem to each object that names a cluster which does not exist.
func (s *overlaySet) checkClusters() {
	for _, o := range s.objects {
		switch in := o.value.(type) {
		case *infrastructure:
			if of := o.ofCluster(); in.role == fleet.InfrastructureCompanion && of != "" && s.clusters[fleet.Key{Namespace: o.namespace, Name: of}] == nil && !s.unreadable {
				o.add("spec.clusterName", s.there("Cluster"), "names Cluster %s/%s, which the overlay does not hold", o.namespace, of)
			}
		case *clusterv1.MachineDeployment, *clusterv1.Machine, *machinePool, *clusterv1.MachineHealthCheck:
			if len(s.members[o]) == 0 && !s.unreadable {
				o.add("spec.clusterName", s.there("Cluster"), "names Cluster %s/%s, which the overlay does not hold", o.namespace, o.clusterName())
			}
		case *clusterv1.MachineDrainRule:
			if len(s.members[o]) == 0 && !s.unreadable {
				o.add("metadata.namespace", s.there("Cluster"), "is for the clusters of namespace %s, of which the overlay holds none", o.namespace)
			}
		}
	}
}

// there lists the objects of a kind in the overlay.
func (s *overlaySet) there(kind string) string {
	var names []string
	for _, o := range s.objects {
		if o.gvk.Kind == kind && o.name != "" {
			names = append(names, o.title())
		}
	}
	if len(names) == 0 {
		return "the overlay holds no " + kind
	}
	slices.Sort(names)
	return "the overlay holds " + kind + " " + strings.Join(names, ", ")
}

// ofCluster returns spec.clusterName of the object.
func (o *object) ofCluster() string {
	spec, _ := o.raw["spec"].(map[string]any)
	name, _ := spec["clusterName"].(string)
	return name
}

// clusterName returns the name of the cluster that the object names.
func (o *object) clusterName() string {
	spec, _ := o.raw["spec"].(map[string]any)
	if name, ok := spec["clusterName"].(string); ok {
		return name
	}
	return o.labels[clusterv1.ClusterNameLabel]
}

// refs calls found for everything in v that looks like a reference: a mapping with a name,
// and a kind, unless it refers to a Secret.
func refs(v any, found func(kind, name string)) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["name"].(string); ok {
			if kind, ok := v["kind"].(string); ok && kind != "Cluster" {
				found(kind, name)
			} else if !ok {
				found("Secret", name)
			}
		}
		for _, e := range v {
			refs(e, found)
		}
	case []any:
		for _, e := range v {
			refs(e, found)
		}
	}
}

// owners returns the clusters that a problem of o holds back; none stands for all.
func (s *overlaySet) owners(o *object) []fleet.Key {
	if !o.identified() {
		return nil
	}
	return s.members[o]
}

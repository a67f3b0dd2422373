package decode

import (
	"encoding/json"

	"fairlead.dev/fleet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	addonsv1beta1 "sigs.k8s.io/cluster-api/api/addons/v1beta1"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
)

func clusterResourceSetKind() *kind {
	kinds := []string{string(addonsv1.ConfigMapClusterResourceSetResourceKind), string(addonsv1.SecretClusterResourceSetResourceKind)}
	return &kind{
		group: "addons.cluster.x-k8s.io", name: "ClusterResourceSet",
		versions: []string{"v1beta2", "v1beta1"},
		new: func(version string) any {
			if version == "v1beta1" {
				return &addonsv1beta1.ClusterResourceSet{}
			}
			return &addonsv1.ClusterResourceSet{}
		},
		normalise: normaliseClusterResourceSet,
		ours:      map[string]func(string) string{fleet.PruneAnnotation: yesOrNo},
		values: map[string][]string{
			"spec.strategy":       {string(fleet.ApplyOnce), string(fleet.ReconcileStrategy)},
			"spec.resources.kind": kinds,
		},
		refused: metadataRefused(nil),
		limited: map[string]string{
			"metadata.annotations": "fairlead.dev/prune, cluster.x-k8s.io/paused; others do nothing",
			"metadata.namespace":   "the set is for the clusters of this namespace in the same overlay",
			"spec.clusterSelector": "by the labels of the Cluster",
			"spec.resources":       "ConfigMaps and Secrets of the same namespace and overlay; one that is missing is a problem",
		},
		unused: metadataUnused(nil),
	}
}

// maxResources is how many resources a set may have.
// Source: Cluster API, schema of ClusterResourceSet.
const maxResources = 100

// normaliseClusterResourceSet keeps the defaults and rules of Cluster API's
// schema and webhook for ClusterResourceSet. A selector and a strategy may change
// here: a commit says so.
func normaliseClusterResourceSet(v any) (any, field.ErrorList) {
	s, ok := v.(*addonsv1.ClusterResourceSet)
	if !ok {
		s = &addonsv1.ClusterResourceSet{}
		if err := addonsv1beta1.Convert_v1beta1_ClusterResourceSet_To_v1beta2_ClusterResourceSet(v.(*addonsv1beta1.ClusterResourceSet), s, nil); err != nil {
			return nil, cannotConvert(err)
		}
	}
	if s.Spec.Strategy == "" {
		s.Spec.Strategy = string(fleet.ApplyOnce)
	}
	spec := field.NewPath("spec")
	errs := validateSelector(&s.Spec.ClusterSelector, spec.Child("clusterSelector"))
	if selectsNothing(&s.Spec.ClusterSelector) {
		errs = append(errs, field.Required(spec.Child("clusterSelector"), "matchLabels or matchExpressions: an empty selector selects no cluster"))
	}
	resources := spec.Child("resources")
	if n := len(s.Spec.Resources); n == 0 {
		errs = append(errs, field.Required(resources, "at least one ConfigMap or Secret"))
	} else if n > maxResources {
		errs = append(errs, field.TooMany(resources, n, maxResources))
	}
	seen := make(map[addonsv1.ResourceRef]bool)
	for i, r := range s.Spec.Resources {
		switch at := resources.Index(i); {
		case r.Name == "":
			errs = append(errs, field.Required(at.Child("name"), ""))
		case r.Kind == "":
			errs = append(errs, field.Required(at.Child("kind"), "ConfigMap or Secret"))
		case seen[r]:
			errs = append(errs, field.Duplicate(at, r.Kind+" "+r.Name))
		}
		seen[r] = true
	}
	return s, errs
}

func selectsNothing(s *metav1.LabelSelector) bool {
	return len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// selectedBy reports whether addon selects o, a Cluster. It reads the addon before decoding: if its
// selector is invalid, it selects every cluster of its namespace, so that they have its problem.
func (o *object) selectedBy(addon *object) bool {
	if addon.namespace != o.namespace {
		return false
	}
	spec, _ := addon.raw["spec"].(map[string]any)
	var s metav1.LabelSelector
	if err := json.Unmarshal(marshal(spec["clusterSelector"]), &s); err != nil || selectsNothing(&s) {
		return true
	}
	return len(validateSelector(&s, nil)) > 0 || fleet.Selects(&s, o.labels)
}

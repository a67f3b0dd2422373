package api

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// FargateRole is the role of Pods on Fargate by default.
const FargateRole = "eks-fargate.cluster-api-provider-aws.sigs.k8s.io"

// The limits of EKS for profiles.
// Source: EKS API reference, CreateFargateProfile, and "Amazon EKS service quotas".
const (
	mostSelectors = 5
	mostLabels    = 5
)

// fargateSpec is what both versions of AWSFargateProfileSpec have.
type fargateSpec struct {
	AdditionalTags map[string]string `json:"additionalTags,omitempty"`
	ClusterName    string            `json:"clusterName"`
	ProfileName    string            `json:"profileName,omitempty"`
	RoleName       string            `json:"roleName,omitempty"`
	Selectors      []FargateSelector `json:"selectors,omitempty"`
	SubnetIDs      []string          `json:"subnetIDs,omitempty"`
}

// AWSFargateProfileSpec says which Pods of a cluster of EKS run on Fargate.
type AWSFargateProfileSpec struct {
	fargateSpec

	RolePath                string `json:"rolePath,omitempty"`
	RolePermissionsBoundary string `json:"rolePermissionsBoundary,omitempty"`
}

// v1beta1FargateSpec is AWSFargateProfileSpec as v1beta1 has it.
type v1beta1FargateSpec struct{ fargateSpec }

// A FargateSelector selects Pods of a namespace.
type FargateSelector struct {
	Labels    map[string]string `json:"labels,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
}

// fargateProfile is a kinds.Normaliser.
func fargateProfile(o metav1.Object, at *field.Path, s *AWSFargateProfileSpec) (any, field.ErrorList) {
	v := new(validator)
	v.Required(at.Child("clusterName"), s.ClusterName, "the name of the Cluster")
	v.tags(at.Child("additionalTags"), s.AdditionalTags)
	s.ProfileName = v.managedName(at.Child("profileName"), s.ProfileName, o, longestCluster)
	if s.RoleName == "" {
		s.RoleName = FargateRole
	}
	s.RolePath = v.rolePath(at.Child("rolePath"), s.RolePath)
	s.SubnetIDs = objects.Set(v, at.Child("subnetIDs"), s.SubnetIDs)
	for i, id := range s.SubnetIDs {
		v.id(at.Child("subnetIDs").Index(i), id, "subnet-")
	}
	selectors := at.Child("selectors")
	switch n := len(s.Selectors); {
	case n == 0:
		v.Required(selectors, "", "which Pods run on Fargate")
	case n > mostSelectors:
		v.Add(field.TooMany(selectors, n, mostSelectors))
	}
	for i, one := range s.Selectors {
		v.Required(selectors.Index(i).Child("namespace"), one.Namespace, "the namespace of the Pods")
		if n := len(one.Labels); n > mostLabels {
			v.Add(field.TooMany(selectors.Index(i).Child("labels"), n, mostLabels))
		}
	}
	return s, v.Errors()
}

// oldFargateProfile is the kinds.Normaliser of v1beta1.
func oldFargateProfile(o metav1.Object, at *field.Path, old *v1beta1FargateSpec) (any, field.ErrorList) {
	return fargateProfile(o, at, &AWSFargateProfileSpec{fargateSpec: old.fargateSpec})
}

// FargateProfiles returns the specs of the AWSFargateProfiles of c, sorted by the names of the objects.
func FargateProfiles(c *fleet.Cluster) ([]*AWSFargateProfileSpec, error) {
	var out []*AWSFargateProfileSpec
	var errs []error
	names := make(map[string]string)
	for _, o := range c.Companions {
		if o.GVK.Kind != fargateKind {
			continue
		}
		s, err := objects.Read[AWSFargateProfileSpec](o, fargateKind)
		switch {
		case err != nil:
			errs = append(errs, err)
		case s.ClusterName != c.Key.Name:
		case names[s.ProfileName] != "":
			errs = append(errs, fleet.Errorf(fleet.Invalid, "read "+fargateKind+" "+o.Name, "%s has the profileName %s, too (set another one)", names[s.ProfileName], s.ProfileName))
		default:
			names[s.ProfileName] = o.Name
			out = append(out, s)
		}
	}
	return out, fleet.JoinErrors(errs...)
}

// String returns the selector as people write one.
func (s FargateSelector) String() string {
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		labels = append(labels, k+"="+s.Labels[k])
	}
	return strings.TrimSuffix(s.Namespace+" "+strings.Join(labels, ","), " ")
}

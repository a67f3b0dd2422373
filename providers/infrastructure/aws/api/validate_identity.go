package api

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// The bounds of the time for which credentials of a role are valid. A role that is assumed by another
// role has them for an hour at most.
// Source: STS API reference, AssumeRole; IAM user guide, "Role chaining".
const (
	leastDuration    = 900
	longestDuration  = 43200
	longestOfAChain  = 3600
	longestSessionID = 64
)

func (v *validator) roleIdentity(at *field.Path, s *AWSClusterRoleIdentitySpec) {
	v.selector(at, s.AllowedNamespaces)
	arn := at.Child("roleARN")
	if v.Required(arn, s.RoleARN, "the ARN of the role") && (!strings.HasPrefix(s.RoleARN, "arn:") || !strings.Contains(s.RoleARN, ":role/")) {
		v.Invalid(arn, s.RoleARN, `must be the ARN of a role such as "arn:aws:iam::123456789012:role/fleet"`)
	}
	if s.DurationSeconds != 0 {
		objects.Within(v, at.Child("durationSeconds"), s.DurationSeconds, leastDuration, longestDuration, "must be between 900 and 43200")
	}
	v.Text(at.Child("sessionName"), s.SessionName, longestSessionID)
	if s.SourceIdentityRef == nil {
		v.Add(field.Required(at.Child("sourceIdentityRef"), "the identity that assumes the role"))
		return
	}
	v.identityRef(at.Child("sourceIdentityRef"), s.SourceIdentityRef)
	if s.SourceIdentityRef.Kind == RoleIdentity && s.DurationSeconds > longestOfAChain {
		v.Invalid(at.Child("durationSeconds"), s.DurationSeconds, "credentials of a role that another role assumes are valid for an hour at most")
	}
}

func (v *validator) staticIdentity(at *field.Path, s *AWSClusterStaticIdentitySpec) {
	v.selector(at, s.AllowedNamespaces)
	v.Object(at.Child("secretRef"), s.SecretRef, "the name of the Secret with AccessKeyID and SecretAccessKey")
}

func controllerIdentity(o metav1.Object, at *field.Path, s *AWSClusterControllerIdentitySpec) (any, field.ErrorList) {
	var v validator
	v.selector(at, s.AllowedNamespaces)
	if o.GetName() != DefaultIdentity {
		v.Invalid(field.NewPath("metadata", "name"), o.GetName(), "the only one is called "+DefaultIdentity)
	}
	return s, v.Errs
}

package rancher

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// Machines are the fields of a machineTemplate at prefix that do nothing: in references to
// infrastructure, at ref below it and, in an older version, at old, and the bounds on steps
// that nothing waits for.
func Machines(prefix, ref, old string) map[string]string {
	out := make(map[string]string)
	refs := []string{prefix + ref}
	if old != "" {
		refs = append(refs, old)
	}
	for _, at := range refs {
		for _, f := range []string{"fieldPath", "resourceVersion", "uid"} {
			out[at+"."+f] = "has no meaning here, as in Cluster API"
		}
	}
	for _, at := range []string{"nodeDeletionTimeout", "spec.deletion.nodeDeletionTimeoutSeconds"} {
		out[prefix+at] = "removing a Node object is repeated until it is done, and nothing waits for it"
	}
	return out
}

// A MachineTemplate is what a control plane says of its machines, with references and durations as
// Cluster API had them in v1beta1.
type MachineTemplate struct {
	ObjectMeta              clusterv1.ObjectMeta   `json:"metadata,omitempty"`
	InfrastructureRef       corev1.ObjectReference `json:"infrastructureRef,omitzero"`
	NodeDrainTimeout        *metav1.Duration       `json:"nodeDrainTimeout,omitempty"`
	NodeVolumeDetachTimeout *metav1.Duration       `json:"nodeVolumeDetachTimeout,omitempty"`
	NodeDeletionTimeout     *metav1.Duration       `json:"nodeDeletionTimeout,omitempty"`
}

// Deletion says how machines are deleted.
func (t *MachineTemplate) Deletion() clusterv1.MachineDeletionSpec {
	return clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: seconds(t.NodeDrainTimeout), NodeVolumeDetachTimeoutSeconds: seconds(t.NodeVolumeDetachTimeout)}
}

// A RemediationStrategy bounds how often servers are replaced.
type RemediationStrategy struct {
	MaxRetry         *int32           `json:"maxRetry,omitempty"`
	RetryPeriod      *metav1.Duration `json:"retryPeriod,omitempty"`
	MinHealthyPeriod *metav1.Duration `json:"minHealthyPeriod,omitempty"`
}

// Limits returns the bounds of r; nil has none.
func (r *RemediationStrategy) Limits() fleet.RemediationLimits {
	if r == nil {
		return fleet.RemediationLimits{}
	}
	return fleet.RemediationLimits{MaxRetry: r.MaxRetry, RetryPeriodSeconds: seconds(r.RetryPeriod), MinHealthyPeriodSeconds: seconds(r.MinHealthyPeriod)}
}

// seconds returns d in whole seconds.
func seconds(d *metav1.Duration) *int32 {
	if d == nil {
		return nil
	}
	n := int32(d.Duration.Seconds())
	return &n
}

// A FileSpec is a file that people ask for. Its content may come from an S.
type FileSpec[S FileSource] struct {
	Path        string `json:"path"`
	Owner       string `json:"owner,omitempty"`
	Permissions string `json:"permissions,omitempty"`
	Encoding    string `json:"encoding,omitempty"`
	Content     string `json:"content,omitempty"`
	ContentFrom *S     `json:"contentFrom,omitempty"`
}

// A FileSource names a Secret and a key in it, or nothing.
type FileSource interface{ SecretKey() (name, key string) }

// Files returns files as machines have them.
func Files[S FileSource](files []FileSpec[S]) []File {
	var out []File
	for _, f := range files {
		r := File{Path: f.Path, Owner: f.Owner, Permissions: f.Permissions, Encoding: f.Encoding, Content: f.Content}
		if f.ContentFrom != nil {
			r.Secret, r.Key = (*f.ContentFrom).SecretKey()
		}
		out = append(out, r)
	}
	return out
}

// Settled returns files without sources that name nothing.
func Settled[S FileSource](files []FileSpec[S]) []FileSpec[S] {
	files = slices.Clone(files)
	for i, f := range files {
		if f.ContentFrom == nil {
			continue
		}
		if name, _ := (*f.ContentFrom).SecretKey(); name == "" {
			files[i].ContentFrom = nil
		}
	}
	return files
}

// WithoutEmptyLists sets the lists and mappings without an entry in the struct v, and in the
// structs that are parts of it, to nil. What is behind a pointer is left: it says something by
// being there.
func WithoutEmptyLists(v reflect.Value) {
	for _, f := range v.Fields() {
		switch f.Kind() {
		case reflect.Struct:
			WithoutEmptyLists(f)
		case reflect.Slice, reflect.Map:
			if f.Len() == 0 && f.CanSet() {
				f.SetZero()
			}
		}
	}
}

// Secrets are the references of files to Secrets. The files are at path.
func Secrets[S FileSource](files []FileSpec[S], path *field.Path) []fleet.SecretRef {
	var out []fleet.SecretRef
	for i, f := range Files(files) {
		if f.Secret != "" {
			out = append(out, fleet.SecretRef{Field: path.Index(i).Child("contentFrom", "secret").String(), Name: f.Secret, Key: f.Key})
		}
	}
	return out
}

// ValidateVersion checks that v names a release of the program: "v1.34.1" and build and a
// number.
func ValidateVersion(v, build string, path *field.Path) field.ErrorList {
	if v == "" || regexp.MustCompile(`^v?\d+\.\d+\.\d+(-[a-z0-9.]+)?`+regexp.QuoteMeta(build)+`\d+$`).MatchString(v) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, v, "must be a release such as v1.34.1"+build+"1")}
}

// ValidateFiles checks files that people ask for. Content never shows in its errors.
func ValidateFiles(files []File, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[string]bool)
	for i, f := range files {
		at := path.Index(i)
		switch {
		case f.Path == "":
			errs = append(errs, field.Required(at.Child("path"), ""))
		case seen[f.Path]:
			errs = append(errs, field.Duplicate(at.Child("path"), f.Path))
		}
		seen[f.Path] = true
		if f.Secret == "" && f.Key == "" {
			continue
		}
		if f.Content != "" {
			errs = append(errs, field.Forbidden(at.Child("contentFrom"), "only one of content and contentFrom may be set"))
		}
		if f.Secret == "" {
			errs = append(errs, field.Required(at.Child("contentFrom", "secret", "name"), ""))
		}
		if f.Key == "" {
			errs = append(errs, field.Required(at.Child("contentFrom", "secret", "key"), ""))
		}
	}
	return errs
}

// ValidateLabels checks labels that kubelets register with, "key=value".
func ValidateLabels(list []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); !ok || len(problems) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), text, "must be key=value"+because(problems)))
		}
	}
	return errs
}

// ValidateTaints checks taints that kubelets register with, "key=value:effect".
func ValidateTaints(list []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, text := range list {
		t := ParseTaints([]string{text})
		bad := len(t) == 0
		if !bad {
			switch t[0].Effect {
			case "NoSchedule", "PreferNoSchedule", "NoExecute":
				bad = len(validation.IsQualifiedName(t[0].Key)) > 0
			default:
				bad = true
			}
		}
		if bad {
			errs = append(errs, field.Invalid(path.Index(i), text, "must be key=value:effect, with the effect NoSchedule, PreferNoSchedule or NoExecute"))
		}
	}
	return errs
}

func because(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return fmt.Sprintf(": %s", strings.Join(problems, "; "))
}

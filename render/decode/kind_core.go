package decode

import (
	"bytes"
	"maps"
	"slices"

	"fairlead.dev/fleet"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func secretKind() *kind {
	return &kind{
		name:      "Secret",
		versions:  []string{"v1"},
		secret:    true,
		new:       func(string) any { return &corev1.Secret{} },
		normalise: normaliseSecret,
		refused:   metadataRefused(nil),
		limited:   map[string]string{"type": "of one that a ClusterResourceSet names; machines and providers take values by key"},
		unused:    metadataUnused(map[string]string{"immutable": "what is in Git changes with Git"}),
	}
}

func configMapKind() *kind {
	return &kind{
		name:      "ConfigMap",
		versions:  []string{"v1"},
		new:       func(string) any { return &corev1.ConfigMap{} },
		normalise: normaliseConfigMap,
		refused: metadataRefused(map[string]string{
			"binaryData": "only text is passed on; put it into a Secret",
		}),
		unused: metadataUnused(map[string]string{"immutable": "what is in Git changes with Git"}),
	}
}

// namespaceLabels are the labels of a namespace.
type namespaceLabels map[string]string

// namespaceKind is known for its labels, which identities of providers select
// namespaces by.
func namespaceKind() *kind {
	return &kind{
		name:     "Namespace",
		versions: []string{"v1"},
		global:   true,
		new:      func(string) any { return &corev1.Namespace{} },
		normalise: func(v any) (any, field.ErrorList) {
			return namespaceLabels(v.(*corev1.Namespace).Labels), nil
		},
		refused: metadataRefused(nil),
		limited: map[string]string{"metadata.labels": "of the namespace that a cluster is in: identities of providers may select by them"},
		unused:  metadataUnused(map[string]string{"spec.finalizers": "Fairlead makes no namespaces"}),
	}
}

// normaliseSecret merges data and stringData, of which the latter wins, as an
// API server does.
func normaliseSecret(v any) (any, field.ErrorList) {
	s := v.(*corev1.Secret)
	data := make(fleet.SecretData, len(s.Data)+len(s.StringData))
	for key, value := range s.Data {
		data[key] = fleet.NewSecret(value)
	}
	for key, value := range s.StringData {
		data[key] = fleet.NewSecret([]byte(value))
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(data)) {
		for _, msg := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(field.NewPath("data"), key, msg))
		}
		if bytes.HasPrefix(data[key].Reveal(), []byte("ENC[AES256_GCM,")) {
			errs = append(errs, field.Forbidden(field.NewPath("stringData").Key(key), "is still encrypted: the file has lost what sops wrote beside the values; restore it"))
		}
	}
	return data, errs
}

func normaliseConfigMap(v any) (any, field.ErrorList) {
	c := v.(*corev1.ConfigMap)
	var errs field.ErrorList
	for key := range c.Data {
		for _, msg := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(field.NewPath("data"), key, msg))
		}
	}
	return c.Data, errs
}

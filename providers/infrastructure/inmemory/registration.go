package inmemory

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// registration is how a kubelet registers its Node.
type registration struct {
	name        string
	criSocket   string
	providerID  string
	cloud       bool // a controller gives its Node a provider id where the kubelet has none
	labels      map[string]string
	annotations map[string]string
	finalizers  []string
	taints      []corev1.Taint
}

// read returns how the kubelet of a machine called host registers.
func (n nodeRegistration) read(host string, lists, control bool) (registration, error) {
	r := registration{name: strings.ToLower(n.Name), criSocket: n.CRISocket, labels: make(map[string]string)}
	if r.name == "" {
		r.name = strings.ToLower(host)
	}
	if n.Taints != nil {
		r.taints = append(r.taints, *n.Taints...)
	} else if control {
		r.taints = append(r.taints, corev1.Taint{Key: controlPlaneLabel, Effect: corev1.TaintEffectNoSchedule})
	}
	args, err := extraArgs(n.KubeletExtraArgs, lists)
	if err != nil {
		return r, fmt.Errorf("nodeRegistration.kubeletExtraArgs: %w", err)
	}
	r.providerID = args["provider-id"]
	for _, pair := range split(args["node-labels"]) {
		key, value, _ := strings.Cut(pair, "=")
		if !kubeletMaySet(key) {
			return r, fmt.Errorf("the kubelet exits: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [%s]", key)
		}
		r.labels[key] = value
	}
	for _, text := range split(args["register-with-taints"]) {
		i := strings.LastIndex(text, ":")
		if i < 0 {
			return r, fmt.Errorf("the kubelet exits: invalid taint %q in --register-with-taints", text)
		}
		key, value, _ := strings.Cut(text[:i], "=")
		r.taints = append(r.taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(text[i+1:])})
	}
	return r, nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func extraArgs(raw json.RawMessage, lists bool) (map[string]string, error) {
	out := make(map[string]string)
	if len(raw) == 0 {
		return out, nil
	}
	if !lists {
		return out, json.Unmarshal(raw, &out)
	}
	var args []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	for _, a := range args {
		out[a.Name] = a.Value
	}
	return out, nil
}

// kubeletMaySet reports whether a kubelet starts with the label: of the
// namespaces of Kubernetes it knows only some. Source: Kubernetes,
// IsKubeletLabel.
func kubeletMaySet(key string) bool {
	space := path.Dir(key)
	if !strings.HasSuffix("."+space, ".kubernetes.io") && !strings.HasSuffix("."+space, ".k8s.io") {
		return true
	}
	for _, own := range []string{"kubelet.kubernetes.io", "node.kubernetes.io"} {
		if space == own || strings.HasSuffix(space, "."+own) {
			return true
		}
	}
	switch key {
	case corev1.LabelHostname, corev1.LabelArchStable, corev1.LabelOSStable,
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelInstanceTypeStable:
		return true
	}
	return false
}

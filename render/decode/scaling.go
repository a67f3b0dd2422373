package decode

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/fleet"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Annotations of a MachineDeployment that tell an autoscaler what a new Node is
// like, and how to treat its pool.
// Source: cluster-autoscaler, provider clusterapi, "Scale from zero support" and
// "Per-NodeGroup autoscaling options".
const (
	capacityPrefix = "capacity.cluster-autoscaler.kubernetes.io/"
	optionPrefix   = "cluster.x-k8s.io/autoscaling-options-"
)

// scalingNote says which annotations a pool may have about its number of machines.
const scalingNote = "cluster.x-k8s.io/replicas-managed-by, and the size, capacity and option annotations of cluster-autoscaler"

// A scalingReader reads annotations, and gathers what is wrong with them.
type scalingReader struct {
	notes map[string]string
	errs  field.ErrorList
}

func (r *scalingReader) fail(key, format string, args ...any) {
	r.errs = append(r.errs, field.Invalid(field.NewPath("metadata", "annotations").Key(key), r.notes[key], fmt.Sprintf(format, args...)))
}

// scalingOf returns who decides the number of a pool's machines where that is not
// Git: annotations say so, or Git names bounds and no number.
func scalingOf(notes map[string]string, numbered bool) (*fleet.Scaling, field.ErrorList) {
	r := &scalingReader{notes: notes}
	s := &fleet.Scaling{}
	bounded := r.bounds(s)
	r.node(s)
	r.options(s)
	manager, managed := notes[clusterv1.ReplicasManagedByAnnotation]
	if managed && manager == "false" || !managed && (numbered || !bounded) {
		s = nil
	}
	return s, r.errs
}

// bounds reads the bounds, and reports whether there are any.
func (r *scalingReader) bounds(s *fleet.Scaling) bool {
	const lower, upper = clusterv1.AutoscalerMinSizeAnnotation, clusterv1.AutoscalerMaxSizeAnnotation
	_, hasLower := r.notes[lower]
	_, hasUpper := r.notes[upper]
	switch {
	case !hasLower && !hasUpper:
		return false
	case !hasUpper:
		r.fail(lower, "needs %s beside it", upper)
		return false
	case !hasLower:
		r.fail(upper, "needs %s beside it", lower)
		return false
	}
	s.Min, s.Max = r.whole(lower, 0), r.whole(upper, 1)
	if len(r.errs) == 0 && s.Min > s.Max {
		r.fail(lower, "must not be more than %s, which is %d", upper, s.Max)
	}
	return true
}

func (r *scalingReader) whole(key string, least int) int {
	n, err := strconv.ParseInt(r.notes[key], 10, 32)
	if err != nil || int(n) < least || n > fleet.MaxReplicas {
		r.fail(key, "must be a whole number from %d to %d", least, fleet.MaxReplicas)
	}
	return int(n)
}

// node reads what a new Node is like.
func (r *scalingReader) node(s *fleet.Scaling) {
	add := func(name corev1.ResourceName, key string) {
		q, err := resource.ParseQuantity(r.notes[key])
		if err != nil || q.Sign() < 0 {
			r.fail(key, "must be a quantity, such as 4 or 16Gi")
			return
		}
		if s.Capacity == nil {
			s.Capacity = make(corev1.ResourceList)
		}
		s.Capacity[name] = q
	}
	for _, key := range slices.Sorted(maps.Keys(r.notes)) {
		what, ok := strings.CutPrefix(key, capacityPrefix)
		if !ok {
			continue
		}
		switch what {
		case "cpu":
			add(corev1.ResourceCPU, key)
		case "memory":
			add(corev1.ResourceMemory, key)
		case "ephemeral-disk":
			add(corev1.ResourceEphemeralStorage, key)
		case "maxPods":
			add(corev1.ResourcePods, key)
		case "gpu-count":
			kind := r.notes[capacityPrefix+"gpu-type"]
			if kind == "" {
				r.fail(key, "needs %sgpu-type beside it: the name of the resource, such as nvidia.com/gpu", capacityPrefix)
				continue
			}
			add(corev1.ResourceName(kind), key)
		case "gpu-type":
			if r.notes[capacityPrefix+"gpu-count"] == "" {
				r.fail(key, "needs %sgpu-count beside it", capacityPrefix)
			}
			for _, msg := range validation.IsQualifiedName(r.notes[key]) {
				r.fail(key, "%s", msg)
			}
		case "labels":
			s.Labels = r.labels(key)
		case "taints":
			s.Taints = r.taints(key)
		default:
			r.fail(key, "is not known here: cpu, memory, ephemeral-disk, maxPods, gpu-type, gpu-count, labels and taints are")
		}
	}
}

// labels reads "key=value,key=value".
func (r *scalingReader) labels(key string) map[string]string {
	out := make(map[string]string)
	for part := range strings.SplitSeq(r.notes[key], ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || len(validation.IsQualifiedName(name)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			r.fail(key, "must be labels with commas between them, key=value: %q is none", part)
			continue
		}
		out[name] = value
	}
	return out
}

// taints reads "key=value:Effect,key:Effect".
func (r *scalingReader) taints(key string) []corev1.Taint {
	var out []corev1.Taint
	for part := range strings.SplitSeq(r.notes[key], ",") {
		of, effect, _ := strings.Cut(strings.TrimSpace(part), ":")
		name, value, _ := strings.Cut(of, "=")
		known := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
		if !slices.Contains(known, corev1.TaintEffect(effect)) || len(validation.IsQualifiedName(name)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			r.fail(key, "must be taints with commas between them, key=value:NoSchedule: %q is none", part)
			continue
		}
		out = append(out, corev1.Taint{Key: name, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return out
}

// options reads settings of the autoscaler for the pool.
func (r *scalingReader) options(s *fleet.Scaling) {
	share := func(key string) *float64 {
		v, err := strconv.ParseFloat(r.notes[key], 64)
		if err != nil || v < 0 || v > 1 {
			r.fail(key, "must be a number from 0 to 1")
		}
		return &v
	}
	during := func(key string) *time.Duration {
		v, err := time.ParseDuration(r.notes[key])
		if err != nil || v < 0 {
			r.fail(key, "must be a duration, such as 10m")
		}
		return &v
	}
	o := &s.Options
	for _, key := range slices.Sorted(maps.Keys(r.notes)) {
		what, ok := strings.CutPrefix(key, optionPrefix)
		if !ok {
			continue
		}
		switch what {
		case "scaledownutilizationthreshold":
			o.UtilizationThreshold = share(key)
		case "scaledowngpuutilizationthreshold":
			o.GPUUtilizationThreshold = share(key)
		case "scaledownunneededtime":
			o.UnneededTime = during(key)
		case "scaledownunreadytime":
			o.UnreadyTime = during(key)
		case "maxnodeprovisiontime":
			o.ProvisionTime = during(key)
		default:
			r.fail(key, "is not known here: scaledownutilizationthreshold, scaledowngpuutilizationthreshold, scaledownunneededtime, scaledownunreadytime and maxnodeprovisiontime are")
		}
	}
}

// scaling returns who decides the number of machines of a MachineDeployment or
// MachineSet, where that is not Git.
func (b *builder) scaling(o *object, in *clusterv1.MachineDeployment) *fleet.Scaling {
	spec, _ := o.raw["spec"].(map[string]any)
	s, _ := scalingOf(in.Annotations, spec["replicas"] != nil) // what is wrong was told of the object
	return s
}

package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// fill sets every field below v to something, and lists to one element. Leaves
// get different values where their type allows it.
func fill(v reflect.Value, n *int) {
	*n++
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.NewTime(time.Unix(int64(1_700_000_000+*n), 0).UTC())
		return
	case *metav1.Duration:
		p.Duration = time.Duration(*n) * time.Second
		return
	case *intstr.IntOrString:
		*p = intstr.FromInt32(int32(*n))
		return
	case *bootstrapv1beta1.BootstrapTokenString:
		p.ID, p.Secret = "abcdef", "0123456789abcdef"
		return
	case *controlplanev1beta1.RolloutStrategyType:
		*p = controlplanev1beta1.RollingUpdateStrategyType // its only value
		return
	case *resource.Quantity:
		*p = resource.MustParse(fmt.Sprint(*n))
		return
	case *corev1.ObjectReference:
		*p = corev1.ObjectReference{APIVersion: "g/v1", Kind: fmt.Sprintf("K%d", *n), Name: fmt.Sprintf("n%d", *n)}
		return
	}
	if v.Type().String() == "v1.JSON" {
		v.FieldByName("Raw").SetBytes([]byte("true"))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e, n)
		v.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), e)
	case reflect.String:
		v.SetString(fmt.Sprintf("v%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Uint8:
		if v.CanUint() {
			v.SetUint(uint64(*n % 200))
			return
		}
		v.SetInt(int64(*n))
	}
}

// specOf returns the configuration that was normalised to v.
func specOf(v any) bootstrapv1.KubeadmConfigSpec {
	return *v.(*fleet.BootstrapManifest).Spec.(*bootstrapv1.KubeadmConfigSpec)
}

// TestConversionKeepsEveryField fills a v1beta1 spec, converts it to v1beta2 and
// back, and looks at what is missing: that must be what the tables refuse, what
// has no effect, or what convert.go carries over itself.
func TestConversionKeepsEveryField(t *testing.T) {
	cases := map[string]struct {
		kind *kind
		old  any
		back func(v any) (any, error)
		lost []string // carried over by convert.go, tested by value below
	}{
		"Cluster": {
			kind: clusterKind(), old: &clusterv1beta1.Cluster{},
			back: func(v any) (any, error) {
				out := &clusterv1beta1.Cluster{}
				return out, clusterv1beta1.Convert_v1beta2_Cluster_To_v1beta1_Cluster(v.(*clusterv1.Cluster), out, nil)
			},
			lost: []string{"spec.controlPlaneRef", "spec.infrastructureRef"},
		},
		"MachineDeployment": {
			kind: machineDeploymentKind(), old: &clusterv1beta1.MachineDeployment{},
			back: func(v any) (any, error) {
				out := &clusterv1beta1.MachineDeployment{}
				return out, clusterv1beta1.Convert_v1beta2_MachineDeployment_To_v1beta1_MachineDeployment(v.(*clusterv1.MachineDeployment), out, nil)
			},
			lost: []string{
				"spec.minReadySeconds", "spec.template.spec.bootstrap.configRef", "spec.template.spec.infrastructureRef",
			},
		},
		"MachineHealthCheck": {
			kind: machineHealthCheckKind(), old: &clusterv1beta1.MachineHealthCheck{},
			back: func(v any) (any, error) {
				out := &clusterv1beta1.MachineHealthCheck{}
				return out, clusterv1beta1.Convert_v1beta2_MachineHealthCheck_To_v1beta1_MachineHealthCheck(v.(*clusterv1.MachineHealthCheck), out, nil)
			},
		},
		"Machine": {
			kind: machineKind(), old: &clusterv1beta1.Machine{},
			back: func(v any) (any, error) {
				out := &clusterv1beta1.Machine{}
				return out, clusterv1beta1.Convert_v1beta2_Machine_To_v1beta1_Machine(v.(*clusterv1.Machine), out, nil)
			},
			lost: []string{"spec.bootstrap.configRef", "spec.infrastructureRef"},
		},
		"KubeadmConfig": {
			kind: kubeadmConfigKind(), old: &bootstrapv1beta1.KubeadmConfig{},
			back: func(v any) (any, error) {
				out := &bootstrapv1beta1.KubeadmConfig{}
				return out, bootstrapv1beta1.Convert_v1beta2_KubeadmConfig_To_v1beta1_KubeadmConfig(&bootstrapv1.KubeadmConfig{Spec: specOf(v)}, out, nil)
			},
			lost: []string{
				"spec.clusterConfiguration.apiServer.timeoutForControlPlane",
				"spec.joinConfiguration.discovery.timeout",
			},
		},
		"KubeadmConfigTemplate": {
			kind: kubeadmConfigTemplateKind(), old: &bootstrapv1beta1.KubeadmConfigTemplate{},
			back: func(v any) (any, error) {
				out := &bootstrapv1beta1.KubeadmConfigTemplate{}
				in := &bootstrapv1.KubeadmConfigTemplate{}
				in.Spec.Template.Spec = specOf(v)
				return out, bootstrapv1beta1.Convert_v1beta2_KubeadmConfigTemplate_To_v1beta1_KubeadmConfigTemplate(in, out, nil)
			},
			lost: []string{
				"spec.template.spec.clusterConfiguration.apiServer.timeoutForControlPlane",
				"spec.template.spec.joinConfiguration.discovery.timeout",
			},
		},
		"KubeadmControlPlane": {
			kind: kubeadmControlPlaneKind(), old: &controlplanev1beta1.KubeadmControlPlane{},
			back: func(v any) (any, error) {
				out := &controlplanev1beta1.KubeadmControlPlane{}
				return out, controlplanev1beta1.Convert_v1beta2_KubeadmControlPlane_To_v1beta1_KubeadmControlPlane(v.(*fleet.ControlPlaneManifest).Object.(*controlplanev1.KubeadmControlPlane), out, nil)
			},
			lost: []string{
				"spec.machineTemplate.infrastructureRef",
				"spec.kubeadmConfigSpec.clusterConfiguration.apiServer.timeoutForControlPlane",
				"spec.kubeadmConfigSpec.joinConfiguration.discovery.timeout",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := 0
			fill(reflect.ValueOf(c.old).Elem().FieldByName("Spec"), &n)
			before := tree(t, c.old)
			converted, _ := c.kind.normalise(c.old)
			if converted == nil {
				t.Fatal("cannot be converted")
			}
			old, err := c.back(converted)
			if err != nil {
				t.Fatal(err)
			}
			known := map[string]bool{}
			for _, path := range c.lost {
				known[path] = false
			}
			for _, path := range missing(before, tree(t, old), "") {
				covered := false
				for p := path; p != ""; p = parent(p) {
					_, carried := known[p]
					covered = covered || carried || c.kind.refused[p] != "" || c.kind.unused[p] != ""
					if carried {
						known[p] = true
					}
				}
				if !covered {
					t.Errorf("%s is lost on the way to v1beta2", path)
				}
			}
			for path, lost := range known {
				if lost {
					continue
				}
				t.Errorf("%s is not lost by the api module any more: convert.go need not carry it over", path)
			}
		})
	}
}

// parent returns path without its last part.
func parent(path string) string {
	i := strings.LastIndex(path, ".")
	return path[:max(i, 0)]
}

// tree returns the spec of an object as JSON sees it.
func tree(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"spec": m["spec"]}
}

// missing returns the shortest paths without indices that before has and after
// has not, or has with another value.
func missing(before, after any, path string) []string {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			return []string{path}
		}
		var out []string
		for key, value := range b {
			out = append(out, missing(value, a[key], join(path, key))...)
		}
		return out
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) != len(b) {
			return []string{path}
		}
		var out []string
		for i := range b {
			out = append(out, missing(b[i], a[i], path)...)
		}
		return out
	}
	if !cmp.Equal(before, after) {
		return []string{path}
	}
	return nil
}

package eks

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload"
)

// The steps about what EKS installs by itself in a new cluster.
const (
	removeKubeProxy = "RemoveKubeProxy"
	removeVPCCNI    = "RemoveVPCCNI"
	syncVPCCNI      = "SyncVPCCNI"
)

const (
	kubeProxyPath = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
	awsNodePath   = "/apis/apps/v1/namespaces/kube-system/daemonsets/" + awsNode
	awsNode       = "aws-node" // what the network plugin of AWS is called, and its container
)

// Labels and annotations of what people installed instead, which stays.
// Source: CAPA, api/v1beta2/types.go; Helm, pkg/action/validate.go.
const (
	preventDeletion = "aws.cluster.x-k8s.io/prevent-deletion"
	helmRelease     = "meta.helm.sh/release-name"
)

// A components is what Git says of what EKS installs by itself.
type components struct {
	KubeProxy struct{ Disable bool }
	VPCCNI    struct {
		Disable bool
		Env     []corev1.EnvVar
	} `json:"vpcCni"`
}

func componentsOf(h *fleet.HostedControlPlane) (c components, err error) {
	if h != nil && len(h.Object.Spec) > 0 {
		err = json.Unmarshal(h.Object.Spec, &c)
	}
	return c, err
}

// removals are the paths of what goes with a step, the DaemonSet last: as long as that is there, the step is due.
// Source: CAPA, pkg/cloud/services/awsnode/cni.go and pkg/cloud/services/kubeproxy/reconcile.go.
func removals(step string) []string {
	if step == removeKubeProxy {
		return []string{kubeProxyPath}
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	return []string{rbac + "clusterrolebindings/" + awsNode, rbac + "clusterroles/" + awsNode, "/api/v1/namespaces/kube-system/serviceaccounts/" + awsNode, awsNodePath}
}

// installed reports whether people installed an object: with Helm, with Fairlead, or with a label that says so.
func installed(o *metav1.ObjectMeta) bool {
	_, prevented := o.Labels[preventDeletion]
	_, released := o.Annotations[helmRelease]
	ours := func(k string) bool { return strings.HasPrefix(k, "fairlead.dev/") }
	for k := range o.Labels {
		prevented = prevented || ours(k)
	}
	for k := range o.Annotations {
		prevented = prevented || ours(k)
	}
	return prevented || released
}

// daemonSet reads one. It is nil if it is not there.
func daemonSet(ctx context.Context, n *workload.Conn, path string) (*appsv1.DaemonSet, error) {
	d := new(appsv1.DaemonSet)
	err := n.Get(ctx, path, d)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // it is not there, and nothing is wrong
	}
	return d, err
}

// lookAtComponents notes what Git asks for and the cluster does not have, by steps.
func lookAtComponents(ctx context.Context, n *workload.Conn, want *components, marks map[string]string) error {
	for step, there := range map[string]struct {
		asked bool
		path  string
	}{removeKubeProxy: {want.KubeProxy.Disable, kubeProxyPath}, removeVPCCNI: {want.VPCCNI.Disable, awsNodePath}} {
		if !there.asked {
			continue
		}
		d, err := daemonSet(ctx, n, there.path)
		if err != nil {
			return err
		}
		if d != nil && !installed(&d.ObjectMeta) {
			marks[step] = d.Name
		}
	}
	if len(want.VPCCNI.Env) == 0 {
		return nil
	}
	d, err := daemonSet(ctx, n, awsNodePath)
	if d == nil {
		return err
	}
	if names := differing(d, want.VPCCNI.Env); len(names) > 0 {
		marks[syncVPCCNI] = strings.Join(names, ", ")
	}
	return nil
}

// differing returns the names of variables that containers of the plugin do not have, sorted.
func differing(d *appsv1.DaemonSet, want []corev1.EnvVar) []string {
	var out []string
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name != awsNode {
			continue
		}
		for _, e := range want {
			i := slices.IndexFunc(c.Env, func(o corev1.EnvVar) bool { return o.Name == e.Name })
			if i < 0 || !sameVariable(c.Env[i], e) {
				out = append(out, e.Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sameVariable reports whether two variables are equal once the API server has filled in its default.
func sameVariable(is, want corev1.EnvVar) bool {
	if from := want.ValueFrom; from != nil && from.FieldRef != nil && from.FieldRef.APIVersion == "" {
		want.ValueFrom = from.DeepCopy()
		want.ValueFrom.FieldRef.APIVersion = "v1"
	}
	return reflect.DeepEqual(is, want)
}

// componentSteps returns the steps that are due of those that were noted.
func componentSteps(marks map[string]string) []fleet.Step {
	var out []fleet.Step
	add := func(name, format string) {
		if what := marks[name]; what != "" {
			out = append(out, fleet.Step{Name: name, When: fleet.AfterControlPlane, Reason: fmt.Sprintf(format, what)})
		}
	}
	add(removeKubeProxy, "%s is there, and Git has kubeProxy.disable")
	add(removeVPCCNI, "%s is there, and Git has vpcCni.disable")
	add(syncVPCCNI, "environment of "+awsNode+" differs: %s")
	return out
}

// remove deletes what EKS installed. What people installed under its names stays.
func (d Distribution) remove(ctx context.Context, a providers.Access, step string) error {
	return d.clusters.Call(ctx, a, "take step "+step, func(ctx context.Context, n *workload.Conn) error {
		for _, path := range removals(step) {
			var o metav1.PartialObjectMetadata
			switch err := n.GetMetadata(ctx, path, &o); {
			case apierrors.IsNotFound(err):
				continue
			case err != nil:
				return err
			case installed(&o.ObjectMeta):
				continue
			}
			if err := n.Delete(ctx, path, o.UID); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
}

// patchOf returns a variable as a strategic merge patch has it: what it had before goes.
func patchOf(e *corev1.EnvVar) (map[string]any, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"value": nil, "valueFrom": nil}
	if e.ValueFrom != nil {
		out["valueFrom"] = map[string]any{"fieldRef": nil, "resourceFieldRef": nil, "configMapKeyRef": nil, "secretKeyRef": nil}
		one := struct {
			ValueFrom map[string]any `json:"valueFrom"`
		}{out["valueFrom"].(map[string]any)}
		err = json.Unmarshal(data, &one)
		out["name"] = e.Name
		return out, err
	}
	return out, json.Unmarshal(data, &out)
}

// syncEnvironment gives the plugin the variables of Git. Others stay.
func (d Distribution) syncEnvironment(ctx context.Context, a providers.Access, want []corev1.EnvVar) error {
	return d.clusters.Call(ctx, a, "take step "+syncVPCCNI, func(ctx context.Context, n *workload.Conn) error {
		is, err := daemonSet(ctx, n, awsNodePath)
		if is == nil {
			return err
		}
		names := differing(is, want)
		var env []any
		for i := range want {
			if slices.Contains(names, want[i].Name) {
				one, err := patchOf(&want[i])
				if err != nil {
					return err
				}
				env = append(env, one)
			}
		}
		if len(env) == 0 {
			return nil
		}
		return n.Patch(ctx, awsNodePath, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": awsNode, "env": env}},
		}}}})
	})
}

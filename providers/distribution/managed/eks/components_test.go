package eks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
)

// install creates what EKS installs in a new cluster, with labels and annotations.
func (w *authWorld) install(labels, annotations map[string]string) {
	w.Helper()
	w.uninstall()
	w.Cleanup(w.uninstall)
	of := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}
	}
	fail := func(err error) {
		if err != nil {
			w.Fatal(err)
		}
	}
	for _, name := range []string{"kube-proxy", "aws-node"} {
		one := map[string]string{"k8s-app": name}
		_, err := w.admin.AppsV1().DaemonSets("kube-system").Create(w.Context(), &appsv1.DaemonSet{ObjectMeta: of(name), Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: one},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: one}, Spec: corev1.PodSpec{Containers: []corev1.Container{
				{Name: name, Image: "a", Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}, {Name: "C", Value: "3"}}},
				{Name: "agent", Image: "b", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}},
			}}},
		}}, metav1.CreateOptions{})
		fail(err)
	}
	_, err := w.admin.CoreV1().ServiceAccounts("kube-system").Create(w.Context(), &corev1.ServiceAccount{ObjectMeta: of("aws-node")}, metav1.CreateOptions{})
	fail(err)
	_, err = w.admin.RbacV1().ClusterRoles().Create(w.Context(), &rbacv1.ClusterRole{ObjectMeta: of("aws-node")}, metav1.CreateOptions{})
	fail(err)
	_, err = w.admin.RbacV1().ClusterRoleBindings().Create(w.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: of("aws-node"), RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "aws-node"}}, metav1.CreateOptions{})
	fail(err)
}

// uninstall removes all of that.
func (w *authWorld) uninstall() {
	ctx, o := context.Background(), metav1.DeleteOptions{}
	for _, err := range []error{
		w.admin.AppsV1().DaemonSets("kube-system").Delete(ctx, "kube-proxy", o), w.admin.AppsV1().DaemonSets("kube-system").Delete(ctx, "aws-node", o),
		w.admin.CoreV1().ServiceAccounts("kube-system").Delete(ctx, "aws-node", o), w.admin.RbacV1().ClusterRoles().Delete(ctx, "aws-node", o),
		w.admin.RbacV1().ClusterRoleBindings().Delete(ctx, "aws-node", o),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			w.Error(err)
		}
	}
}

// installed returns what of it is there.
func (w *authWorld) installed() string {
	w.Helper()
	ctx, o := w.Context(), metav1.GetOptions{}
	var out []string
	for _, one := range []struct {
		what string
		get  func() error
	}{
		{"kube-proxy", func() error {
			_, err := w.admin.AppsV1().DaemonSets("kube-system").Get(ctx, "kube-proxy", o)
			return err
		}},
		{"aws-node", func() error { _, err := w.admin.AppsV1().DaemonSets("kube-system").Get(ctx, "aws-node", o); return err }},
		{"account", func() error {
			_, err := w.admin.CoreV1().ServiceAccounts("kube-system").Get(ctx, "aws-node", o)
			return err
		}},
		{"role", func() error { _, err := w.admin.RbacV1().ClusterRoles().Get(ctx, "aws-node", o); return err }},
		{"binding", func() error { _, err := w.admin.RbacV1().ClusterRoleBindings().Get(ctx, "aws-node", o); return err }},
	} {
		if err := one.get(); err == nil {
			out = append(out, one.what)
		} else if !apierrors.IsNotFound(err) {
			w.Fatal(err)
		}
	}
	return strings.Join(out, " ")
}

// spec writes the spec of the control plane into Git.
func (w *authWorld) spec(text string) {
	w.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		w.Fatal(err)
	}
	w.git("")
	w.c.Hosted.Object.Spec = data
	w.access.Hosted = w.c.Hosted
}

// TestComponents: what EKS installs by itself goes if Git says so, and what people installed in its place stays.
func TestComponents(t *testing.T) {
	w := newAuthWorld(t)
	w.install(nil, nil)
	w.spec("{kubeProxy: {disable: false}, vpcCni: {}}")
	if steps := w.steps(); len(steps) > 0 {
		t.Errorf("to do is %+v", steps)
	}
	w.spec("{kubeProxy: {disable: true}}")
	w.follow("kube-proxy is there, and Git has kubeProxy.disable")
	if is := w.installed(); is != "aws-node account role binding" {
		t.Errorf("there are %s", is)
	}
	w.spec("{vpcCni: {disable: true}}")
	w.follow("aws-node is there, and Git has vpcCni.disable")
	if is := w.installed(); is != "" {
		t.Errorf("there are %s", is)
	}
	for name, of := range map[string][2]map[string]string{
		"a label": {{"aws.cluster.x-k8s.io/prevent-deletion": ""}, nil}, "Helm": {nil, {"meta.helm.sh/release-name": "a"}}, "Fairlead": {nil, {"fairlead.dev/resource-set": "a"}}, "a label of Fairlead": {{"fairlead.dev/a": "b"}, nil},
	} {
		w.install(of[0], of[1])
		w.spec("{kubeProxy: {disable: true}, vpcCni: {disable: true}}")
		if steps := w.steps(); len(steps) > 0 {
			t.Errorf("%s: to do is %+v", name, steps)
		}
		for _, step := range []string{"RemoveKubeProxy", "RemoveVPCCNI"} { // decided by an older look
			if err := w.d.Apply(t.Context(), w.access, &w.c, fleet.Endpoint{}, step); err != nil {
				t.Error(err)
			}
		}
		if is := w.installed(); is != "kube-proxy aws-node account role binding" {
			t.Errorf("%s: there are %s", name, is)
		}
	}
}

// TestEnvironment: variables of Git are set in the container of the network plugin, and others stay.
func TestEnvironment(t *testing.T) {
	w := newAuthWorld(t)
	w.install(nil, nil)
	w.spec("{vpcCni: {env: [{name: A, value: '1'}, {name: B, value: x}, {name: C, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}, {name: D, value: '4'}]}}")
	w.follow("environment of aws-node differs: B, C, D")
	d, err := w.admin.AppsV1().DaemonSets("kube-system").Get(t.Context(), "aws-node", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]corev1.EnvVar)
	for _, c := range d.Spec.Template.Spec.Containers {
		got[c.Name] = c.Env
	}
	want := map[string]corev1.EnvVar{
		"A": {Name: "A", Value: "1"}, "B": {Name: "B", Value: "x"}, "D": {Name: "D", Value: "4"},
		"C": {Name: "C", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.hostIP"}}},
	}
	for _, e := range got["aws-node"] {
		if d := cmp.Diff(want[e.Name], e); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
		delete(want, e.Name)
	}
	if len(want) > 0 || len(got["agent"]) != 1 {
		t.Errorf("lacks %v; the other container has %v", want, got["agent"])
	}
	w.spec("{vpcCni: {env: [{name: C, valueFrom: {configMapKeyRef: {name: a, key: b}}}]}}")
	w.follow("environment of aws-node differs: C")
	w.spec("{vpcCni: {env: [{name: A, value: '2'}]}}")
	w.uninstall() // and then there is nothing to set it in
	if steps := w.steps(); len(steps) > 0 {
		t.Errorf("to do is %+v", steps)
	}
	if err := w.d.Apply(t.Context(), w.access, &w.c, fleet.Endpoint{}, "SyncVPCCNI"); err != nil {
		t.Error(err)
	}
}

package secrets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
)

// rules are what the store needs: verb, resource.
func rules() [][2]string {
	return [][2]string{{"get", "secrets"}, {"create", "secrets"}, {"update", "secrets"}, {"delete", "secrets"}, {"list", "secrets"}, {"create", "namespaces"}}
}

// What people gave is known by its name without the right to list; what others made is
// not ours to copy.
func TestRealFiltersWithoutList(t *testing.T) {
	s := openReal(t)
	ns := s.server.Namespace()
	given, theirs := fleet.Key{Namespace: ns, Name: "given"}, fleet.Key{Namespace: ns, Name: "theirs"}
	if err := s.SetSecret(t.Context(), given, data("x")); err != nil {
		t.Fatal(err)
	}
	s.put(t, ns, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: theirs.Name}})
	k := s.as(t, [][2]string{{"get", "secrets"}})
	if _, err := k.ListSecrets(t.Context()); fleet.KindOf(err) != fleet.Unauthorized {
		t.Fatalf("it may list: %v", err)
	}
	got, err := k.FilterSecrets(t.Context(), []fleet.Key{theirs, given, {Namespace: ns, Name: "gone"}})
	if d := cmp.Diff([]fleet.Key{given}, got); d != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, d)
	}
	if _, err := s.as(t, nil).FilterSecrets(t.Context(), []fleet.Key{given}); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("without any right: %v, want the kind Unauthorized", err)
	}
}

// Each right is needed, and the error says which is missing.
func TestRealNeedsEachRight(t *testing.T) {
	s := openReal(t)
	// everything uses the whole store, in a namespace that is not there yet.
	everything := func(k *Kubernetes, ns string) error {
		ctx, c, given := t.Context(), fleet.Key{Namespace: ns, Name: "eu-1"}, fleet.Key{Namespace: ns, Name: "given"}
		for _, do := range []func() error{
			func() error { _, err := k.Create(ctx, c, fleet.ClusterCA, data("x")); return err },
			func() error { _, err := k.Get(ctx, c, fleet.ClusterCA); return err },
			func() error { return k.Replace(ctx, c, fleet.Kubeconfig, config("one")) },
			func() error { return k.Replace(ctx, c, fleet.Kubeconfig, config("two")) },
			func() error { return k.SetSecret(ctx, given, data("x")) },
			func() error { _, err := k.ListSecrets(ctx); return err },
			func() error { return k.DeleteSecret(ctx, given) },
			func() error { return k.Delete(ctx, c) },
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := everything(s.Kubernetes, s.server.Namespace()+"-new"); err != nil {
		t.Errorf("with all rights: %v", err)
	}
	for i, missing := range rules() {
		t.Run(strings.Join(missing[:], " "), func(t *testing.T) {
			var others [][2]string
			for j, r := range rules() {
				if j != i {
					others = append(others, r)
				}
			}
			err := everything(s.as(t, others), s.server.Namespace()+"-new")
			want := fmt.Sprintf(`resources: [%s], verbs: [%s]}`, missing[1], missing[0])
			if fleet.KindOf(err) != "Unauthorized" || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("got %v, want the kind Unauthorized and %s", err, want)
			}
		})
	}
}

func TestRealRefusals(t *testing.T) {
	s := openReal(t)
	ctx := t.Context()
	full, leaving, roomy := s.server.Namespace(), s.server.Namespace(), s.server.Namespace()
	none := corev1.ResourceList{"count/secrets": resource.MustParse("0")}
	quota, err := s.admin.CoreV1().ResourceQuotas(full).Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quota.Status.Hard, quota.Status.Used = none, none // as the controller would
	if _, err := s.admin.CoreV1().ResourceQuotas(full).UpdateStatus(ctx, quota, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.admin.CoreV1().Namespaces().Delete(ctx, leaving, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		namespace, value string
		fleet            fleet.ID
		kind             fleet.ErrorKind
		says             string
	}{
		"quota":                     {full, "x", "", "Exhausted", "exceeded quota"},
		"namespace goes":            {leaving, "x", "", "Unavailable", "being terminated"},
		"larger than a Secret":      {roomy, large + "x", "", "Invalid", "1048576"},
		"larger than any request":   {roomy, strings.Repeat(large, 4), "", "Invalid", "too large"},
		"as large as a Secret":      {roomy, large[:1<<20-len(fleet.KubeconfigKey)-100], "", "", ""},
		"name of a fleet too funny": {roomy, "x", "not/a/label", "Invalid", "not/a/label"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fleet.Key{Namespace: c.namespace, Name: "eu-" + fmt.Sprint(len(c.value))}
			err := s.Of(c.fleet).Replace(ctx, cluster, fleet.Kubeconfig, config(c.value))
			if c.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if fleet.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got %s: %.300v, want %s and %q", fleet.KindOf(err), err, c.kind, c.says)
			}
			if strings.Contains(fmt.Sprint(err), large) {
				t.Error("the error holds the secret")
			}
		})
	}
}

package secrets

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// store is reconcile.SecretStore, which the tests of this package need not
// import, and Store.
type store interface {
	Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error)
	Create(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) (fleet.SecretData, error)
	Replace(ctx context.Context, c fleet.Key, name fleet.SecretName, d fleet.SecretData) error
	Delete(ctx context.Context, c fleet.Key) error

	GetSecret(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
	SetSecret(ctx context.Context, k fleet.Key, d fleet.SecretData) error
	DeleteSecret(ctx context.Context, k fleet.Key) error
	ListSecrets(ctx context.Context) ([]fleet.Key, error)
	FilterSecrets(ctx context.Context, keys []fleet.Key) ([]fleet.Key, error)
}

var eu1 = fleet.Key{Namespace: "prod", Name: "eu-1"}

func data(s string) fleet.SecretData {
	return fleet.SecretData{fleet.TLSKeyKey: fleet.NewSecret([]byte(s)), fleet.TLSCertKey: fleet.NewSecret([]byte("cert of " + s))}
}

// reveal makes secrets comparable.
func reveal(d fleet.SecretData) map[string]string {
	out := map[string]string{}
	for k, v := range d {
		out[k] = string(v.Reveal())
	}
	return out
}

func openFile(t testing.TB, dir string) *File {
	t.Helper()
	f, err := OpenFile(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func stores(t *testing.T, test func(t *testing.T, s store)) {
	t.Run("File", func(t *testing.T) { test(t, openFile(t, t.TempDir())) })
	t.Run("Memory", func(t *testing.T) { test(t, NewMemory()) })
	t.Run("Kubernetes", func(t *testing.T) { test(t, openKubernetes(t).Kubernetes) })
	t.Run("kube-apiserver", func(t *testing.T) { test(t, openReal(t).Kubernetes) })
	t.Run("kube-apiserver, one of many fleets", func(t *testing.T) { test(t, openReal(t).Of("prod").(*Kubernetes)) })
}

func TestStore(t *testing.T) {
	stores(t, func(t *testing.T, s store) {
		ctx := t.Context()
		if _, err := s.Get(ctx, eu1, fleet.ClusterCA); fleet.KindOf(err) != "NotFound" {
			t.Errorf("get of nothing: %v, want the kind NotFound", err)
		}
		if err := s.Delete(ctx, eu1); err != nil {
			t.Errorf("delete of nothing: %v, want success", err)
		}
		steps := []struct {
			reason string
			do     func() (fleet.SecretData, error)
			want   string
		}{
			{"create stores", func() (fleet.SecretData, error) { return s.Create(ctx, eu1, fleet.ClusterCA, data("one")) }, "one"},
			{"create does not replace", func() (fleet.SecretData, error) { return s.Create(ctx, eu1, fleet.ClusterCA, data("two")) }, "one"},
			{"get finds what was created", func() (fleet.SecretData, error) { return s.Get(ctx, eu1, fleet.ClusterCA) }, "one"},
			{"another secret is its own", func() (fleet.SecretData, error) { return s.Create(ctx, eu1, fleet.EtcdCA, data("etcd")) }, "etcd"},
			{"replace replaces", func() (fleet.SecretData, error) {
				if err := s.Replace(ctx, eu1, fleet.ClusterCA, data("three")); err != nil {
					return nil, err
				}
				return s.Get(ctx, eu1, fleet.ClusterCA)
			}, "three"},
			{"replace leaves the others", func() (fleet.SecretData, error) { return s.Get(ctx, eu1, fleet.EtcdCA) }, "etcd"},
			{"what is returned is the caller's", func() (fleet.SecretData, error) {
				d, err := s.Get(ctx, eu1, fleet.EtcdCA)
				if err != nil {
					return nil, err
				}
				delete(d, fleet.TLSKeyKey)
				return s.Get(ctx, eu1, fleet.EtcdCA)
			}, "etcd"},
			{"what was given is the caller's, too", func() (fleet.SecretData, error) {
				given := data("four")
				got, err := s.Create(ctx, eu1, fleet.FrontProxyCA, given)
				if err != nil {
					return nil, err
				}
				delete(given, fleet.TLSKeyKey)
				delete(got, fleet.TLSCertKey)
				again, err := s.Create(ctx, eu1, fleet.FrontProxyCA, given)
				if err != nil {
					return nil, err
				}
				delete(again, fleet.TLSCertKey)
				return s.Get(ctx, eu1, fleet.FrontProxyCA)
			}, "four"},
			{"another cluster is its own", func() (fleet.SecretData, error) {
				return s.Create(ctx, fleet.Key{Namespace: "test", Name: "eu-1"}, fleet.ClusterCA, data("test"))
			}, "test"},
		}
		for _, step := range steps {
			got, err := step.do()
			if err != nil {
				t.Fatalf("%s: %v", step.reason, err)
			}
			if d := cmp.Diff(reveal(data(step.want)), reveal(got)); d != "" {
				t.Errorf("%s (-want +got):\n%s", step.reason, d)
			}
		}
		if err := s.Delete(ctx, eu1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, eu1, fleet.ClusterCA); fleet.KindOf(err) != "NotFound" {
			t.Errorf("get after delete: %v, want the kind NotFound", err)
		}
		if _, err := s.Get(ctx, fleet.Key{Namespace: "test", Name: "eu-1"}, fleet.ClusterCA); err != nil {
			t.Errorf("delete took another cluster's secrets too: %v", err)
		}
	})
}

func TestStoreRefusesNamesThatLeadAway(t *testing.T) {
	stores(t, func(t *testing.T, s store) {
		for _, k := range []fleet.Key{
			{},
			{Namespace: "prod"},
			{Name: "eu-1"},
			{Namespace: "..", Name: "eu-1"},
			{Namespace: ".", Name: "identity"},
			{Namespace: "prod", Name: "../../etc/passwd"},
			{Namespace: "prod", Name: ".."},
			{Namespace: "/etc", Name: "passwd"},
			{Namespace: "prod", Name: "a/b"},
			{Namespace: "prod", Name: "a\x00b"},
			{Namespace: ".locks", Name: "a"},
			{Namespace: "prod", Name: ".eu-1"},
			{Namespace: "identity.txt", Name: "a"},
			{Namespace: "prod", Name: `a\b`},
		} {
			_, get := s.Get(t.Context(), k, fleet.ClusterCA)
			_, create := s.Create(t.Context(), k, fleet.ClusterCA, data("x"))
			replace := s.Replace(t.Context(), k, fleet.ClusterCA, data("x"))
			remove := s.Delete(t.Context(), k)
			_, getSecret := s.GetSecret(t.Context(), k)
			setSecret := s.SetSecret(t.Context(), k, data("x"))
			deleteSecret := s.DeleteSecret(t.Context(), k)
			for what, err := range map[string]error{
				"get": get, "create": create, "replace": replace, "delete": remove,
				"get Secret": getSecret, "set Secret": setSecret, "delete Secret": deleteSecret,
			} {
				if fleet.KindOf(err) != "Invalid" {
					t.Errorf("%s of %q: %v, want the kind Invalid", what, k, err)
				}
			}
		}
	})
}

// Goroutines that race to create get one and the same secret.
func TestStoreCreatesOnce(t *testing.T) {
	stores(t, func(t *testing.T, s store) {
		const racers = 8
		got := make([]map[string]string, racers)
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				d, err := s.Create(t.Context(), eu1, fleet.ClusterCA, data(fmt.Sprint(i)))
				if err != nil {
					t.Error(err)
				}
				got[i] = reveal(d)
				if _, err := s.Get(t.Context(), eu1, fleet.ClusterCA); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i := range got {
			if d := cmp.Diff(got[0], got[i]); d != "" {
				t.Errorf("racers 0 and %d got different secrets:\n%s", i, d)
			}
		}
	})
}

// Nothing that an error, a log line or a value prints holds a secret.
func TestStoreHidesSecrets(t *testing.T) {
	stores(t, func(t *testing.T, s store) {
		d, err := s.Create(t.Context(), eu1, fleet.ClusterCA, data("very private"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), eu1, fleet.ClusterCA); err != nil {
			t.Fatal(err)
		}
		if out := fmt.Sprintf("%v %+v %#v %v %+v %#v", d, d, d, s, s, s); strings.Contains(out, "very private") || strings.Contains(out, "AGE-SECRET") || strings.Contains(out, "118 101 114 121") {
			t.Errorf("printed: %s", out)
		}
	})
}

// Secrets that people give are got as they were given, and have nothing to do
// with those of a cluster of that name.
func TestStoreKeepsGivenSecrets(t *testing.T) {
	stores(t, func(t *testing.T, s store) {
		ctx := t.Context()
		a, b := fleet.Key{Namespace: "prod", Name: "eu-1"}, fleet.Key{Namespace: "lab", Name: "cloud.config"}
		if _, err := s.GetSecret(ctx, a); fleet.KindOf(err) != "NotFound" || !strings.Contains(err.Error(), "Secret prod/eu-1") {
			t.Errorf("get of nothing: %v", err)
		}
		if err := s.DeleteSecret(ctx, a); err != nil {
			t.Errorf("delete of nothing: %v", err)
		}
		if _, err := s.Create(ctx, eu1, fleet.ClusterCA, data("authority")); err != nil {
			t.Fatal(err)
		}
		for _, set := range []struct {
			key   fleet.Key
			value string
		}{{a, "old"}, {b, "other"}, {a, "new"}} {
			given := data(set.value)
			if err := s.SetSecret(ctx, set.key, given); err != nil {
				t.Fatal(err)
			}
			delete(given, fleet.TLSKeyKey) // the caller's
		}
		for key, want := range map[fleet.Key]string{a: "new", b: "other"} {
			got, err := s.GetSecret(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(reveal(data(want)), reveal(got)); d != "" {
				t.Errorf("%s: -want +got:\n%s", key, d)
			}
			delete(got, fleet.TLSKeyKey) // the caller's
		}
		keys, err := s.ListSecrets(ctx)
		if d := cmp.Diff([]fleet.Key{b, a}, keys); d != "" || err != nil {
			t.Errorf("list: %v, -want +got:\n%s", err, d)
		}
		keys, err = s.FilterSecrets(ctx, []fleet.Key{a, {Namespace: "prod", Name: "nobody"}, {Namespace: "../x", Name: "Y/"}})
		if d := cmp.Diff([]fleet.Key{a}, keys); d != "" || err != nil {
			t.Errorf("of three that are named: %v, -want +got:\n%s", err, d)
		}
		if err := s.Delete(ctx, eu1); err != nil {
			t.Fatal(err)
		}
		if got, err := s.GetSecret(ctx, a); err != nil || len(got) != 2 {
			t.Errorf("what was given went with the cluster: %v", err)
		}
		if err := s.DeleteSecret(ctx, a); err != nil {
			t.Fatal(err)
		}
		if _, err := s.GetSecret(ctx, a); fleet.KindOf(err) != "NotFound" {
			t.Errorf("get after delete: %v", err)
		}
		if _, err := s.GetSecret(ctx, b); err != nil {
			t.Errorf("delete took another: %v", err)
		}
	})
}

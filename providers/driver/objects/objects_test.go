package objects_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

func TestFind(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "login"}
	data := func(text string) fleet.SecretData {
		return fleet.SecretData{"password": fleet.NewSecret([]byte(text))}
	}
	store := func(_ context.Context, k fleet.Key) (fleet.SecretData, error) {
		switch k.Name {
		case "login":
			return data("store"), nil
		case "away":
			return nil, fleet.Errorf(fleet.Unavailable, "read Secret", "connection refused")
		}
		return nil, fleet.Errorf(fleet.NotFound, "read Secret", "no")
	}
	for name, c := range map[string]struct {
		store func(context.Context, fleet.Key) (fleet.SecretData, error)
		key   fleet.Key
		git   string
		want  string // the password, or the kind and a word of the error
	}{
		"Git comes first": {store, key, "git", "git"},
		"the store":       {store, key, "", "store"},
		"neither":         {store, fleet.Key{Namespace: "prod", Name: "x"}, "", "Unauthorized: fairlead secrets set prod/x --from-file password=FILE"},
		"no store":        {nil, key, "", "Unauthorized: Git does not hold it"},
		"store is away":   {store, fleet.Key{Namespace: "prod", Name: "away"}, "", "Unavailable: connection refused"},
	} {
		var git map[fleet.Key]fleet.SecretData
		if c.git != "" {
			git = map[fleet.Key]fleet.SecretData{c.key: data(c.git)}
		}
		got, err := objects.Secrets{Store: c.store, Example: "password=FILE"}.Find(t.Context(), c.key, git)
		if kind, text, fails := strings.Cut(c.want, ": "); fails {
			if string(fleet.KindOf(err)) != kind || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		} else if err != nil || string(got["password"].Reveal()) != c.want {
			t.Errorf("%s: %v, want the one of %s", name, err, c.want)
		}
	}
}

func TestLetsIn(t *testing.T) {
	c := &fleet.Cluster{NamespaceLabels: map[string]string{"team": "a"}}
	for name, tc := range map[string]struct {
		selector *metav1.LabelSelector
		in, ok   bool
	}{
		"none":    {nil, true, true},
		"all":     {&metav1.LabelSelector{}, true, true},
		"matches": {&metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}, true, true},
		"another": {&metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}, false, true},
		"invalid": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}, false, false},
	} {
		if in, err := objects.LetsIn(tc.selector, c); in != tc.in || (err == nil) != tc.ok {
			t.Errorf("%s: %t, %v, want %t", name, in, err, tc.in)
		}
	}
}

func TestRead(t *testing.T) {
	type spec struct {
		Size int `json:"size"`
	}
	o := fleet.Object{GVK: schema.GroupVersionKind{Kind: "Toy"}, Name: "a", Spec: []byte(`{"size":3}`)}
	if got, err := objects.Read[spec](o, "Toy"); err != nil || got.Size != 3 {
		t.Errorf("Read = %+v, %v", got, err)
	}
	if _, err := objects.Read[spec](o, "Car"); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("Read of another kind: %v, want the kind Invalid", err)
	}
	c := &fleet.Cluster{Companions: []fleet.Object{o}}
	if objects.Companion(c, "Toy", "a") != &c.Companions[0] || objects.Companion(c, "Toy", "b") != nil || objects.Companion(c, "Car", "a") != nil {
		t.Error("Companion does not find exactly what is there")
	}
}

func TestValidator(t *testing.T) {
	at := field.NewPath("spec")
	for name, c := range map[string]struct {
		check func(v *objects.Validator)
		want  int
	}{
		"port":         {func(v *objects.Validator) { v.Port(at, 0); v.Port(at, 65535) }, 0},
		"no port":      {func(v *objects.Validator) { v.Port(at, -1); v.Port(at, 65536) }, 2},
		"address":      {func(v *objects.Validator) { v.Address(at, "Host.example", ""); v.Address(at, "::1", "") }, 0},
		"no address":   {func(v *objects.Validator) { v.Address(at, "", ""); v.Address(at, "a:22", "") }, 2},
		"zone":         {func(v *objects.Validator) { v.IP(at, "fe80::1%eth0") }, 1},
		"not a prefix": {func(v *objects.Validator) { v.Prefix(at, "10.0.0.0/33") }, 1},
		"twice":        {func(v *objects.Validator) { objects.Set(v, at, []string{"a", "b", "a"}) }, 1},
		"bounds":       {func(v *objects.Validator) { objects.Within(v, at, 5, 5, 5, ""); objects.Within(v, at, 6, 1, 5, "") }, 1},
	} {
		var v objects.Validator
		if c.check(&v); len(v.Errs) != c.want {
			t.Errorf("%s: %v, want %d errors", name, v.Errs, c.want)
		}
	}
}

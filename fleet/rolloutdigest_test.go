package fleet

import (
	"reflect"
	"testing"
	"time"
)

// TestEachFieldWaits: a change of each field of a cluster and of a pool waits for its turn, unless there
// is a reason why it need not.
func TestEachFieldWaits(t *testing.T) {
	t.Parallel()
	check := func(of reflect.Type, at func(c *Cluster) reflect.Value) {
		for i := range of.NumField() {
			name := of.Field(i).Name
			before, after := aCluster(), aCluster()
			set(at(&after).Field(i))
			waits := before.RolloutDigest() != after.RolloutDigest()
			why := NeverWaits(name)
			if special := NeverWaits(name + " of " + of.Name()); special != "" {
				why = special
			}
			if waits == (why != "") {
				t.Errorf("%s.%s waits: %t, and the reason why it need not is %q", of.Name(), name, waits, why)
			}
		}
	}
	check(reflect.TypeFor[Cluster](), func(c *Cluster) reflect.Value { return reflect.ValueOf(c).Elem() })
	check(reflect.TypeFor[Pool](), func(c *Cluster) reflect.Value { return reflect.ValueOf(&c.Workers[0]).Elem() })
	check(reflect.TypeFor[Pool](), func(c *Cluster) reflect.Value { return reflect.ValueOf(&c.ControlPlane).Elem() })
	check(reflect.TypeFor[KeptPool](), func(c *Cluster) reflect.Value { return reflect.ValueOf(&c.KeptPools[0]).Elem() })
}

// TestFormerRolloutDigest: agents that wrote it hashed templates by schema 2, also where a newer one is
// there now.
func TestFormerRolloutDigest(t *testing.T) {
	t.Parallel()
	then, now := aCluster(), aCluster()
	then.Workers[0].Template, then.Workers[0].Former = "2-aa", []TemplateHash{"1-bb"}
	now.Workers[0].Template, now.Workers[0].Former = "3-cc", []TemplateHash{"2-aa", "1-bb"}
	if then.FormerRolloutDigest() != now.FormerRolloutDigest() {
		t.Error("another schema of template hashes changes it")
	}
	now.Workers[0].Former[0] = "2-dd"
	if then.FormerRolloutDigest() == now.FormerRolloutDigest() {
		t.Error("another template does not change it")
	}
}

// TestRolloutDigestStays: the status branch has digests, and stages, approvals and soaks go by them.
// Whoever changes how they are made keeps the way before as FormerRolloutDigest.
func TestRolloutDigestStays(t *testing.T) {
	t.Parallel()
	c := aCluster()
	set(reflect.ValueOf(&c.ControlPlane).Elem())
	set(reflect.ValueOf(&c.Workers[0]).Elem())
	c.KeptPools, c.ControlPlane.FailureDomains, c.Workers[0].FailureDomains = nil, nil, nil // which came later
	c.Infrastructure, c.Labels = Object{Spec: []byte(`{"a":1}`)}, map[string]string{"a": "b"}
	if got, want := c.RolloutDigest(), "9c63a6c7b4087868e953"; got != want {
		t.Errorf("the digest is %s, and was %s", got, want)
	}
}

func aCluster() Cluster {
	return Cluster{ControlPlane: Pool{Name: "cp"}, Workers: []Pool{{Name: "md"}}, KeptPools: []KeptPool{{Name: "mp"}}}
}

// set sets v to a value that is not zero.
func set(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint('1')
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		set(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		set(key)
		set(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				set(v.Field(i))
			}
		}
	}
}

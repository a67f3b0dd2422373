package decode

import (
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
)

// TestANewSchema: with another way to make template hashes, a machine that was made
// by the one before has its hash among the former ones, as long as it is made of the
// same, and what identifies the definition stays as it was.
func TestANewSchema(t *testing.T) {
	next := append([]hashSchema{{"4", func(p *fleet.Pool) []byte {
		sum := sha256.Sum256([]byte(p.Version + string(p.Infrastructure.Spec)))
		return sum[:4]
	}}}, hashSchemas()...)
	pool := func(spec string, schemas []hashSchema) *fleet.Pool {
		p := &fleet.Pool{Name: "md", Version: "v1.34.1", Infrastructure: fleet.Object{Spec: json.RawMessage(spec)}}
		addHashes(p, schemas)
		return p
	}
	made := pool(`{"flavor":"small"}`, hashSchemas())
	for name, c := range map[string]struct {
		spec        string
		same, known bool
	}{
		"nothing changed": {spec: `{"flavor":"small"}`, same: true, known: true},
		"another flavor":  {spec: `{"flavor":"large"}`, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := pool(c.spec, next)
			if p.Template.Schema() != "4" || p.Template == made.Template {
				t.Errorf("machines are made with %s", p.Template)
			}
			if same, known := p.Has(made.Template); same != c.same || known != c.known {
				t.Errorf("a machine of %s is the same: %t (known: %t), want %t", made.Template, same, known, c.same)
			}
			if same, _ := p.Has(p.Template); !same {
				t.Error("a machine of the new schema is not the same")
			}
			if same, known := made.Has(p.Template); same || known {
				t.Error("an older version knows the new schema")
			}
		})
	}
	before := fleet.Cluster{Workers: []fleet.Pool{*made}, Topology: older(made)}
	after := pool(`{"flavor":"small"}`, next)
	now := fleet.Cluster{Workers: []fleet.Pool{*after}, Topology: older(after)}
	if d := cmp.Diff(digest(&before), digest(&now)); d != "" {
		t.Errorf("digest (-want +got):\n%s", d)
	}
}

func older(p *fleet.Pool) *fleet.Topology {
	return &fleet.Topology{Older: []fleet.ClassVersion{{Version: "v1.33.1", Pools: map[fleet.PoolName]fleet.Blueprint{"md": p.Blueprint()}}}}
}

// TestNewDefaults: a kind that fills in a default which it did not before keeps the
// hashes and digests of what was there, as long as the default is what it is.
func TestNewDefaults(t *testing.T) {
	type spec struct {
		Flavor string `json:"flavor,omitempty"`
		Disk   string `json:"disk,omitempty"`
	}
	plain := fleet.Kind{Normalise: func(v any) (any, field.ErrorList) { return v, nil }}
	filled := fleet.Kind{
		Normalise: func(v any) (any, field.ErrorList) {
			s := v.(spec)
			if s.Disk == "" {
				s.Disk = "ssd"
			}
			return s, nil
		},
		Hashed: func(v any) any {
			s := v.(spec)
			if s.Disk == "ssd" {
				s.Disk = ""
			}
			return s
		},
	}
	cluster := func(k fleet.Kind, s spec) *fleet.Cluster {
		v, errs := providerKind(k).normalise(s)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		in := v.(*infrastructure)
		o := fleet.Object{Spec: in.spec, Hashed: in.hashed}
		c := &fleet.Cluster{Infrastructure: o, Workers: []fleet.Pool{{Infrastructure: o}}}
		addHashes(&c.Workers[0], hashSchemas())
		return c
	}
	for name, c := range map[string]struct {
		now  spec
		same bool
	}{
		"not set":       {now: spec{Flavor: "small"}, same: true},
		"written out":   {now: spec{Flavor: "small", Disk: "ssd"}, same: true},
		"another value": {now: spec{Flavor: "small", Disk: "hdd"}},
		"other field":   {now: spec{Flavor: "large"}},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := cluster(plain, spec{Flavor: "small"}), cluster(filled, c.now)
			if got := before.Workers[0].Template == after.Workers[0].Template; got != c.same {
				t.Errorf("the same template hash: %t, want %t", got, c.same)
			}
			if got := digest(before) == digest(after); got != c.same {
				t.Errorf("the same digest: %t, want %t", got, c.same)
			}
		})
	}
}

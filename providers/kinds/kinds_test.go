package kinds_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/kinds"
)

type spec struct {
	Size int `json:"size,omitempty"`
}

type oldSpec struct {
	Length string `json:"length,omitempty"`
}

type validator struct{ objects.Validator }

// check wants a size of at most 9, which is 1 by default.
func (v *validator) check(at *field.Path, s *spec) {
	if s.Size == 0 {
		s.Size = 1
	}
	if s.Size > 9 {
		v.Invalid(at.Child("size"), s.Size, "is too large")
	}
}

func (v *validator) convert(at *field.Path, old *oldSpec) *spec {
	v.Forbidden(at.Child("length"), old.Length == "long", "is no number")
	return &spec{Size: len(old.Length)}
}

func toy() fleet.Kind {
	return kinds.Of(fleet.Kind{Kind: "Toy"},
		kinds.Objects(kinds.Checked((*validator).check), "v3", "v2"),
		kinds.Objects(kinds.Converted((*validator).convert, (*validator).check), "v1"))
}

func toys() fleet.Kind {
	return kinds.Of(fleet.Kind{Kind: "ToyTemplate"},
		kinds.Templates(kinds.Checked((*validator).check), "v3"),
		kinds.BareTemplates(kinds.Converted((*validator).convert, (*validator).check), "v1"))
}

func TestVersions(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		kind    fleet.Kind
		version string
		in      string
		want    string // the size, what is unknown, or what is wrong
	}{
		"newest":           {"a spec is checked", toy(), "v3", `{"spec":{"size":3}}`, "3"},
		"default":          {"a spec is completed", toy(), "v3", `{"spec":{}}`, "1"},
		"same":             {"two versions may look alike", toy(), "v2", `{"spec":{"size":3}}`, "3"},
		"older":            {"a spec is converted", toy(), "v1", `{"spec":{"length":"long"}}`, "[spec.length: Forbidden: is no number]"},
		"converted":        {"and then checked", toy(), "v1", `{"spec":{"length":"12345678901"}}`, `[spec.size: Invalid value: 11: is too large]`},
		"another version":  {"each version has its fields", toy(), "v1", `{"spec":{"size":3}}`, `unknown field "spec.size"`},
		"unknown":          {"the decoder refuses it before", toy(), "v9", `{"spec":{"size":3}}`, "3"},
		"status":           {"exported objects have one", toy(), "v3", `{"status":{"ready":true}}`, "1"},
		"template":         {"paths lead to the spec", toys(), "v3", `{"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"size":10}}}}`, "[spec.template.spec.size: Invalid value: 10: is too large]"},
		"bare template":    {"of the older version", toys(), "v1", `{"spec":{"template":{"spec":{"length":"abc"}}}}`, "3"},
		"without metadata": {"which it does not have", toys(), "v1", `{"spec":{"template":{"metadata":{}}}}`, `unknown field "spec.template.metadata"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := tc.kind.New(tc.version)
			strict, err := kjson.UnmarshalStrict([]byte(tc.in), o)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(strict) > 0 {
				got = strict[0].Error()
			} else if out, errs := tc.kind.Normalise(o); len(errs) > 0 {
				got = fmt.Sprint([]*field.Error(errs))
			} else {
				got = fmt.Sprint(out.(*spec).Size)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, d)
			}
		})
	}
	if got := toy().Versions; !slices.Equal(got, []string{"v3", "v2", "v1"}) {
		t.Errorf("versions %v, want the newest first", got)
	}
	if _, errs := toy().Normalise(toys().New("v3")); len(errs) != 1 || errs[0].Type != field.ErrorTypeInternal {
		t.Errorf("an object of another kind: %v, want an internal error", errs)
	}
}

package decode

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBoundsOfMappings: what definitions may ask of mappings and of fields that are refused, though
// those of today hide it behind other rules.
func TestBoundsOfMappings(t *testing.T) {
	type item struct {
		Size int64 `json:"size,omitempty"`
	}
	type spec struct {
		Items   map[string]item `json:"items,omitempty"`
		Old     string          `json:"old,omitempty"`
		Refused string          `json:"refused,omitempty"`
	}
	high := int64(9)
	checked := &bounds{
		sections: map[string]section{"s": {
			"items": {required: true, least: 1, most: 2}, "items{}.size": {high: &high}, "refused": {required: true}, "old": {required: true},
		}},
		required: map[string]map[string][]string{"s": {"": {"items", "old", "refused"}}},
	}
	for name, c := range map[string]struct {
		raw  map[string]any
		want []flaw
	}{
		"good":     {raw: map[string]any{"old": "a", "items": map[string]any{"a": map[string]any{"size": int64(9)}}}},
		"required": {raw: map[string]any{"items": map[string]any{"a": map[string]any{}}}, want: []flaw{{"old", "is required", ""}}},
		"empty":    {raw: map[string]any{"old": "a", "items": map[string]any{}}, want: []flaw{{"items", "must not be empty", ""}}},
		"many": {
			raw:  map[string]any{"old": "a", "items": map[string]any{"a": map[string]any{}, "b": map[string]any{}, "c": map[string]any{}}},
			want: []flaw{{"items", "must have at most 2 fields, has 3", ""}},
		},
		"value": {
			raw:  map[string]any{"old": "a", "items": map[string]any{"a": map[string]any{"size": int64(10)}}},
			want: []flaw{{"items.a.size", "must be at most 9, is 10", ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := &boundsChecker{checker: checker{kind: &kind{refused: map[string]string{"refused": "x"}}}, bounds: checked}
			found.object(c.raw, reflect.TypeFor[spec](), scope{"s", ""}, "", "")
			if diff := cmp.Diff(c.want, found.flaws, cmp.AllowUnexported(flaw{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

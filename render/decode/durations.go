package decode

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
)

// fractions warns of durations with a part of a second, which v1beta2 has no place for. The part
// is dropped, as by Cluster API's conversion, so that less than a second is 0: no limit, of drains.
func (s *overlaySet) fractions() []fleet.Problem {
	var out []fleet.Problem
	for _, o := range s.objects {
		if o.kind == nil || o.origin != nil || !strings.HasSuffix("."+o.gvk.Group, ".cluster.x-k8s.io") || o.kind.provider != "" {
			continue
		}
		eachDuration(o.raw, reflect.TypeOf(o.kind.new(o.gvk.Version)), "", func(path, text string) {
			d, err := time.ParseDuration(text)
			if err != nil || d%time.Second == 0 {
				return
			}
			counts := fmt.Sprintf("counts as %s", d.Truncate(time.Second))
			if name := path[strings.LastIndexByte(path, '.')+1:]; d < time.Second && (name == "nodeDrainTimeout" || name == "nodeVolumeDetachTimeout") {
				counts = "counts as 0s, which is no limit"
			}
			out = append(out, o.problem(flaw{path, fmt.Sprintf("%s %s: whole seconds count", text, counts), "write whole seconds"}))
		})
	}
	return out
}

// eachDuration calls f for each duration in v, a value of type t at path.
func eachDuration(v any, t reflect.Type, path string, f func(path, text string)) {
	t = deref(t)
	switch v := v.(type) {
	case string:
		if t == reflect.TypeFor[metav1.Duration]() {
			f(path, v)
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i := range v {
				eachDuration(v[i], t.Elem(), fmt.Sprintf("%s[%d]", path, i), f)
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct || isLeaf(t) {
			return
		}
		for _, field := range fieldsOf(t) {
			if value, ok := v[field.name]; ok {
				eachDuration(value, field.typ, join(path, field.name), f)
			}
		}
	}
}

package decode

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/test/run/short"
)

// meaningful are the fields where an empty value differs from none, by the end of their path, with
// the reason. User data has it, and machines are replaced when it is written, as in Cluster API.
func meaningful() map[string]string {
	return map[string]string{
		"users.lockPassword":                  "cloud-init locks passwords if nothing is said",
		"nodeRegistration.imagePullSerial":    "kubeadm pulls one image after the other if nothing is said",
		"diskSetup.partitions.overwrite":      "cloud-init and Ignition have it as it is written",
		"diskSetup.filesystems.overwrite":     "cloud-init and Ignition have it as it is written",
		"KeyRef.optional":                     "kubeadm has it as it is written",
		"ntp.enabled":                         "cloud-init has it as it is written",
		"agentConfig.ntp":                     "cloud-init sets up its own servers",
		"agentConfig.ntp.servers":             "cloud-init sets up its own servers",
		"serverConfig.disableCloudController": "K3s has no cloud controller if nothing is said",
		"serverConfig.cloudProviderName":      "K3s has an external cloud provider if nothing is said",
	}
}

// TestEmptyRollsNothing writes, into each object whose fields TestEachHonouredFieldCounts changes,
// each field that is not there: null, and false, an empty text, list or mapping. The overlay
// stays as good as it was, or the empty value is a problem, and no machine is replaced.
func TestEmptyRollsNothing(t *testing.T) {
	kinds, used, whole := registered(t), map[string]bool{}, !short.Form(t)
	for _, s := range subjects() {
		t.Run(strings.Join([]string{s.kind, s.version, s.overlay}, " "), func(t *testing.T) {
			d := New("f1", kinds)
			k := d.kinds[s.kind]
			n, seen := 0, map[string]bool{}
			for _, path := range honoured(k, s.version) {
				if !strings.HasPrefix(path, s.below) || s.without != "" && strings.HasPrefix(path, s.without) {
					continue
				}
				_, m := s.mutation(path)
				steps := strings.Split(cmp.Or(m.at, path), ".")
				for i := range steps {
					field := strings.Join(steps[:i+1], ".")
					if seen[field+m.given] || steps[0] == "metadata" || !strings.HasPrefix(field, s.below) {
						continue
					}
					documents, at := s.subject(t, k, steps[:i+1], m)
					empty, ok := emptyAt(documents[at], reflect.TypeOf(k.new(s.version)), steps[:i+1])
					if !ok {
						continue
					}
					seen[field+m.given] = true
					clusters, _ := decoded(d, documents)
					before := hashesOf(clusters)
					for _, value := range empty {
						if value == nil && !whole {
							continue
						}
						n++
						changedOnes := slices.Clone(documents)
						changedOnes[at] = set(documents[at], steps[:i+1], value).(map[string]any)
						clusters, problems := decoded(d, changedOnes)
						if len(problems) > 0 || len(clusters) != 1 {
							continue // it is refused
						}
						if reflect.DeepEqual(before, hashesOf(clusters)) {
							continue
						}
						if end := exception(field); end != "" {
							used[end] = true
							continue
						}
						t.Errorf("%s: %#v replaces machines", field, value)
					}
				}
			}
			t.Logf("%d values", n)
		})
	}
	for end := range meaningful() {
		if !used[end] {
			t.Errorf("the empty value of %s replaces no machines", end)
		}
	}
}

// exception returns the end of field that is in meaningful, or "".
func exception(field string) string {
	for end := range meaningful() {
		if strings.HasSuffix(field, end) {
			return end
		}
	}
	return ""
}

// subject returns the documents of the overlay with what the mutation m of the field at steps is
// given, and which of them is the object.
func (s subject) subject(t *testing.T, k *kind, steps []string, m mutation) ([]map[string]any, int) {
	documents := s.read(t)
	i := s.indexIn(t, documents)
	documents[i] = seeded(documents[i], reflect.TypeOf(k.new(s.version)), steps, seeds(s.version)).(map[string]any)
	if m.given != "" {
		documents[i] = merged(t, documents[i], m.given)
	}
	return documents, i
}

// hashesOf returns the hashes of the machines of clusters, by pool.
func hashesOf(clusters []fleet.Cluster) map[fleet.PoolName]fleet.TemplateHash {
	out := make(map[fleet.PoolName]fleet.TemplateHash)
	for _, c := range clusters {
		for _, p := range c.Pools() {
			out[p.Name] = p.Template
		}
	}
	return out
}

// emptyAt returns the empty values of the field at path of v, a value of type t. It reports
// false if the field is there, or the item of a list that it is in is not.
func emptyAt(v any, t reflect.Type, path []string) ([]any, bool) {
	t = deref(t)
	if t.Kind() == reflect.Slice && !isLeaf(t) {
		list, _ := v.([]any)
		at := 0
		if n, err := strconv.Atoi(path[0]); err == nil {
			at, path = n, path[1:]
		}
		if at >= len(list) || len(path) == 0 {
			return nil, false
		}
		return emptyAt(list[at], t.Elem(), path)
	}
	o, ok := v.(map[string]any)
	if !ok && v != nil || t.Kind() != reflect.Struct || isLeaf(t) {
		return nil, false
	}
	fields := fieldsOf(t)
	inner := fields[slices.IndexFunc(fields, func(f structField) bool { return f.name == path[0] })].typ
	below, there := o[path[0]]
	if len(path) > 1 {
		return emptyAt(below, inner, path[1:])
	}
	if there {
		return nil, false
	}
	inner = deref(inner)
	switch {
	case inner.Kind() == reflect.Bool:
		return []any{nil, false}, true
	case inner.Kind() == reflect.String:
		return []any{nil, ""}, true
	case inner.Kind() == reflect.Slice && !isLeaf(inner):
		return []any{nil, []any{}}, true
	case inner.Kind() == reflect.Map, inner.Kind() == reflect.Struct && !isLeaf(inner):
		return []any{nil, map[string]any{}}, true
	}
	return []any{nil}, true
}

// set returns v with value at path, whose lists are those of v. Mappings on the way are made.
func set(v any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if list, ok := v.([]any); ok {
		at := 0
		if n, err := strconv.Atoi(path[0]); err == nil {
			at, path = n, path[1:]
		}
		list = slices.Clone(list)
		list[at] = set(list[at], path, value)
		return list
	}
	out := make(map[string]any)
	o, _ := v.(map[string]any)
	maps.Copy(out, o)
	out[path[0]] = set(out[path[0]], path[1:], value)
	return out
}

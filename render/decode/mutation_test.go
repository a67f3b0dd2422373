package decode

import (
	"cmp"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
)

// TestEachHonouredFieldCounts changes each field that docs/reference/coverage.md calls
// honoured, one at a time, in an overlay that is good, and looks whether what is
// decoded changes: another cluster, or a problem where the table says so. A field
// that is new and changes nothing fails, as does an entry of the table that is for
// no field.
//
// From what changes it also knows what happens where the cluster runs: the answers
// are docs/reference/mutability.md, and a change without one fails.
func TestEachHonouredFieldCounts(t *testing.T) {
	kinds, used := registered(t), map[int]bool{}
	answers := mutability{}
	for _, s := range subjects() {
		t.Run(strings.Join([]string{s.kind, s.version, s.overlay}, " "), func(t *testing.T) {
			d := New("f1", kinds)
			k := d.kinds[s.kind]
			rows := honoured(k, s.version)
			n, first := 0, map[string]outcome{}
			for _, path := range rows {
				if !strings.HasPrefix(path, s.below) || s.without != "" && strings.HasPrefix(path, s.without) {
					continue
				}
				n++
				i, m := s.mutation(path)
				used[i] = true
				before, after := s.change(t, d, k, path, m, first)
				if problem := m.wrong(before, after); problem != "" {
					t.Errorf("%s: %s", path, problem)
				}
				answers.add(k, s.version, path, m.answer(t, path, before, after))
			}
			t.Logf("%d fields", n)
		})
	}
	if t.Failed() {
		return
	}
	for i, m := range mutations() {
		if !used[i] {
			t.Errorf("the mutation of %q is for no field that is honoured", m.field)
		}
	}
	keepMutability(t, answers)
}

// A subject is the object of an overlay whose fields are changed.
type subject struct {
	kind, version  string
	overlay        string // file below testdata/mutations
	only           string // kinds that are taken from it, for speed; empty: all
	below, without string // where the fields are that are changed, and those that are not
}

// A mutation says how a field is changed where a value that is made up for its
// type is not enough.
type mutation struct {
	field   string // "Kind path", "Kind version path", a path, or the end of paths, with the dot before it
	given   string // YAML that is merged into the object first
	at      string // the path with its indices; else the first element of each list
	to      any    // the new value; nil: made up
	remove  bool   // the field is taken out
	problem string // what of it is refused: the field limits others, or has one value

	choices func(t reflect.Type) []string // values that a field of a type may have; none: any
}

func honoured(k *kind, version string) []string {
	common := commonFields()
	var out []string
	rows := k.coverage(version)
	for i, r := range rows {
		holds := i+1 < len(rows) && strings.HasPrefix(rows[i+1].path, r.path+".")
		if r.status == "honoured" && !holds && !slices.Contains(common, r) {
			out = append(out, r.path)
		}
	}
	return out
}

// mutation returns how the field at path is changed, and its place in the table.
func (s subject) mutation(path string) (int, mutation) {
	kind, _, _ := strings.Cut(s.kind, ".")
	for i, m := range mutations() {
		if m.field == path || m.field == kind+" "+path || m.field == kind+" "+s.version+" "+path || m.field[0] == '.' && strings.HasSuffix(path, m.field) {
			return i, m
		}
	}
	return -1, mutation{}
}

// wrong returns what is wrong with a change, or "".
func (m mutation) wrong(before, after outcome) string {
	problems := before.problems
	if len(problems) > 0 && m.problem == "" {
		return "the overlay is not good before: " + strings.Join(problems, "\n")
	}
	if slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, m.problem) }) {
		return "the overlay has this problem before: " + strings.Join(problems, "\n")
	}
	problems = after.problems
	switch {
	case m.problem != "" && !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, m.problem) }):
		return "no problem has " + strconv.Quote(m.problem) + ":\n" + strings.Join(problems, "\n")
	case m.problem == "" && len(problems) > 0:
		return strings.Join(problems, "\n")
	case m.problem == "" && reflect.DeepEqual(before.clusters, after.clusters):
		return "changes nothing"
	}
	return ""
}

// indexIn returns which of the documents is the object.
func (s subject) indexIn(t *testing.T, documents []map[string]any) int {
	t.Helper()
	i := slices.IndexFunc(documents, func(o map[string]any) bool {
		apiVersion, _ := o["apiVersion"].(string)
		group, version, _ := strings.Cut(apiVersion, "/")
		return groupKind(group, o["kind"].(string)) == s.kind && version == s.version
	})
	if i < 0 {
		t.Fatalf("%s has no %s of %s", s.overlay, s.kind, s.version)
	}
	return i
}

// change returns what is decoded before and after the field at path is changed.
// first holds what was decoded before, by the object.
func (s subject) change(t *testing.T, d *Decoder, k *kind, path string, m mutation, first map[string]outcome) (before, after outcome) {
	documents := s.read(t)
	i := s.indexIn(t, documents)
	typ, steps := reflect.TypeOf(k.new(s.version)), strings.Split(cmp.Or(m.at, path), ".")
	documents[i] = seeded(documents[i], typ, steps, seeds(s.version)).(map[string]any)
	if m.given != "" {
		documents[i] = merged(t, documents[i], m.given)
	}
	key := string(marshal(documents[i]))
	if _, ok := first[key]; !ok {
		clusters, problems := decoded(d, documents)
		first[key] = outcome{clusters, problems}
	}
	m.choices = func(t reflect.Type) []string { return k.allowed(t, path) }
	documents[i] = changed(documents[i], typ, steps, m).(map[string]any)
	clusters, problems := decoded(d, documents)
	return first[key], outcome{clusters, problems}
}

// An outcome is what is decoded from an overlay.
type outcome struct {
	clusters []fleet.Cluster
	problems []string
}

func (s subject) read(t *testing.T) []map[string]any {
	data, err := os.ReadFile("testdata/mutations/" + s.overlay + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%s: %v", s.overlay, err)
		}
		if kind, _ := o["kind"].(string); s.only == "" || slices.Contains(strings.Fields(s.only), kind) {
			out = append(out, o)
		}
	}
	return out
}

func merged(t *testing.T, o map[string]any, patch string) map[string]any {
	p, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	data, err := jsonpatch.MergePatch(marshal(o), p)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func decoded(d *Decoder, documents []map[string]any) ([]fleet.Cluster, []string) {
	var in []render.Object
	for _, o := range documents {
		in = append(in, render.Object{File: "f.yaml", YAML: marshal(o)})
	}
	clusters, problems := d.Decode("prod", in)
	for i := range clusters {
		clusters[i].Digest = "" // of all that is there, whether it counts or not
	}
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return clusters, out
}

package documents_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v2"
	k8syaml "sigs.k8s.io/yaml"

	"fairlead.dev/fleet/documents"
)

// pieces are what texts of YAML are made of, near what is read and written without the library.
func pieces() []string {
	return []string{
		"a", "b", "c1", "metadata", "name", "cluster.x-k8s.io/name", "y", "Yes", "yEs", "TRUE", "null", "~", "v1.33.5", "10.0.0.1", "10.0.0.0/16",
		"1", "-1", "0", "007", "0x1f", "0b1", "1e3", "1.5", "1_0", "12:30", "2026-11-30", "2026-11-30T16:43:01Z", "2026-02-30T16:43:01Z", "5c57d6", "3-c8", "1..2", "9t", "1:",
		"sha1:5c57", "a: b", "a #b", "a#b", "a b", "in the cloud", ":", "#", "&a", "*a", "!a", "|", ">", "'a'", `"a"`, `"a b"`, `"a\n"`, `a"b`, "<a>", "a&b", "é", "[]", "{}", "[a]", "? a", "- a", "-",
		strings.Repeat("long ", 20), strings.Repeat("x", 200), ".5", "=", "<<", ".inf", "Infinity", "true", "false", "a:b", "...", "---", "", " ", "a?", "a'b", "c9", "c10", "0_x1f", "1_a", "1:a", "a\tb", "a\nb", "a\x01", "a text of several words that is longer than what a line takes, where the library breaks it", "x,y", "%a", "@a",
	}
}

// value returns a random JSON value.
func value(r *rand.Rand, depth int) any {
	all := pieces()
	switch n := r.IntN(10); {
	case depth > 0 && n < 3:
		m := map[string]any{}
		for range r.IntN(5) {
			if k := all[r.IntN(len(all))]; !strings.ContainsAny(k[:min(1, len(k))], "0123456789") { // which the library sorts in no order
				m[k] = value(r, depth-1)
			}
		}
		return m
	case depth > 0 && n < 4:
		l := []any{}
		for range r.IntN(3) {
			l = append(l, value(r, depth-1))
		}
		return l
	case n < 5:
		return []any{nil, true, false, int64(r.IntN(1000)) - 500, 1.5}[r.IntN(5)]
	}
	return all[r.IntN(len(all))]
}

// plainValue returns a random JSON value that is written without the library.
func plainValue(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{"kind": []any{"", "True", "v1.33.5", "10.0.0.0/16", "2026-11-30T16:43:01Z", int64(-5), nil, true, map[string]any{}, []any{}}[r.IntN(10)]}
	if depth > 0 {
		m["metadata"] = plainValue(r, depth-1)
		m["cluster.x-k8s.io/name"] = []any{plainValue(r, depth-1), "5c57d6a7fb86", plainValue(r, 0), []any{}, int64(1)}
	}
	return m
}

// What is written is what the library writes, and what is read is what it reads.
func TestBlockStyle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	same := func(v any) {
		want, errWant := yaml.Marshal(v)
		got, err := documents.Write(v)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || (err == nil) != (errWant == nil) {
			t.Fatalf("%#v: %v, %v, -want, +got:\n%s", v, errWant, err, diff)
		}
		sameReading(t, got)
	}
	same(map[string]any{"c9": "a", "c10": "b"})
	for range 20_000 {
		same(value(r, 4))
	}
	for range 1000 {
		v := plainValue(r, 3)
		same(v)
		text, _ := documents.Write(v)
		if _, ok := documents.BlockJSON(text); !ok || !documents.WritesItself(v) {
			t.Fatalf("the library is needed for\n%s", text)
		}
	}
}

// Texts that nearly are in plain block style are read as the library reads them.
func TestNearlyBlockStyle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	all := pieces()
	pick := func() string { return all[r.IntN(len(all))] }
	read := 0
	for range 100_000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(strings.Repeat(" ", r.IntN(4)))
			for range r.IntN(2) {
				b.WriteString("- ")
			}
			switch r.IntN(4) {
			case 0:
				b.WriteString(pick() + ":\n")
			case 1:
				b.WriteString(pick() + "\n")
			default:
				fmt.Fprintf(&b, "%s: %s\n", pick(), pick())
			}
		}
		if sameReading(t, []byte(b.String())) {
			read++
		}
	}
	if read < 1000 {
		t.Errorf("of all texts only %d were read without the library", read)
	}
}

// All YAML files of this repository are read as the library reads them.
func TestBlockStyleOfFiles(t *testing.T) {
	files, err := filepath.Glob("../../fleet-examples/*/*/*/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(b), "\n---\n") {
			sameReading(t, []byte(doc))
		}
	}
}

// sameReading reports whether text is read without the library, and fails if the library reads it in another way.
func sameReading(t *testing.T, text []byte) bool {
	t.Helper()
	got, ok := documents.BlockJSON(text)
	if !ok {
		return false
	}
	want, err := k8syaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatalf("%s\nis refused: %v\ngot %s", text, err, got)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("%s\n-want, +got:\n%s", text, diff)
	}
	return true
}

// A file whose numbers stand for texts is read as Kubernetes reads it, and unknown fields are found.
func TestUnmarshalBlockStyle(t *testing.T) {
	var into struct{ A, B string }
	if err := documents.Unmarshal([]byte("a: 5\nb: x\n"), &into, documents.DefaultLimits()); err != nil || into.A != "5" || into.B != "x" {
		t.Errorf("%v, %v", into, err)
	}
	if err := documents.UnmarshalStrict([]byte("a: x\nc: 1\n"), &into, documents.DefaultLimits()); err == nil || !strings.Contains(err.Error(), `unknown field "c"`) {
		t.Error(err)
	}
}

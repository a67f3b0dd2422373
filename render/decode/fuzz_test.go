package decode_test

import (
	"strings"
	"testing"

	"fairlead.dev/render"
	"fairlead.dev/render/decode"
	"github.com/google/go-cmp/cmp"
)

// FuzzDecode feeds documents that nobody wrote: there is no panic, nothing is
// lost without a word, and the same input has the same answer.
func FuzzDecode(f *testing.F) {
	f.Add(newest)
	f.Add(older)
	for _, doc := range strings.Split(newest+"\n---\n"+older, "\n---\n") {
		f.Add(doc)
	}
	for _, odd := range []string{
		"", "---", "a: b: c", "[", "- 1", "kind: List\napiVersion: v1\nitems: []", "\xef\xbb\xbfkind: x", "a: &a [*a]",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: 1e309}", "? {a: b}\n: c", "metadata: {name: [x]}\nkind: Cluster\napiVersion: cluster.x-k8s.io/v1beta2",
	} {
		f.Add(odd)
	}
	d := decode.New("f", testKinds())
	f.Fuzz(func(t *testing.T, manifests string) {
		var in []render.Object
		for _, doc := range strings.Split(manifests, "\n---\n") {
			in = append(in, render.Object{YAML: []byte(doc)})
		}
		clusters, problems := d.Decode("o", in)
		for _, c := range clusters {
			if c.Digest == "" || c.ControlPlane.Template == "" || c.ControlPlane.Replicas < 1 || c.Provider == "" {
				t.Errorf("an incomplete cluster was returned: %+v", c)
			}
			for _, p := range problems {
				if p.Cluster == c.Key {
					t.Errorf("cluster %s was returned in spite of %s", c.Key, p)
				}
			}
		}
		again, same := d.Decode("o", in)
		if diff := cmp.Diff(problems, same); diff != "" || len(again) != len(clusters) {
			t.Errorf("decoding again gave another answer:\n%s", diff)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	in := objects(newest)
	d := decode.New("f", testKinds())
	b.ReportAllocs()
	for b.Loop() {
		if clusters, _ := d.Decode("o", in); len(clusters) != 1 {
			b.Fatal("no cluster")
		}
	}
}

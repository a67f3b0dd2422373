package decode_test

import (
	"encoding/json"
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

// FuzzAddon: what a ConfigMap of a ClusterResourceSet holds is a set of objects with kinds
// and names, or a problem of its cluster.
func FuzzAddon(f *testing.F) {
	for _, text := range []string{
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: net}\n", "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: eA==}}]}",
		"# nothing\n---\n", "a: &a [*a]", "a: &a {b: 1}\nc: {<<: *a}\n", "[{}]", "- - - a", "kind: x\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\nbinaryData: {a: '!'}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\n", "\xef\xbb\xbf{}", "a: 1e309", "? {a: b}\n: c",
	} {
		f.Add(text)
	}
	d := decode.New("f", testKinds())
	f.Fuzz(func(t *testing.T, text string) {
		addon, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "cni", "namespace": "prod"}, "data": map[string]any{"a.yaml": text},
		})
		if err != nil {
			t.Fatal(err)
		}
		in := objects(labelled(t) + resourceSets[:strings.Index(resourceSets, "  - {kind: Secret")] + "\n---\n" + string(addon))
		clusters, problems := d.Decode("o", in)
		if len(clusters) != 1 && len(problems) == 0 {
			t.Fatalf("%d clusters, and nobody says why", len(clusters))
		}
		for _, c := range clusters {
			for _, s := range c.ResourceSets {
				for _, r := range s.Resources {
					for _, o := range r.Objects {
						if o.Kind == "" || o.Name == "" {
							t.Errorf("%s of %s holds %+v", r.Name, s.Name, o.ObjectRef)
						}
					}
				}
			}
		}
		again, same := d.Decode("o", in)
		if diff := cmp.Diff(problems, same); diff != "" || len(again) != len(clusters) || len(clusters) == 1 && again[0].Digest != clusters[0].Digest {
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

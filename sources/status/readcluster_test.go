package status_test

import (
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// One cluster is read without the others, so that a file that is damaged concerns its own
// cluster alone.
func TestReadCluster(t *testing.T) {
	const good = "apiVersion: fairlead.dev/v1alpha1\nkind: ClusterReport\nmetadata: {name: eu-1, namespace: prod}\nphase: Workers\n"
	b := &branch{}
	_, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{
		"clusters/prod/eu-1.yaml": []byte(good), "clusters/prod/bad.yaml": []byte("{"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, tree, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := status.NewReader(b)
	for name, want := range map[string]struct {
		phase fleet.Phase
		ok    bool
		bad   bool
	}{
		"prod/eu-1":  {phase: "Workers", ok: true},
		"prod/none":  {},
		"prod/bad":   {bad: true},
		"../eu-1":    {},
		"prod/a/b":   {},
		"prod/":      {},
		"other/eu-1": {},
	} {
		var k fleet.Key
		for i := range name {
			if name[i] == '/' {
				k = fleet.Key{Namespace: name[:i], Name: name[i+1:]}
				break
			}
		}
		c, ok, err := status.ReadCluster(tree, k)
		for range 2 {
			again, there, sameErr := r.ReadCluster(t.Context(), k)
			if again.Report.Phase != want.phase || there != want.ok || (sameErr != nil) != want.bad {
				t.Errorf("%s: a reader got %q, %v, %v", name, again.Report.Phase, there, sameErr)
			}
		}
		if c.Report.Phase != want.phase || ok != want.ok || (err != nil) != want.bad {
			t.Errorf("%s: got %q, %v, %v", name, c.Report.Phase, ok, err)
		}
	}
}

// A file that is damaged is decoded once, and again when it is another one.
func TestReadClusterDamaged(t *testing.T) {
	const good = "apiVersion: fairlead.dev/v1alpha1\nkind: ClusterReport\nmetadata: {name: eu-1, namespace: prod}\nphase: Workers\n"
	b := &branch{}
	r, k := status.NewReader(b), fleet.Key{Namespace: "prod", Name: "eu-1"}
	var head fleet.Revision
	write := func(content []byte) {
		t.Helper()
		var err error
		if head, err = b.Commit(t.Context(), head, sources.Commit{Edits: map[string][]byte{"clusters/prod/eu-1.yaml": content}}); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte("{"))
	_, _, first := r.ReadCluster(t.Context(), k)
	_, _, second := r.ReadCluster(t.Context(), k)
	if first == nil || first != second { //nolint:errorlint // it is the same one
		t.Errorf("got %v, then %v", first, second)
	}
	write([]byte("["))
	if _, _, third := r.ReadCluster(t.Context(), k); third == nil || third == first { //nolint:errorlint // another one
		t.Errorf("got %v of another file", third)
	}
	write([]byte(good))
	if c, ok, err := r.ReadCluster(t.Context(), k); c.Report.Phase != "Workers" || !ok || err != nil {
		t.Errorf("repaired, it is %v, %v, %v", c.Report, ok, err)
	}
	write(nil)
	if _, ok, err := r.ReadCluster(t.Context(), k); ok || err != nil {
		t.Errorf("deleted, it is %v, %v", ok, err)
	}
}

// Of clusters that are not asked for nothing is read but that they are there, so that a damaged file of one of
// them is no concern.
func TestReadSomeClusters(t *testing.T) {
	const good = "apiVersion: fairlead.dev/v1alpha1\nkind: ClusterReport\nmetadata: {name: eu-1, namespace: prod}\nphase: Workers\n"
	b := &branch{}
	_, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{
		"clusters/prod/eu-1.yaml": []byte(good), "clusters/prod/eu-2.yaml": []byte("{"), "clusters/a/b.yaml": []byte("{"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, tree, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := status.Reading{Of: func(k fleet.Key) bool { return k.Name == "eu-1" }}
	s, err := r.Read(tree)
	want := []fleet.Key{{Namespace: "a", Name: "b"}, {Namespace: "prod", Name: "eu-2"}}
	if err != nil || len(s.Clusters) != 1 || s.Clusters[0].Report.Cluster.Name != "eu-1" || len(s.Damaged) > 0 || !slices.Equal(s.Unread, want) {
		t.Errorf("got %v, %v, unread %v, damaged %v", s.Clusters, err, s.Unread, s.Damaged)
	}
}

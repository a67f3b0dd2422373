package status_test

import (
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
		if c.Report.Phase != want.phase || ok != want.ok || (err != nil) != want.bad {
			t.Errorf("%s: got %q, %v, %v", name, c.Report.Phase, ok, err)
		}
	}
}

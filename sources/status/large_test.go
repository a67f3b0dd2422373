package status_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// The lines of clusters in fleet.yaml are for people, and as many as there are clusters:
// the budgets for what is read do not bound them.
func TestFleetFileOfManyClusters(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("apiVersion: fairlead.dev/v1alpha1\nfleet: demo\nkind: FleetStatus\nphases:\n  Provisioned: 100000\nclusters:\n")
	for i := range 100_000 {
		fmt.Fprintf(&b, "- machines: 13/13\n  message: 'waiting for the cloud: it does not answer, for a while already, and is tried again'\n  name: prod/eu-%d\n  phase: Provisioned\n  revision: 5b3c7e0a1f2d\n  version: v1.35.4\n", i)
	}
	if b.Len() < 17<<20 {
		t.Fatalf("%d bytes show nothing", b.Len())
	}
	s, err := status.Read(tree{fstest.MapFS{"fleet.yaml": {Data: b.Bytes()}}})
	if err != nil || s.Fleet.Fleet != "demo" {
		t.Errorf("read %+v, %v", s.Fleet, err)
	}
}

// What somebody wrote behind the lines is read, and what is wrong in it told.
func TestFleetFileWithMore(t *testing.T) {
	const begin = "apiVersion: fairlead.dev/v1alpha1\nkind: FleetStatus\nclusters:\n- name: prod/eu-1\n"
	for name, c := range map[string]struct {
		text  string
		fleet string
		fails bool
	}{
		"a field":     {begin + "fleet: demo\n", "demo", false},
		"a document":  {begin + "---\nfleet: demo\n", "", false},
		"not a list":  {strings.Replace(begin, "- name", "name", 1) + "fleet: [\n", "", true},
		"only a line": {begin, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := status.Read(tree{fstest.MapFS{"fleet.yaml": {Data: []byte(c.text)}}})
			if (err != nil) != c.fails || string(s.Fleet.Fleet) != c.fleet {
				t.Errorf("read %q, %v", s.Fleet.Fleet, err)
			}
		})
	}
}

// fleet.yaml, which each commit writes again, lists the clusters of a fleet that is not large.
func TestClustersThatFleetFileLists(t *testing.T) {
	br := &branch{}
	if _, err := status.NewArbiter(br).Claim(t.Context(), "agent-a", ""); err != nil {
		t.Fatal(err)
	}
	w := writer(br, status.Options{})
	for i := range 1001 {
		r := report(fleet.PhaseProvisioned)
		r.Cluster.Name = fmt.Sprintf("c%d", i)
		w.Put(r)
		if i < 999 {
			continue
		}
		w.PutFleet(sources.FleetStatus{Fleet: "demo"})
		if _, err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, tree, err := br.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b, err := fs.ReadFile(tree, "fleet.yaml")
		if err != nil {
			t.Fatal(err)
		}
		counted := strings.Contains(string(b), fmt.Sprintf("Provisioned: %d\n", i+1))
		if listed := strings.Count(string(b), "name: "); !counted || listed != map[int]int{999: 1000, 1000: 0}[i] {
			t.Errorf("of %d clusters %d are listed, counted: %t", i+1, listed, counted)
		}
		var names []string
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "name: "); ok {
				names = append(names, name)
			}
		}
		if !slices.IsSorted(names) {
			t.Errorf("of %d clusters the list is not sorted", i+1)
		}
	}
}

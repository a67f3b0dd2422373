package status_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

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

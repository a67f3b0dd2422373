package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A commit's message tells of a cluster by lines of its own, and not of one whose name begins
// with that of another.
func TestAbout(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "eu-1"}
	for name, c := range map[string]struct {
		message string
		want    []string
	}{
		"headline":         {"prod/eu-1: Workers → Provisioned", []string{"Workers → Provisioned"}},
		"action and phase": {"prod/eu-1: → Workers\n\nprod/eu-1: CreateMachine x: scale\nprod/eu-2: CreateMachine y: scale", []string{"→ Workers", "CreateMachine x: scale"}},
		"action alone":     {"prod/eu-1: CreateMachine x: scale\n\nprod/eu-1: CreateMachine x: scale", []string{"CreateMachine x: scale"}},
		"many":             {"2 clusters: 2 changed\n\nprod/eu-1: DeleteMachine x: old", []string{"DeleteMachine x: old"}},
		"request":          {"replace machine prod/eu-1-md-0-x: accepted", []string{"replace machine prod/eu-1-md-0-x: accepted"}},
		"another":          {"suspend cluster prod/eu-10", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, about(c.message, k)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Fields that differ are named; lists of the same length are compared item by item.
func TestDifferences(t *testing.T) {
	before := map[string]any{
		"Cluster prod/a": map[string]any{"spec": map[string]any{"paused": false, "list": []any{"x", "y"}}},
		"Cluster prod/b": map[string]any{},
	}
	after := map[string]any{
		"Cluster prod/a": map[string]any{"spec": map[string]any{"paused": true, "list": []any{"x", "z"}, "new": 1.0}},
		"Cluster prod/c": map[string]any{},
	}
	want := []fieldChange{
		{Object: "Cluster prod/a", Field: "spec.list[1]", Before: "y", After: "z"},
		{Object: "Cluster prod/a", Field: "spec.new", After: 1.0},
		{Object: "Cluster prod/a", Field: "spec.paused", Before: false, After: true},
		{Object: "Cluster prod/b", Before: "removed"},
		{Object: "Cluster prod/c", After: "added"},
	}
	if diff := cmp.Diff(want, differences(before, after)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Names, namespace, labels and problems choose clusters; one that is not there is told.
func TestChoice(t *testing.T) {
	cluster := func(ns, name, ring, failure string) status.Cluster {
		return status.Cluster{Report: fleet.Report{Cluster: fleet.Key{Namespace: ns, Name: name}, Labels: map[string]string{"ring": ring}, Failure: failure}}
	}
	s := status.Status{Clusters: []status.Cluster{cluster("prod", "eu-1", "canary", ""), cluster("prod", "us-1", "wide", "no quota"), cluster("test", "eu-1", "canary", "")}}
	for name, c := range map[string]struct {
		flags chooseFlags
		names []string
		want  []string
	}{
		"all":       {chooseFlags{}, nil, []string{"prod/eu-1", "prod/us-1", "test/eu-1"}},
		"namespace": {chooseFlags{namespace: "prod"}, nil, []string{"prod/eu-1", "prod/us-1"}},
		"labels":    {chooseFlags{labels: "ring in (canary)"}, nil, []string{"prod/eu-1", "test/eu-1"}},
		"problems":  {chooseFlags{problems: true}, nil, []string{"prod/us-1"}},
		"name":      {chooseFlags{}, []string{"eu-1"}, []string{"prod/eu-1", "test/eu-1"}},
		"pattern":   {chooseFlags{}, []string{"prod/*"}, []string{"prod/eu-1", "prod/us-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := c.flags.of(c.names)
			if err != nil {
				t.Fatal(err)
			}
			out, err := chosen.from(s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range out.Clusters {
				got = append(got, one.Report.Cluster.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	chosen, err := (&chooseFlags{}).of([]string{"prod/none"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chosen.from(s); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("a cluster that is not there: %v", err)
	}
}

func TestJoinWait(t *testing.T) {
	got := joinWait([]string{"status", "--wait", "10m", "--wait", "--timeout", "5m", "--", "--wait", "1m"})
	want := []string{"status", "--wait=10m", "--wait", "--timeout", "5m", "--", "--wait", "1m"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

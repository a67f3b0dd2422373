package check_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/console/check"
	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

func cluster(name, provider, version string) *fleet.Cluster {
	return &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: name}, Provider: provider, ControlPlane: fleet.Pool{Version: version}}
}

// lines are what r says, without what to do.
func lines(r *check.Report) (out []string) {
	for _, l := range r.Lines {
		out = append(out, strings.Join([]string{string(l.State), l.Check, l.Subject, l.Message}, "|"))
	}
	return out
}

// What cannot be found out is unknown, and what is wrong fails.
func TestStates(t *testing.T) {
	for kind, want := range map[fleet.ErrorKind]check.State{
		fleet.Invalid: check.Fail, fleet.Unauthorized: check.Fail, fleet.NotFound: check.Fail, fleet.Exhausted: check.Fail, fleet.Conflict: check.Fail,
		fleet.Unavailable: check.Unknown, fleet.Unanswered: check.Unknown, fleet.Unknown: check.Unknown,
	} {
		r := &check.Report{}
		r.Note("quota", "prod/a", "", fleet.Errorf(kind, "look", "no"))
		if got := r.Lines[0].State; got != want || r.Count(want) != 1 {
			t.Errorf("%s is %s, want %s", kind, got, want)
		}
		r.Unreachable("cloud", "prod/a", fleet.Errorf(kind, "look", "no"))
		if got := r.Lines[1].State; got != check.Fail {
			t.Errorf("not to reach it, by %s, is %s", kind, got)
		}
	}
	r := &check.Report{}
	r.Note("a", "", "good", nil)
	r.Note("b", "", "", fleet.Errorf(fleet.Unauthorized, "look", "403"))
	r.Note("c", "", "", fleet.Errorf(fleet.Unauthorized, "look", "403 (give it the role reader)"))
	var text strings.Builder
	if err := r.Problems().Write(&text, output.FormatTable); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cannot look: 403 (correct the credential, or give it the right)", "cannot look: 403 (give it the role reader)\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("there is no %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "good") {
		t.Errorf("a problem is what is good:\n%s", text.String())
	}
}

func TestVersions(t *testing.T) {
	at := func(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }
	listed := cluster("listed", "p", "v1.35.0")
	listed.Topology = &fleet.Topology{Listed: true}
	r := &check.Report{}
	r.Versions([]*fleet.Cluster{
		cluster("new", "p", "v1.34.1"), cluster("same", "p", "v1.34.1"), cluster("next", "p", "v1.34.1"), cluster("skips", "p", "v1.35.0"), listed,
		cluster("back", "p", "v1.32.4"), cluster("patch", "p", "v1.33.4"), cluster("kept", "p", ""),
	}, map[fleet.Key]string{at("patch"): "v1.33.5", at("same"): "v1.34.1", at("next"): "v1.33.5", at("skips"): "v1.33.5", at("listed"): "v1.33.5", at("back"): "v1.33.5", at("kept"): "v1.33.5"})
	want := []string{
		"FAIL|versions|prod/skips|cannot take it from v1.33.5 to v1.35.0: the control plane cannot go from v1.33.5 to v1.35.0: this skips a minor version (set v1.34 first, or annotate the Cluster with fairlead.dev/allow-version: v1.35.0)",
		"FAIL|versions|prod/back|cannot take it from v1.33.5 to v1.32.4: the control plane cannot go back from v1.33.5 to v1.32.4 (set v1.33.5 or a newer version, or annotate the Cluster with fairlead.dev/allow-version: v1.32.4)",
		"OK|versions|prod/patch|Kubernetes v1.33.4",
		"OK|versions|prod/new, prod/same, prod/next|Kubernetes v1.34.1",
		"OK|versions|prod/listed|Kubernetes v1.35.0",
	}
	if d := cmp.Diff(want, lines(r)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A cloud is one that can be looked at, or not, and checked.
type cloud struct {
	providers.Infrastructure
	err     error // of a look
	found   []providers.Finding
	asked   *[]string
	checker bool
}

func (c cloud) Observe(_ context.Context, of *fleet.Cluster) (fleet.Infrastructure, error) {
	if c.err != nil && of.Key.Name == "b" {
		return fleet.Infrastructure{}, c.err
	}
	return fleet.Infrastructure{Machines: make([]fleet.Machine, 2)}, nil
}

func (c cloud) Abilities() providers.Abilities {
	if !c.checker {
		return providers.Abilities{}
	}
	return providers.Abilities{Checker: c}
}

func (c cloud) Check(_ context.Context, clusters []*fleet.Cluster) ([]providers.Finding, error) {
	for _, of := range clusters {
		*c.asked = append(*c.asked, of.Key.Name)
	}
	return c.found, nil
}

// One cluster that cannot be looked at hides no other, and one provider no other.
func TestClouds(t *testing.T) {
	var asked []string
	away := fleet.Errorf(fleet.Unavailable, "observe prod/b", "connection refused")
	all := map[string]providers.Infrastructure{
		"good": cloud{checker: true, asked: &asked, err: away, found: []providers.Finding{
			{Clusters: []fleet.Key{{Namespace: "prod", Name: "a"}}, What: "image", Text: "ubuntu is there"},
			{Clusters: []fleet.Key{{Namespace: "prod", Name: "a"}, {Namespace: "prod", Name: "c"}}, What: "quota", Err: fleet.Errorf(fleet.Exhausted, "fit", "5 of 6")},
		}},
		"plain": cloud{asked: &asked},
	}
	r := &check.Report{}
	r.Clouds(t.Context(), check.Clouds{
		Clusters: []*fleet.Cluster{cluster("a", "good", "v1"), cluster("b", "good", "v1"), cluster("c", "good", "v1"), cluster("d", "plain", "v1"), cluster("e", "none", "v1")},
		Open: func(name string) (providers.Infrastructure, error) {
			if p, ok := all[name]; ok {
				return p, nil
			}
			return nil, errors.New("there is no such provider")
		},
	})
	want := []string{
		"OK|cloud|prod/a|good answers: 2 machines of this cluster",
		"FAIL|cloud|prod/b|cannot observe prod/b: connection refused",
		"OK|cloud|prod/c|good answers: 2 machines of this cluster",
		"OK|image|prod/a|ubuntu is there",
		"FAIL|quota|prod/a, prod/c|cannot fit: 5 of 6",
		"FAIL|provider|none|there is no such provider",
		"OK|cloud|prod/d|plain answers: 2 machines of this cluster",
	}
	if d := cmp.Diff(want, lines(r)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff([]string{"a", "c"}, asked); d != "" {
		t.Errorf("checked (-want +got):\n%s", d)
	}
}

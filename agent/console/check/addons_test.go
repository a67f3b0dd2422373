package check_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/console/check"
	"fairlead.dev/fleet"
)

// shelf has one chart, for who shows a password.
type shelf struct{ asked *int }

func (s shelf) Find(_ context.Context, c fleet.Chart, a fleet.ChartAccess) error {
	switch *s.asked++; {
	case c.Name != "cilium":
		return fleet.Errorf(fleet.NotFound, "fetch chart "+c.String(), "404")
	case a.Credentials.IsZero():
		return fleet.Errorf(fleet.Unauthorized, "fetch chart "+c.String(), "401")
	}
	return nil
}

// Each chart is asked for once for each credential, whoever wants it.
func TestCharts(t *testing.T) {
	chart := func(name, login string) fleet.Release {
		return fleet.Release{Chart: fleet.Chart{Repository: "oci://r.example.com", Name: name, Version: "1.2.3"}, Access: fleet.ChartAccess{Credentials: fleet.NewSecret([]byte(login))}}
	}
	a, b, c := cluster("a", "good", "v1"), cluster("b", "good", "v1"), cluster("c", "good", "v1")
	a.Releases = []fleet.Release{chart("cilium", "x"), chart("ghost", "x")}
	b.Releases = []fleet.Release{chart("cilium", "x")}
	c.Releases = []fleet.Release{chart("cilium", "")}
	asked := 0
	r := &check.Report{}
	r.Charts(t.Context(), []*fleet.Cluster{a, b, c}, shelf{&asked})
	want := []string{
		"OK|chart|prod/a, prod/b|cilium 1.2.3 is at oci://r.example.com",
		"FAIL|chart|prod/a|cannot fetch chart ghost 1.2.3: 404",
		"FAIL|chart|prod/c|cannot fetch chart cilium 1.2.3: 401",
	}
	if d := cmp.Diff(want, lines(r)); d != "" || asked != 3 {
		t.Errorf("asked %d times; -want +got:\n%s", asked, d)
	}
}

// One target that is not reached hides no other.
func TestTargets(t *testing.T) {
	r := &check.Report{}
	r.Targets(t.Context(), []fleet.NotificationTarget{{Name: "mail"}, {Name: "ops"}}, func(_ context.Context, of fleet.NotificationTarget) (string, error) {
		if of.Name == "mail" {
			return "", fleet.Errorf(fleet.Unavailable, "reach it", "connection refused")
		}
		return "it is reached", nil
	})
	want := []string{"UNKNOWN|notifications|mail|cannot reach it: connection refused", "OK|notifications|ops|it is reached"}
	if d := cmp.Diff(want, lines(r)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

package render_test

import (
	"context"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
	"fairlead.dev/render/topology"
)

// A slowDecoder gives cluster a of namespace one a drain of two hours, and labels.
type slowDecoder struct{ fakeDecoder }

func (d slowDecoder) Decode(overlay string, objects []render.Object, libraries ...topology.Library) ([]fleet.Cluster, []fleet.Problem) {
	clusters, problems := d.fakeDecoder.Decode(overlay, objects, libraries...)
	for i := range clusters {
		if clusters[i].Key.Namespace == "one" {
			clusters[i].Labels = map[string]string{"ring": "slow"}
			clusters[i].Workers = []fleet.Pool{{Name: "quick"}, {Name: "md", NodeDrainTimeoutSeconds: 7000, NodeVolumeDetachTimeoutSeconds: 200}}
		}
	}
	return clusters, problems
}

// A cluster that no window leaves time for a drain is refused, with the field and what to do: no change of
// it would ever begin. The others go on.
func TestWindowsLeaveTimeForDrains(t *testing.T) {
	for name, c := range map[string]struct {
		windows string
		refused bool
	}{
		"too short":                       {`[{name: nights, select: {}, cron: "0 22 * * *", duration: 1h}]`, true},
		"as long":                         {`[{name: nights, select: {}, cron: "0 22 * * *", duration: 2h}]`, true},
		"longer":                          {`[{name: nights, select: {}, cron: "0 22 * * *", duration: 121m}]`, false},
		"for others":                      {`[{name: nights, select: {matchLabels: {ring: quick}}, cron: "0 22 * * *", duration: 1h}]`, false},
		"a longer one besides":            {`[{name: nights, select: {}, cron: "0 22 * * *", duration: 1h}, {name: weekends, select: {}, cron: "0 0 * * 6", duration: 24h}]`, false},
		"a longer one besides for others": {`[{name: nights, select: {}, cron: "0 22 * * *", duration: 1h}, {name: weekends, select: {matchLabels: {ring: quick}}, cron: "0 0 * * 6", duration: 24h}]`, true},
	} {
		archive := tree(twoClusters).with("-- fleet.yaml --\n" + fleetHead + "  windows: " + c.windows + "\n")
		f, err := render.New(render.Options{FleetID: "f", Decoder: slowDecoder{}}).Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, archive)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(lines(f.Problems), "\n")
		if want := map[bool]int{true: 2, false: 3}[c.refused]; len(f.Clusters) != want {
			t.Errorf("%s: clusters are %q, and problems\n%s", name, keys(f), got)
		}
		for _, want := range []string{"fleet.yaml: spec.windows[0].duration", `window "nights"`, "pool md of cluster one/a-base", "2h0m0s", "open the window for longer"} {
			if strings.Contains(got, want) != c.refused {
				t.Errorf("%s: problems are\n%s\nwith or without %q", name, got, want)
			}
		}
	}
}

package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestReleaseArguments: what a release or an approval does is never guessed.
func TestReleaseArguments(t *testing.T) {
	for line, want := range map[string]string{
		"release prod --now --skip --reason x":     "exclusive",
		"release prod --approve --skip --reason x": "exclusive",
		"release prod":        "missing --now, --skip or --approve",
		"release prod --skip": "missing --reason",
		"approve x --changes --head " + strings.Repeat("a", 40): `invalid NUMBER "x"`,
		"approve 12":                  "missing --changes or --plan",
		"approve 12 --changes --plan": "--changes and --plan are exclusive",
	} {
		var out bytes.Buffer
		root := New(program("dev"), Streams{Out: &out, Err: &out})
		root.SetArgs(append(strings.Fields(line), "--source", t.TempDir()))
		if err := root.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestReleaseIsOfWhatIsSeen: a release carries the digest of what waits as the person saw it, and is refused
// here where there is nothing that it could be of.
func TestReleaseIsOfWhatIsSeen(t *testing.T) {
	key := func(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }
	var s status.Status
	s.Fleet.Rollout = fleet.RolloutStatus{
		Stages: []fleet.StageStatus{
			{Name: "idle"},
			{Name: "changes", Changing: 1},
			{Name: "waits", Waiting: 2, Digest: "all", Approvals: 2, Approved: []string{"Ada"}},
		},
		Waiting: []fleet.Wait{
			{Cluster: key("one"), Stage: "waits", Digest: "1"}, {Cluster: key("two"), Stage: "waits", Digest: "2"}, {Cluster: key("late"), Stage: "later", Digest: "3"},
		},
		Standings: []fleet.Standing{{Cluster: key("moves"), Digest: "held"}, {Cluster: key("one"), Digest: "old"}},
	}
	for name, c := range map[string]struct {
		stage, cluster string
		way            fleet.ReleaseWay
		of, says, not  string
		refused        string
	}{
		"approve an idle stage":       {stage: "idle", way: fleet.ReleaseApprove, refused: "nothing waits in stage idle"},
		"skip an idle stage":          {stage: "idle", way: fleet.ReleaseSkip, refused: "nothing waits in stage idle"},
		"skip what changes":           {stage: "changes", way: fleet.ReleaseSkip, says: "in stage changes"},
		"now for what changes":        {stage: "changes", way: fleet.ReleaseNow, refused: "nothing waits in stage changes"},
		"approve what changes":        {stage: "changes", way: fleet.ReleaseApprove, refused: "nothing waits in stage changes"},
		"approve what waits":          {stage: "waits", way: fleet.ReleaseApprove, of: "all", says: "1 of 2 approvals: Ada", not: "late"},
		"an unknown stage":            {stage: "nope", way: fleet.ReleaseNow, refused: "Stages: idle, changes, waits"},
		"a cluster that waits, now":   {cluster: "one", way: fleet.ReleaseNow, of: "1", says: "in prod/one"},
		"a cluster that waits, skip":  {cluster: "two", way: fleet.ReleaseSkip, of: "2", says: "in prod/two"},
		"a cluster that moves, skip":  {cluster: "moves", way: fleet.ReleaseSkip, of: "held", says: "nothing waits in prod/moves"},
		"a cluster that moves, now":   {cluster: "moves", way: fleet.ReleaseNow, refused: "nothing waits in cluster prod/moves"},
		"a cluster without a rollout": {cluster: "still", way: fleet.ReleaseSkip, refused: "nothing waits in cluster prod/still"},
	} {
		r := fleet.Request{Release: c.way, Stage: c.stage}
		says, err := "", error(nil)
		if c.stage != "" {
			says, err = waitingInStage(&r, s.Fleet.Rollout)
		} else {
			r.Cluster = key(c.cluster)
			says, err = waitingInCluster(&r, s)
		}
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", name, err, c.refused)
			}
		case err != nil || r.Of != c.of || !strings.Contains(says, c.says) || c.not != "" && strings.Contains(says, c.not):
			t.Errorf("%s: of %q, says %q, %v; want %+v", name, r.Of, says, err, c)
		}
	}
	if !slices.ContainsFunc(s.Fleet.Rollout.Waiting, func(w fleet.Wait) bool { return w.Stage == "later" }) {
		t.Error("nothing waits in another stage")
	}
}

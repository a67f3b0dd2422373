package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/loop/desired"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// Safety: no agent deletes the cluster that it lives in, with the secrets of all
// others, whoever wishes so.
func TestHomeIsNotDeleted(t *testing.T) {
	marked := clusterOf(keyA, "2", "y")
	marked.Delete = true
	before := fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x"), clusterOf(keyB, "1", "x"))
	annotated := fleetOf("2", fleet.Prune{}, marked, clusterOf(keyB, "1", "x"))
	pruned := fleetOf("2", fleet.Prune{Enabled: true, Limit: 1}, clusterOf(keyB, "1", "x"))
	in := func(home fleet.Key, err error) func(context.Context, fleet.Key) (bool, error) {
		return func(_ context.Context, k fleet.Key) (bool, error) { return k == home, err }
	}
	for _, c := range []struct {
		reason, name string
		livesIn      func(context.Context, fleet.Key) (bool, error)
		next         fleet.Fleet
		says         string // part of the problem; empty: it is deleted
	}{
		{"annotated, by name", "home.prod.a", nil, annotated, "lives in this cluster"},
		{"pruned, by name", "home.prod.a", nil, pruned, "lives in this cluster"},
		{"annotated, by its store", "mine", in(keyA, nil), annotated, "lives in this cluster"},
		{"pruned, by its store", "mine", in(keyA, nil), pruned, "lives in this cluster"},
		{"nobody knows", "mine", in(keyB, errors.New("no answer")), annotated, "no answer"},
		{"annotated, and the agent lives elsewhere", "home.prod.b", in(keyB, nil), annotated, ""},
		{"pruned, and the agent lives elsewhere", "home.prod.b", in(keyB, nil), pruned, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(before, c.next)
			w.livesIn = c.livesIn
			_ = runMover(t, w, c.name, nil, func() {
				w.took()
				w.push("2")
				deleted := slices.ContainsFunc(w.took(), func(p string) bool { return strings.HasSuffix(p, " delete") })
				expect(t, "deleted", deleted, c.says == "")
				problems := w.of(keyA).Problems
				told := len(problems) == 1 && strings.Contains(problems[0].Message, c.says) && strings.Contains(problems[0].Hint, "fairlead pivot --here")
				if told != (c.says != "") {
					t.Errorf("it says %v", problems)
				}
			})
			s := status.Status{Owner: fleet.Owner{Agent: c.name, Epoch: 1}}
			for _, k := range []fleet.Key{keyA, keyB} {
				s.Clusters = append(s.Clusters, status.Cluster{Report: fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned}})
			}
			out := desired.Of(s, c.next, time.Now())
			goes := len(out.Pruned) > 0 || slices.ContainsFunc(out.Clusters, func(c *fleet.Cluster) bool { return c.Delete })
			home := c.name == "home.prod.a" // a plan knows the name of the owner alone
			if goes == home || len(out.Problems) > 0 != home {
				t.Errorf("a plan says %+v", out)
			}
		})
	}
}

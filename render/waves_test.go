package render_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
)

const fleetHead = "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec:\n"

func renderConfig(spec string) (fleet.Fleet, error) {
	archive := tree(twoClusters).with("-- fleet.yaml --\n" + fleetHead + spec)
	return newBuilder(render.Options{FleetID: "f"}).Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, archive)
}

func TestWaves(t *testing.T) {
	f, err := renderConfig(`
  rollout:
    stages:
    - {name: canary, select: {matchLabels: {ring: canary}}, soak: 24h}
    - {name: prod, select: {matchExpressions: [{key: ring, operator: NotIn, values: [lab]}]}, atOnce: 10%, failures: 1, deadline: 2h}
    - {name: lab, select: {}, atOnce: 5, approval: true, approvals: 2, reviewers: [dora, "{bob-1}"]}
    classes:
    - {class: classes/edge, stages: [{name: edge, select: {}, atOnce: 50%}]}
  windows:
  - {select: {}, cron: "0 22 * * 5,6", duration: 6h, timeZone: Europe/Berlin}
  - {name: edge, select: {matchLabels: {ring: edge}}, rrule: FREQ=WEEKLY;INTERVAL=2;BYHOUR=22, start: 2027-01-04, duration: 6h}
  freezes:
  - {select: {}, from: 2027-11-25, until: 2027-11-30, timeZone: Europe/Berlin, reason: sales}
  pullRequests: {}
`)
	if err != nil {
		t.Fatal(err)
	}
	w := f.Config.Waves
	if !w.Declared() || len(w.Stages) != 3 || len(w.Windows) != 2 || len(w.Freezes) != 1 {
		t.Fatalf("got %+v", w)
	}
	if c := w.Classes; len(c) != 1 || c[0].Class.String() != "classes/edge" || c[0].Stages[0].Percent != 50 || !w.Stages[2].Approval || w.Stages[2].Approvals != 2 || !w.AsksAuthors() || strings.Join(w.Stages[2].Reviewers, " ") != "dora {bob-1}" {
		t.Errorf("classes are %+v", c)
	}
	canary, prod := w.Stages[0], w.Stages[1]
	if canary.AtOnce != 1 || canary.Soak != 24*time.Hour || !canary.Select.Matches(labels.Set{"ring": "canary"}) || canary.Select.Matches(labels.Set{}) {
		t.Errorf("canary is %+v", canary)
	}
	if prod.Percent != 10 || prod.AtOnce != 0 || prod.Failures != 1 || prod.Deadline != 2*time.Hour || prod.Select.Matches(labels.Set{"ring": "lab"}) {
		t.Errorf("prod is %+v", prod)
	}
	for clusters, want := range map[int]int{0: 1, 9: 1, 10: 1, 19: 1, 20: 2, 1000: 100} {
		if got := prod.Limit(clusters); got != want {
			t.Errorf("of %d clusters %d are changed at a time, want %d", clusters, got, want)
		}
	}
	if open, until := w.Windows[0].Schedule.At(time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)); open || !until.Equal(time.Date(2027, 1, 1, 21, 0, 0, 0, time.UTC)) {
		t.Errorf("the window is open %v until %s", open, until)
	}
	if w.Windows[0].Name != "0 22 * * 5,6 Europe/Berlin" || w.Windows[1].Name != "edge" {
		t.Errorf("windows are called %q and %q", w.Windows[0].Name, w.Windows[1].Name)
	}
	if got := w.Freezes[0].Until; !got.Equal(time.Date(2027, 11, 30, 23, 0, 0, 0, time.UTC)) {
		t.Errorf("the freeze ends at %s", got)
	}
}

func TestWavesRefused(t *testing.T) {
	const pulls = "  pullRequests: {}\n"
	stage := func(text string) string { return "  rollout: {stages: [" + text + "]}\n" }
	cases := map[string]struct{ spec, want string }{
		"no stages":    {"  rollout: {}\n", "spec.rollout.stages: there are 0 stages"},
		"unknown":      {"  rollout: {stage: []}\n", "spec.rollout.stage: this field does not exist"},
		"no name":      {stage("{select: {}}"), "spec.rollout.stages[0].name: "},
		"name":         {stage("{name: A_b, select: {}}"), "spec.rollout.stages[0].name: a lowercase RFC 1123 label"},
		"twice":        {stage("{name: a, select: {}}, {name: a, select: {}}"), `spec.rollout.stages[1].name: "a" is the name of another stage`},
		"rest":         {stage("{name: rest, select: {}}"), `spec.rollout.stages[0].name: "rest" is the name of another stage`},
		"no select":    {stage("{name: a}"), "spec.rollout.stages[0].select: missing label selector"},
		"operator":     {stage("{name: a, select: {matchExpressions: [{key: a, operator: Like}]}}"), `spec.rollout.stages[0].select: "Like" is not a valid label selector operator`},
		"select typo":  {stage("{name: a, select: {matchLabel: {a: b}}}"), "spec.rollout.stages[0].select.matchLabel: this field does not exist"},
		"none":         {stage("{name: a, select: {}, atOnce: 0}"), "spec.rollout.stages[0].atOnce: nothing would ever be changed"},
		"percent":      {stage(`{name: a, select: {}, atOnce: "101%"}`), "spec.rollout.stages[0].atOnce: 101% is more than 100%"},
		"half":         {stage("{name: a, select: {}, atOnce: 1.5}"), `spec.rollout.stages[0].atOnce: "1.5" is neither`},
		"failures":     {stage("{name: a, select: {}, failures: -1}"), "spec.rollout.stages[0].failures: -1 is negative"},
		"class":        {"  rollout: {classes: [{class: a/b/c, stages: [{name: a, select: {}}]}]}\n", "spec.rollout.classes[0].class: "},
		"class twice":  {"  rollout: {classes: [{class: n/a, stages: [{name: a, select: {}}]}, {class: n/a, stages: [{name: b, select: {}}]}]}\n", "spec.rollout.classes[1].class: n/a has stages already"},
		"class rest":   {"  rollout: {classes: [{class: n/a, stages: [{name: a, select: {matchLabels: {a: b}}}]}]}\n", "spec.rollout.classes[0].stages: the last stage of a class does not select all"},
		"class none":   {"  rollout: {stages: [{name: a, select: {}}], classes: [{class: n/a, stages: []}]}\n", "spec.rollout.classes[0].stages: the last stage of a class does not select all"},
		"one name":     {"  rollout: {stages: [{name: a, select: {}}], classes: [{class: n/a, stages: [{name: a, select: {}}]}]}\n", `spec.rollout.classes[0].stages[0].name: "a" is the name of another stage`},
		"soak":         {stage("{name: a, select: {}, soak: a day}"), `spec.rollout.stages[0].soak: invalid duration "a day"`},
		"deadline":     {stage("{name: a, select: {}, deadline: -1h}"), "spec.rollout.stages[0].deadline: -1h is not from"},
		"no approvals": {stage("{name: a, select: {}, approval: true, approvals: 0}"), "spec.rollout.stages[0].approvals: 0 is not from 1 to 10"},
		"many of them": {stage("{name: a, select: {}, approval: true, approvals: 11}"), "spec.rollout.stages[0].approvals: 11 is not from 1 to 10"},
		"of nothing":   {stage("{name: a, select: {}, approvals: 2}"), "spec.rollout.stages[0].approvals: the stage needs no approval"},
		"nobody waits": {stage("{name: a, select: {}, reviewers: [ada]}") + pulls, "spec.rollout.stages[0].reviewers: the stage needs no approval"},
		"named twice":  {stage("{name: a, select: {}, approval: true, reviewers: [ada, bob, ada]}") + pulls, "spec.rollout.stages[0].reviewers: an account is listed twice"},
		"no account":   {stage(`{name: a, select: {}, approval: true, reviewers: ["Ada L"]}`) + pulls, `spec.rollout.stages[0].reviewers: "Ada L" is no account`},
		"no look":      {stage("{name: a, select: {}, approval: true, reviewers: [ada]}"), "spec.rollout: it names reviewers, and pull requests are not enabled"},
		"window":       {"  windows: [{select: {}, cron: 0 0 31 2 *, duration: 1h}]\n", "spec.windows[0].cron: it never opens"},
		"zone":         {"  windows: [{select: {}, cron: 0 0 * * *, duration: 1h, timeZone: Moon}]\n", `spec.windows[0].timeZone: "Moon" is no time zone`},
		"all windows":  {"  windows: [{cron: 0 0 * * *, duration: 1h}]\n", "spec.windows[0].select: missing label selector"},
		"freeze":       {"  freezes: [{select: {}, from: 2027-01-02, until: 2027-01-01, reason: x}]\n", "spec.freezes[0].until: 2027-01-01 is not after from"},
		"no reason":    {"  freezes: [{select: {}, from: 2027-01-01, until: 2027-01-02}]\n", "spec.freezes[0].reason: missing reason"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := renderConfig(c.spec)
			e, ok := errors.AsType[*render.ConfigError](err)
			if !ok || len(e.Problems) != 1 {
				t.Fatalf("got %v, want one problem", err)
			}
			if got := e.Problems[0].String(); !strings.HasPrefix(got, "fleet.yaml:") || !strings.Contains(got, ": "+c.want) {
				t.Errorf("got %s, want fleet.yaml:LINE: %s…", got, c.want)
			}
		})
	}
}

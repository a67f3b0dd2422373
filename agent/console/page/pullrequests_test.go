package page_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/console/page/pagetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestPlanIsShown: the document of a plan is shown, and what others wrote in it as text.
func TestPlanIsShown(t *testing.T) {
	for want, change := range map[string]func(*status.Plan){
		`<h2>Fairlead plan of <code>edge</code>: <code>a &#39;and&#39; b</code></h2>`:                func(p *status.Plan) { p.Fleet, p.Headline = "edge", "a `and` b" },
		`<li><b>fails</b>: <code>it *is* &lt;b&gt;so&lt;/b&gt; [a](https://example.com)</code></li>`: func(p *status.Plan) { p.Failures = []string{"it *is* <b>so</b> [a](https://example.com)"} },
		`<summary><code>prod/a&amp;b</code>: delete 1 machine</summary><ul><li><b>delete</b> <code>md m</code>: <code>why</code>; <b>what runs on it moves</b></li></ul></details>`: func(p *status.Plan) {
			p.Changes = []status.PlannedChange{{Change: "delete", Cluster: "prod/a&b", Pool: "md", Machine: "m", Reason: "why"}}
		},
		`<li>pending without this pull request, too: 2 changes<ul><li><code>prod/x</code>: <code>create 2 machines</code></li></ul></li>`: func(p *status.Plan) {
			p.Pending = []status.PlanPart{{Cluster: "prod/x", Changes: 2, Summary: "create 2 machines"}}
		},
		`<h2>Fairlead: done, not all as planned</h2><ul><li>differs: <code>machine m is there</code></li></ul>`: func(p *status.Plan) {
			p.Result = &status.PlanResult{Done: true, Differs: []string{"machine m is there"}}
		},
		`The plan is longer: <a href="https://github.com/ops/fleet/blob/fairlead/status/plans/pull-requests/12.md">`: func(p *status.Plan) {
			p.Changes = slices.Repeat([]status.PlannedChange{{Change: "create", Cluster: "prod/a", Machine: "m"}}, 400)
		},
	} {
		p := shown(t, 3, func(n *page.News) { change(&n.Plans[0]) })
		if body := get(p, "/pull-requests/12").Body.String(); !strings.Contains(body, want) {
			t.Errorf("it is not shown as %s:\n%.3000s", want, body[strings.Index(body, "<main"):])
		}
	}
	p := shown(t, 3, nil)
	if body := get(p, "/pull-requests/14.json").Body.String(); !strings.Contains(body, `"text": "### Fairlead plan: `) || !strings.Contains(body, `"failures": [`) {
		t.Errorf("programs read %s", body)
	}
}

// TestPlanIsOld: a plan onto what is not followed any more says so.
func TestPlanIsOld(t *testing.T) {
	p := shown(t, 3, func(n *page.News) { n.Plans[0].Base = "main@sha1:00" })
	for path, want := range map[string]int{"/pull-requests": 1, "/pull-requests/12": 1, "/pull-requests/14": 0} {
		if n := strings.Count(get(p, path).Body.String(), "it is being planned again"); n != want {
			t.Errorf("%s says it %d times, want %d", path, n, want)
		}
	}
}

// TestPlanStream: a tab on a plan learns of a new one, and that it is gone.
func TestPlanStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news := pagetest.Fleet(3, 3)
		p := shown(t, 1, nil)
		p.Show(news)
		l := listen(t, p, "of=pull-requests/14&since="+number(p))
		other := listen(t, p, "of=pull-requests/12&since="+number(p))
		synctest.Wait()
		l.heard()
		news.Plans = pagetest.Fleet(1, 1).Plans
		news.Plans[1].Summary = "delete 7 clusters"
		p.Show(news)
		time.Sleep(time.Second)
		if got := l.heard(); !strings.Contains(got, `data: <section id="plan">`) || !strings.Contains(got, "delete 7 clusters") {
			t.Errorf("it is told\n%s", got)
		}
		if got := other.heard(); strings.Contains(got, "delete 7 clusters") {
			t.Errorf("a tab on another plan is told\n%s", got)
		}
		news.Plans = news.Plans[:1]
		p.Show(news)
		time.Sleep(time.Second)
		if got := l.heard(); !strings.HasPrefix(got, "event: gone\n") {
			t.Errorf("it is told %q", got)
		}
	})
}

// TestPlansOfRefs: plans of refs are told apart, each by its name and at its address.
func TestPlansOfRefs(t *testing.T) {
	cluster := []fleet.Key{{Namespace: "dev", Name: "dub-0002"}}
	p := shown(t, 3, func(n *page.News) {
		n.Plans = []status.Plan{
			{Ref: "refs/heads/proposals/harmless", Head: strings.Repeat("a", 40), Verdict: "success", Summary: "nothing to do"},
			{Ref: "refs/heads/proposals/x.json", Head: strings.Repeat("b", 40), Verdict: "failure", Summary: "delete 7 clusters", Clusters: cluster},
		}
	})
	for path, want := range map[string][]string{
		"/pull-requests":  {`<a href="pull-requests/refs~heads~proposals~harmless~">proposals/harmless</a>`, `<a href="pull-requests/refs~heads~proposals~x.json~">proposals/x.json</a>`},
		"/c/dev/dub-0002": {`<a href="../../pull-requests/refs~heads~proposals~x.json~">proposals/x.json</a>`},
		"/pull-requests/refs~heads~proposals~x.json~":        {"Ref proposals/x.json</h1>", "<title>", "delete 7 clusters"},
		"/pull-requests/refs~heads~proposals~harmless~":      {"Ref proposals/harmless</h1>", "nothing to do"},
		"/pull-requests/refs~heads~proposals~x.json~.json":   {`"ref": "refs/heads/proposals/x.json"`, "delete 7 clusters"},
		"/pull-requests/refs~heads~proposals~harmless~.json": {`"ref": "refs/heads/proposals/harmless"`},
	} {
		body := get(p, path).Body.String()
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s does not have %s:\n%.2000s", path, text, body)
			}
		}
	}
	if code := get(p, "/pull-requests/0").Code; code != 404 {
		t.Errorf("pull request 0 answers %d", code)
	}
}

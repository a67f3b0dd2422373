package page_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/console/page/pagetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestPlanText: the Markdown of a plan is shown as such, and all else in it as text.
func TestPlanText(t *testing.T) {
	for text, want := range map[string]string{
		"### Fairlead plan: `a` and `b`":      `<h2>Fairlead plan: a and b</h2>`,
		"- **fails**: `it *is* so`; **then**": `<li><b>fails</b>: <code>it *is* so</code>; <b>then</b></li>`,
		"an open ` and an open **":            `<p>an open ` + "`" + ` and an open **</p>`,
		"`**`; **x**":                         `<p><code>**</code>; <b>x</b></p>`,
		"<details><summary><code>a&amp;b</code>: x</summary>\n\n- y\n\n</details>\nz": `<summary>a&amp;b: x</summary><ul><li>y</li></ul></details><div class="passage"><p>z</p></div>`,
		"<b>bold</b> [a](https://example.com)":                                        `<p>&lt;b&gt;bold&lt;/b&gt; [a](https://example.com)</p>`,
		"<!-- a mark -->\nz":                                                          `<div class="passage"><p>z</p></div>`,
		strings.Repeat("x", 50<<10) + "\nlast":                                        `It says more: <a href="https://github.com/ops/fleet/blob/fairlead/status/plans/pull-requests/12.md">`,
	} {
		p := shown(t, 3, func(n *page.News) { n.Plans[0].Text = text })
		if body := get(p, "/pull-requests/12").Body.String(); !strings.Contains(body, want) {
			t.Errorf("%.60q is not shown as %s:\n%.3000s", text, want, body[strings.Index(body, "<main"):])
		}
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
			{Ref: "refs/heads/proposals/harmless", Head: strings.Repeat("a", 40), Verdict: "success", Summary: "nothing to do", Text: "### Fairlead plan: `nothing to do`\n"},
			{Ref: "refs/heads/proposals/x.json", Head: strings.Repeat("b", 40), Verdict: "failure", Summary: "delete 7 clusters", Text: "### Fairlead plan: `delete 7 clusters`\n", Clusters: cluster},
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

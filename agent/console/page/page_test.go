package page_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/console/page/pagetest"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
)

// options are those of a fleet on a forge.
func options() page.Options {
	links := forge.Links{Kind: "github", URL: "https://github.com/ops/fleet"}
	return page.Options{
		Source: "https://github.com/ops/fleet", Branch: "fairlead/status", Forge: links, StatusForge: links,
		Started: pagetest.Start(), Log: slog.New(slog.DiscardHandler),
	}
}

// shown returns a page of n clusters, as change makes their news.
func shown(t testing.TB, n int, change func(*page.News)) *page.Page {
	t.Helper()
	p, err := page.New(options())
	if err != nil {
		t.Fatal(err)
	}
	news := pagetest.Fleet(n, 5)
	if change != nil {
		change(&news)
	}
	p.Show(news)
	return p
}

// get returns what p answers.
func get(p http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:8090"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// TestViews: each view says what is to be said of the fleet, as HTML and as JSON, at
// addresses that work below any prefix.
func TestViews(t *testing.T) {
	p := shown(t, 120, func(n *page.News) {
		n.Status.Fleet.Orphans = []fleet.Key{pagetest.Key(60)}
		n.Trouble = "the forge does not answer"
	})
	for path, c := range map[string]struct {
		json string
		want []string
	}{
		"/": {"/fleet.json", []string{"120 clusters", "state:failing", "prod/fra-0003", "No valid host was found", "removed from Git", "addon csi: Deployment kube-system/csi-controller: denied by a policy", "the forge does not answer"}},
		"/c/prod/fra-0003": {"/c/prod/fra-0003.json", []string{
			"No valid host was found", "v1.34.1 → v1.35.4 in 47 min, ", "fairlead reconcile prod/fra-0003 --source https://github.com/ops/fleet", "57s", "nova-a", "CreateMachine", "apiserver",
			"https://github.com/ops/fleet/new/fairlead/status?filename=requests%2Fprod%2Ffra-0003%2Freconcile.yaml&amp;value=apiVersion", "fairlead remediate fra-0003-md-0-",
		}},
		"/c/dev/iad-0005": {"/c/dev/iad-0005.json", []string{"spec.replicas", "must be a whole number", "/blob/72c6fb6d1f2d4c6b8a9e0f1d2c3b4a5968778695/clusters/dev/iad-0005/values.yaml#L17"}},
		"/rollouts":       {"/rollouts.json", []string{"Halted", "1 of 10 clusters failed", `<a href="c/prod/fra-0003">prod/fra-0003</a>: No valid host was found`, "fairlead release half --now", `https://github.com/ops/fleet/new/fairlead/status?filename=requests%2Fstages%2Frelease-now-half.yaml&amp;value=apiVersion%3A&#43;fairlead.dev%2Fv1alpha1%0Akind%3A&#43;Request%0Awish%3A&#43;release%0Astage%3A&#43;%22half%22%0Arelease%3A&#43;now%0Aof%3A&#43;%220123%22%0Areason%3A&#43;%22%22%0A">Continue stage half, in the Git provider`, "until 20 Nov 2026 18:00Z", "dev/sin-0008"}},
		"/c/dev/sin-0008": {"/c/dev/sin-0008.json", []string{"revision 72c6fb6d1f2d waits since 2026-11-20T07:00:00Z: stage half is halted", `href="../../rollouts"`, "Release now", "fairlead release dev/sin-0008 --now --reason", "requests%2Fdev%2Fsin-0008%2Frelease-now.yaml"}},
		"/pull-requests":  {"/pull-requests.json", []string{"#14", "fails: it deletes cluster dev/dub-0002", "failure", "/commit/"}},
		"/pull-requests/14": {"/pull-requests/14.json", []string{
			"it deletes cluster dev/dub-0002", "everything on it ends", "gru-0004-cp-2", "fairlead approve 14 --changes --head", "https://github.com/ops/fleet/pull/14", "../c/dev/dub-0002",
		}},
		"/c/dev/dub-0002": {"/c/dev/dub-0002.json", []string{`<a href="../../pull-requests/14">#14</a>: fails: it deletes cluster`}},
		"/c/dev/nrt-0017": {"/c/dev/nrt-0017.json", []string{"<dt>Addon</dt><dd class=\"said\">csi is Failed: Deployment kube-system/csi-controller: denied by a policy", "cilium 1.18.2", "release kube-system/cilium revision 3", `from <a href="https://github.com/ops/fleet/commit/72c6fb6d1f2d4c6b8a9e0f1d2c3b4a5968778695">72c6fb6d1f2d</a>`}},
		"/c/dev/nrt-0047": {"/c/dev/nrt-0047.json", []string{
			`<dt>Now</dt><dd><span class="under">CreateMachine nrt-0047-md-0-`, "DrainNode", "Began 18 Nov 2026 09:00Z", `<rect class="pControlPlane" x="195" width="312" height="8"><title>ControlPlane 1m31s</title>`,
			`<rect class="pControlPlane" width="12" height="12"/></svg> ControlPlane 1m31s</span>`, "<h2>Conditions ", " OK</h2>",
			`href="../../tree/dev/nrt-0047"`, `href="../../history/dev/nrt-0047"`,
		}},
		"/tree/prod/fra-0003": {"/tree/prod/fra-0003.json", []string{
			`<span class="dim">KubeadmControlPlane</span> <b>fra-0003-cp</b>`, `<span class="dim">Node</span> <b>fra-0003-cp-00001eef</b> <span>v1.35.4</span>`, "Available False, NotAvailable", "a machine has failed", "Fault 500",
		}},
		"/tree/dev/nrt-0017":     {"/tree/dev/nrt-0017.json", []string{`<span class="dim">ClusterResourceSet</span> <b>csi</b>`, "Ready False, Failed", "from 72c6fb6d1f2d"}},
		"/history/prod/fra-0003": {"/history/prod/fra-0003.json", []string{"Friday 20 November 2026", "Workers → Provisioned", "CreateMachine", "https://github.com/ops/fleet/commits/fairlead/status/clusters/prod/fra-0003.yaml"}},
		"/problems":              {"/problems.json", []string{"2 problems", "clusters/dev/iad-0005/values.yaml:17", "WORKER_MACHINE_COUNT"}},
		"/requests":              {"/requests.json", []string{"suspend cluster stage/nrt-0007", "its network is being moved", "Ada &lt;ada@example.com&gt;", "/edit/fairlead/status/requests/stage/nrt-0007/suspend.yaml"}},
		"/history":               {"/history.json", []string{"prod/ams-0000: Workers → Provisioned", "CreateMachine"}},
		"/agent":                 {"/agent.json", []string{"agent-a, epoch 3", "v1.0.0", `<dt>Last poll</dt><dd><time datetime="2026-11-20T08:59:40Z">`, "Last commit"}},
	} {
		t.Run(path, func(t *testing.T) {
			w := get(p, path)
			if w.Code != http.StatusOK {
				t.Fatalf("%d: %s", w.Code, w.Body)
			}
			for _, want := range c.want {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if bad := regexp.MustCompile(`(?:href|src|action)="/[^"]*"`).FindString(w.Body.String()); bad != "" {
				t.Errorf("there is an address that no prefix goes before: %s", bad)
			}
			named, accepted := get(p, c.json), get(p, path, "Accept", "application/json")
			if !json.Valid(named.Body.Bytes()) || named.Body.String() != accepted.Body.String() {
				t.Errorf("the JSON by name is %s, by Accept %s", named.Body, accepted.Body)
			}
		})
	}
	for _, path := range []string{"/c/prod/none", "/tree/prod/none", "/history/prod/none", "/tree", "/history/prod", "/pull-requests/13", "/pull-requests/x", "/pull-requests/014", "/pull-requests/14/x"} {
		if w := get(p, path); w.Code != http.StatusNotFound {
			t.Errorf("%s, which is not there, is answered with %d", path, w.Code)
		}
	}
}

// TestFilter: the address says which clusters are shown, and how.
func TestFilter(t *testing.T) {
	p := shown(t, 300, nil)
	for query, want := range map[string]struct {
		matching, rows int
		first          string
	}{
		"":                                {300, 100, "dev/fra-0203"},
		"q=state:failing":                 {3, 3, "dev/fra-0203"},
		"q=namespace:dev+version:v1.36":   {4, 4, ""},
		"q=label:env%3Ddev+version:v1.36": {4, 4, ""},
		"q=label:example.com/TIER%3Dgold&by=label:env": {150, 100, ""},
		"q=label:none":                      {0, 0, ""},
		"q=label:":                          {300, 100, ""},
		"q=FRA":                             {30, 30, ""},
		"q=not+enough+hosts":                {3, 3, ""},
		"q=nothing-of-that-name":            {0, 0, ""},
		"from=250":                          {300, 50, ""},
		"from=-7&by=none":                   {300, 100, "dev/fra-0203"},
		"from=99999999999999999999999&by=x": {300, 100, ""},
	} {
		var got struct {
			Matching int
			Rows     []struct{ Name string }
		}
		if err := json.Unmarshal(get(p, "/fleet.json?"+query).Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Matching != want.matching || len(got.Rows) != want.rows || want.first != "" && got.Rows[0].Name != want.first {
			t.Errorf("%q shows %d of %d, want %d of %d", query, len(got.Rows), got.Matching, want.rows, want.matching)
		}
	}
}

// TestManyClusters: of a large fleet those that are as they should be have no sign each.
func TestManyClusters(t *testing.T) {
	p := shown(t, 2500, nil)
	body := get(p, "/").Body.String()
	if n := strings.Count(body, `<a id="c`); n > 400 || n < 100 {
		t.Errorf("%d clusters have a sign", n)
	}
	if len(body) > 120<<10 {
		t.Errorf("the page has %d bytes", len(body))
	}
	if !strings.Contains(body, "2,500 clusters") {
		t.Error("it does not say how many clusters there are")
	}
}

// TestNobody: a fleet that no agent has worked on is no error.
func TestNobody(t *testing.T) {
	p, err := page.New(options())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/problems", "/requests", "/history", "/agent", "/rollouts", "/pull-requests"} {
		if w := get(p, path); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if body := get(p, "/").Body.String(); !strings.Contains(body, "has no status branch fairlead/status. Start one: <code>fairlead agent --source "+options().Source+"</code>") {
		t.Error(body)
	}
}

// TestGroups: clusters are grouped by what the address says, labels among it.
func TestGroups(t *testing.T) {
	p := shown(t, 120, nil)
	for by, want := range map[string]string{
		"namespace": "dev prod stage", "version": "v1.35.4 v1.36.0", "phase": "Deleting Provisioned Workers", "label:env": "dev prod stage", "label:example.com/tier": "gold silver",
		"label:none": "dev prod stage", "": "dev prod stage",
	} {
		path := "/fleet.json?by=" + url.QueryEscape(by)
		var got struct {
			LabelKeys []string
			Groups    []struct {
				Name     string
				Clusters int
			}
		}
		if err := json.Unmarshal(get(p, path).Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		names, n := "", 0
		for _, g := range got.Groups {
			names, n = names+" "+g.Name, n+g.Clusters
		}
		if strings.TrimSpace(names) != want || n != 120 {
			t.Errorf("by %q there are%s, with %d clusters; want %s", by, names, n, want)
		}
		if diff := cmp.Diff([]string{"env", "example.com/tier"}, got.LabelKeys); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
	}
	if body := get(p, "/?by=label:env").Body.String(); !strings.Contains(body, `<option selected>label:env</option>`) {
		t.Error("what clusters are grouped by is not chosen")
	}
}

func BenchmarkFleet(b *testing.B) {
	for name, n := range map[string]int{"1000": 1000, "10000": 10000} {
		b.Run(name, func(b *testing.B) {
			p := shown(b, n, nil)
			get(p, "/")
			size := 0
			for b.Loop() {
				size = get(p, "/").Body.Len()
			}
			b.ReportMetric(float64(size), "bytes")
			b.ReportMetric(float64(get(p, "/", "Accept-Encoding", "gzip").Body.Len()), "gzipped")
		})
	}
}

// BenchmarkShow takes in news of 10,000 clusters of which one changed.
func BenchmarkShow(b *testing.B) {
	p := shown(b, 1, nil)
	news := pagetest.Fleet(10000, 5)
	p.Show(news)
	i := 0
	for b.Loop() {
		news.Status.Clusters[i%10000].Report.Failure += "x"
		p.Show(news)
		i++
	}
}

package page

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/console/page/pagetest"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// prefix is what a proxy cuts off.
const prefix = "/teams/edge"

// serve returns the address of a page that shows n, behind a proxy with a prefix.
func serve(t testing.TB, n page.News) (*page.Page, string) {
	t.Helper()
	links := forge.Links{Kind: "github", URL: "https://github.com/ops/fleet"}
	p, err := page.New(page.Options{
		Source: links.URL, Branch: "fairlead/status", Forge: links, StatusForge: links, Started: pagetest.Start(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Show(n)
	s := httptest.NewServer(http.StripPrefix(prefix, p))
	t.Cleanup(func() {
		p.Close()
		s.Close()
	})
	return p, s.URL + prefix
}

// views are all of them, of a fleet of pagetest.
func views() map[string]string {
	return map[string]string{
		"fleet": "/", "filtered": "/?q=state:failing&by=version", "ok": "/c/prod/ams-0000", "failing": "/c/prod/fra-0003", "rolling": "/c/dev/nrt-0047", "problem": "/c/dev/iad-0005",
		"addons": "/c/dev/nrt-0017", "tree": "/tree/prod/fra-0003", "past": "/history/dev/nrt-0047",
		"rollouts": "/rollouts", "pulls": "/pull-requests", "plan": "/pull-requests/14", "labels": "/?by=label:env&q=label:example.com/tier=gold",
		"problems": "/problems", "requests": "/requests", "history": "/history", "agent": "/agent", "missing": "/c/prod/none",
	}
}

// TestViews: each view, wide and narrow, is one that a browser has nothing to say against, and
// that fits; it loads nothing from elsewhere, and its main regions are where they were.
func TestViews(t *testing.T) {
	b := browser(t)
	_, base := serve(t, pagetest.Fleet(120, 20))
	known := readRegions(t)
	for name, path := range views() {
		t.Run(name, func(t *testing.T) {
			tab := b.tab(1440, 900, "light")
			defer tab.close()
			tab.visit(base, name, path)
			seen := tab.regions()
			tab.looks(t, name, seen)
			known.compare(t, name, seen)
			for _, width := range []int{3840, 1440, 390, 320} {
				tab.resize(width, 900)
				if wide := tab.eval("document.documentElement.scrollWidth"); wide != fmt.Sprint(width) {
					t.Errorf("in %d pixels it is %s wide", width, wide)
				}
			}
			for _, text := range tab.said() {
				if name != "missing" { // which is an error of HTTP
					t.Errorf("the console says %s", text)
				}
			}
			if elsewhere := tab.asked(base); len(elsewhere) > 0 {
				t.Errorf("it asked for %v", elsewhere)
			}
		})
	}
	known.write(t)
}

// visit opens a view.
func (t *tab) visit(base, name, path string) {
	t.t.Helper()
	if name != "missing" {
		t.open(base + path)
		return
	}
	t.do("Page.navigate", map[string]any{"url": base + path}, nil)
	t.until(`document.readyState == "complete" && document.body.innerText.includes("Nothing here")`)
}

// TestHostile: what others say runs nothing, and breaks no policy.
func TestHostile(t *testing.T) {
	b := browser(t)
	evil := `"><script>document.title="owned"</script><img src=x onerror='document.title="owned"'><svg onload='document.title="owned"'>` + "\u202e" + strings.Repeat("x", 64<<10)
	n := pagetest.Fleet(3, 3)
	for i := range n.Status.Clusters {
		r := &n.Status.Clusters[i].Report
		r.Failure, r.Waiting, r.Machines[0].Machine.Message, r.Machines[0].Phase = evil, []string{evil}, evil, fleet.MachinePhaseFailed
		r.Problems = []fleet.Problem{{File: evil, Message: evil, Hint: evil}}
	}
	n.Status.Fleet.Fleet, n.Status.Fleet.Problems, n.History[0].Message = fleet.ID(evil), n.Status.Clusters[0].Report.Problems, evil
	p, base := serve(t, n)
	tab := b.tab(390, 900, "light")
	for _, path := range []string{"/", "/c/prod/ams-0000", "/problems", "/history"} {
		tab.open(base + path)
		p.Show(n) // it comes by the stream as well
		n.Facts = append(n.Facts, page.Fact{Name: "x", Value: "y"})
		p.Show(n)
		tab.until(`document.querySelectorAll("script").length === 1 && !document.title.startsWith("owned") && document.body.innerText.includes("<script>")`)
		if wide := tab.eval("document.documentElement.scrollWidth"); wide != "390" {
			t.Errorf("%s is %s wide", path, wide)
		}
	}
	if said := tab.said(); len(said) > 0 {
		t.Errorf("the console says %v", said)
	}
}

// TestLive: what changes is there without a reload, the focus stays, and what is silent
// says so.
func TestLive(t *testing.T) {
	b := browser(t)
	n := pagetest.Fleet(20, 3)
	p, base := serve(t, n)
	tab := b.tab(1440, 900, "light")
	tab.open(base + "/")
	tab.eval(`window.same = true; document.querySelector('tbody a[href="c/prod/ams-0000"]').focus(); 0`)
	fail := func(i int, text string) {
		for j := range n.Status.Clusters {
			if n.Status.Clusters[j].Report.Cluster == pagetest.Key(i) {
				n.Status.Clusters[j].Report.Failure = text
			}
		}
		p.Show(n)
	}
	fail(0, "the cloud is on fire")
	tab.until(`document.activeElement.closest("tr")?.innerText.includes("the cloud is on fire")`)
	n.Status.Clusters = n.Status.Clusters[1:]
	p.Show(n)
	tab.until(`document.querySelector("h1").innerText === "19 clusters" && document.querySelectorAll("tbody tr").length === 19`)
	if tab.eval("window.same === true") != "true" {
		t.Error("the page was loaded again")
	}
	stale := tab.eval(`(() => { const now = Date.now; Date.now = () => now() + 60e3; ages(); Date.now = now; return news.textContent + document.body.className })()`)
	if !strings.HasPrefix(stale, "no news since ") || !strings.HasSuffix(stale, "Zstale") {
		t.Errorf("after a minute of silence it says %q", stale)
	}
	fail(1, "again")
	tab.until(`news.textContent === "live" && document.body.className === ""`)

	tab.open(base + "/c/prod/fra-0003")
	tab.eval(`document.querySelector("details").open = true; document.querySelector("#ask a").focus(); 0`)
	fail(3, "the cloud is on fire")
	tab.until(`document.querySelector(".plan").innerText.includes("the cloud is on fire")`)
	if got := tab.eval(`document.querySelector("details").open && document.activeElement.innerText.startsWith("Create the request file in the Git provider")`); got != "true" {
		t.Error("what was open is closed, or the focus is gone")
	}
}

// TestComesBack: a tab whose stream ends, and is refused by a proxy for a while, goes on where
// it was.
func TestComesBack(t *testing.T) {
	b := browser(t)
	n := pagetest.Fleet(20, 3)
	p, _ := serve(t, n)
	var down atomic.Bool
	var refused atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			refused.Add(1)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		p.Close()
		proxy.Close()
	})
	tab := b.tab(1440, 900, "light")
	tab.open(proxy.URL + "/")
	tab.eval("window.same = true; 0")
	down.Store(true)
	proxy.CloseClientConnections()
	for refused.Load() == 0 {
		time.Sleep(50 * time.Millisecond)
	}
	n.Status.Clusters[0].Report.Failure = "the cloud is on fire"
	p.Show(n)
	down.Store(false)
	tab.until(`document.body.innerText.includes("the cloud is on fire")`)
	if tab.eval("window.same === true") != "true" {
		t.Error("the page was loaded again")
	}
}

// TestGone: a tab on a cluster that goes says so, stays quiet while others change, and shows the
// cluster once it is back.
func TestGone(t *testing.T) {
	b := browser(t)
	n := pagetest.Fleet(20, 3)
	p, base := serve(t, n)
	tab := b.tab(1440, 900, "light")
	tab.open(base + "/c/prod/ams-0000")
	without := n
	without.Status.Clusters = slices.Clone(n.Status.Clusters[:10])
	without.Status.Clusters = slices.DeleteFunc(without.Status.Clusters, func(c status.Cluster) bool { return c.Report.Cluster == pagetest.Key(0) })
	p.Show(without)
	tab.until(`document.body.innerText.includes("Nothing here") && document.getElementById("news").textContent === "live"`)
	tab.eval("window.same = true; 0")
	for range 3 {
		p.Show(without)
		time.Sleep(600 * time.Millisecond) // more than news are gathered for
	}
	if tab.eval("window.same === true") != "true" {
		t.Error("what is gone is loaded again with each change of others")
	}
	p.Show(n)
	tab.until(`document.querySelector("h1").innerText.includes("prod/ams-0000")`)
}

// TestKeyboard: a fleet is looked through without a mouse.
func TestKeyboard(t *testing.T) {
	b := browser(t)
	_, base := serve(t, pagetest.Fleet(120, 3))
	tab := b.tab(1440, 900, "light")
	tab.open(base + "/")
	tab.press("Tab")
	if got := tab.eval("document.activeElement.textContent"); got != "Skip to content" {
		t.Errorf("the first stop is %q", got)
	}
	tab.press("/")
	for _, k := range "fra-0003" {
		tab.press(string(k))
	}
	tab.until(`location.search.includes("q=fra-0003") && document.querySelectorAll("tbody tr").length === 1`)
	tab.press("Enter")
	tab.until(`document.activeElement.getAttribute("href") === "c/prod/fra-0003"`)
	tab.press("Enter")
	tab.until(`location.pathname.endsWith("/c/prod/fra-0003") && document.readyState === "complete" && document.querySelector("h1").innerText.includes("prod/fra-0003")`)
	tab.open(base + "/?q=state:changing")
	tab.press("j", "j", "k")
	if got := tab.eval(`[...document.querySelectorAll("tbody th a")].indexOf(document.activeElement)`); got != "0" {
		t.Errorf("j, j, k lead to row %s", got)
	}
}

// TestWithoutScript: what is shown and filtered needs no script.
func TestWithoutScript(t *testing.T) {
	b := browser(t)
	_, base := serve(t, pagetest.Fleet(120, 3))
	tab := b.tab(1440, 900, "light")
	tab.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	tab.do("Page.navigate", map[string]any{"url": base + "/?q=state:failing&by=phase"}, nil)
	tab.until(`document.readyState === "complete" && document.querySelectorAll("tbody tr").length === 2 && document.querySelector("form button")`)
}

// pictures are those of docs/guides/fleet/page.md.
func pictures() map[string]struct {
	path, scheme  string
	width, height int
} {
	return map[string]struct {
		path, scheme  string
		width, height int
	}{
		"fleet":         {"/", "light", 1280, 720},
		"cluster":       {"/c/dev/nrt-0047", "dark", 1280, 720},
		"cluster-phone": {"/c/prod/fra-0003", "light", 390, 760},
		"problems":      {"/problems", "light", 1280, 300},
		"rollouts":      {"/rollouts", "light", 1280, 470},
		"pull-request":  {"/pull-requests/14", "dark", 1280, 460},
	}
}

// TestPictures: the pictures of docs/guides/fleet/page.md are there and small. With UPDATE=1 it takes
// them.
func TestPictures(t *testing.T) {
	take := os.Getenv("UPDATE") != ""
	var b *chromium
	var base string
	if take {
		b = browser(t)
		n, large := pagetest.Fleet(1000, 6), pagetest.Fleet(48, 100)
		for i, c := range n.Status.Clusters {
			if at, ok := large.Status.Cluster(c.Report.Cluster); ok && c.Report.Cluster == pagetest.Key(47) {
				n.Status.Clusters[i] = at
			}
		}
		_, base = serve(t, n)
	}
	for name, p := range pictures() {
		file := "../../../docs/guides/fleet/images/page-" + name + ".webp"
		if take {
			tab := b.tab(p.width, p.height, p.scheme)
			tab.do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": fmt.Sprintf("Date.now = () => %d;", pagetest.Start().UnixMilli())}, nil)
			tab.open(base + p.path)
			if err := os.WriteFile(file, tab.picture("webp"), 0o644); err != nil {
				t.Fatal(err)
			}
			tab.close()
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 150<<10 || info.Size() < 5<<10 {
			t.Errorf("%s has %d bytes", file, info.Size())
		}
	}
}

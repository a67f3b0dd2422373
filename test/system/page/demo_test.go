package page

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/agent/wiring/demo"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/providers/workload"
)

// TestDemo: while the demo's story runs, pages that are open tell it, without a reload.
func TestDemo(t *testing.T) {
	b := browser(t)
	from, to := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := demo.Run(ctx, demo.Options{Out: to, Keep: true, Version: "test", Built: wiring.Built{
			Providers: []providers.Factory{inmemory.Factory()},
			Distributions: func(c *workload.Client) providers.Distributions {
				return providers.Distributions{"KubeadmControlPlane": kubeadm.New(c)}
			},
		}})
		to.Close()
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	said := make(chan string, 10_000)
	go func() {
		defer close(said)
		for s := bufio.NewScanner(from); s.Scan(); {
			said <- s.Text()
		}
	}()
	base := ""
	for line := range said {
		if at := regexp.MustCompile(`page +(http://\S+)/$`).FindStringSubmatch(line); at != nil {
			base = at[1]
			break
		}
	}
	if base == "" {
		t.Fatal("the demo does not say where the page is")
	}
	fleet, history := b.tab(1440, 900, "light"), b.tab(1440, 900, "dark")
	fleet.do("Page.navigate", map[string]any{"url": base + "/"}, nil)
	fleet.until(`document.querySelector("h1") || document.body.innerText && void location.reload()`) // at first there is nothing to show
	fleet.open(base + "/")
	fleet.eval(`window.same = true; window.told = new Set();
		window.note = () => document.querySelectorAll("tbody tr, header nav a").forEach(e => told.add(e.innerText));
		note(); new MutationObserver(note).observe(document.body, {subtree: true, childList: true}); 0`)
	history.open(base + "/history")
	row := func(name, words string) {
		t.Helper()
		fleet.until(`[...told].some(r => r.includes("` + name + `") && r.includes("` + words + `"))`)
	}
	row("prod/eu-1", "Provisioned")
	every := b.tab(1440, 900, "light")
	for name, path := range storyViews() {
		every.open(base + path)
		every.until(`document.querySelector("h1") && !document.body.innerText.includes("Nothing here")`)
		if wide := every.eval("document.documentElement.scrollWidth"); wide != "1440" {
			t.Errorf("%s is %s wide", name, wide)
		}
	}
	row("prod/eu-1", "v1.34.1")
	row("prod/eu-1", "must be a whole number")
	fleet.until(`told.has("Problems 1")`)
	row("prod/eu-1", "8/8")
	fleet.until(`!document.body.innerText.includes("staging/eu-2")`)
	history.until(`document.body.innerText.includes("staging/eu-2: gone") && document.body.innerText.includes("DrainNode")`)
	if fleet.eval("window.same === true") != "true" {
		t.Error("the page was loaded again")
	}
	for _, tab := range []*tab{fleet, history, every} {
		if elsewhere := tab.asked(base); len(elsewhere) > 0 {
			t.Errorf("it asked for %v", elsewhere)
		}
	}
	fleet.open(base + "/c/prod/eu-1")
	fleet.until(`document.body.innerText.includes("Up to date: nothing to do.") && document.querySelector("#certificates tbody tr")`)
	fleet.open(base + "/agent")
	fleet.until(`document.body.innerText.includes("this process works on the fleet")`)
	if text := strings.Join(append(fleet.said(), every.said()...), "\n"); strings.Contains(text, "policy") || strings.Contains(text, "Error:") {
		t.Errorf("the console says %s", text)
	}
}

// storyViews are all views, as the fleet of the demo has them while its first cluster lives.
func storyViews() map[string]string {
	return map[string]string{
		"fleet": "/?by=phase", "cluster": "/c/prod/eu-1", "tree": "/tree/prod/eu-1", "past": "/history/prod/eu-1", "rollouts": "/rollouts", "pulls": "/pull-requests",
		"problems": "/problems", "requests": "/requests", "history": "/history", "agent": "/agent",
	}
}

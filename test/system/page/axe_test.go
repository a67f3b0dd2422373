package page

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"fairlead.dev/agent/console/page/pagetest"
	"fairlead.dev/test/run/needs"
)

// TestAxe: axe-core finds nothing against WCAG 2.2 AA in any view, light, dark and on a phone.
func TestAxe(t *testing.T) {
	source := axeSource(t)
	b := browser(t)
	_, base := serve(t, pagetest.Fleet(60, 12))
	for name, path := range views() {
		t.Run(name, func(t *testing.T) {
			tab := b.tab(1440, 900, "light")
			defer tab.close()
			tab.visit(base, name, path)
			tab.eval(source + "\n;0")
			tab.axe(t, "light")
			tab.scheme("dark")
			tab.axe(t, "dark", "color-contrast", "link-in-text-block")
			tab.resize(390, 900)
			tab.axe(t, "dark, on a phone", "color-contrast", "target-size", "scrollable-region-focusable", "heading-order")
		})
	}
}

// axeSource returns the script of axe-core, or skips t and says how to get it.
func axeSource(t *testing.T) string {
	t.Helper()
	for _, path := range []string{os.Getenv("FAIRLEAD_AXE"), "/usr/local/lib/node_modules/axe-core/axe.min.js", "/usr/lib/node_modules/axe-core/axe.min.js"} {
		if _, err := needs.Stat(path); path == "" || err != nil {
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	t.Skip("there is no axe-core: npm install --global axe-core, or set FAIRLEAD_AXE to its axe.min.js")
	return ""
}

// axe looks for what is against WCAG 2.2 AA in what the tab shows, by some rules, or by all.
func (t *tab) axe(tt *testing.T, look string, rules ...string) {
	tt.Helper()
	only := any([]string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"})
	if len(rules) > 0 {
		only = rules
	}
	runOnly, err := json.Marshal(only)
	if err != nil {
		tt.Fatal(err)
	}
	text := t.eval(`axe.run(document, {resultTypes: ["violations"], runOnly: ` + string(runOnly) + `}).then(r =>
		JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary)}))))`)
	var found []struct {
		ID, Help string
		Nodes    []string
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		tt.Fatal(err)
	}
	for _, v := range found {
		tt.Errorf("%s: axe: %s: %s: %s", look, v.ID, v.Help, strings.Join(v.Nodes, "\n"))
	}
}

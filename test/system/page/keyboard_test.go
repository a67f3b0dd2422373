package page

import (
	"strconv"
	"testing"

	"fairlead.dev/agent/console/page/pagetest"
)

// TestKeyboardReaches: by Tab alone everything that can be used is reached, each once and in
// the order in which it is read, and it is seen where one is.
func TestKeyboardReaches(t *testing.T) {
	b := browser(t)
	_, base := serve(t, pagetest.Fleet(30, 12))
	for name, path := range map[string]string{"fleet": "/", "cluster": "/c/prod/fra-0003", "plan": "/pull-requests/14", "requests": "/requests"} {
		t.Run(name, func(t *testing.T) {
			tab := b.tab(1440, 900, "light")
			defer tab.close()
			tab.open(base + path)
			tab.eval(`window.able = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex]")].filter(e => e.tabIndex >= 0 && e.checkVisibility()); 0`)
			n, err := strconv.Atoi(tab.eval("able.length"))
			if err != nil || n < 10 {
				t.Fatalf("%d things can be used, %v", n, err)
			}
			for i := range n {
				tab.press("Tab")
				at := tab.eval(`(() => { const e = document.activeElement, s = getComputedStyle(e); return able.indexOf(e) + " " + (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2) })()`)
				if want := strconv.Itoa(i) + " true"; at != want {
					t.Fatalf("stop %d is %q, want %q: %s", i, at, want, tab.eval("document.activeElement.outerHTML.slice(0, 200)"))
				}
			}
		})
	}
	tab := b.tab(1440, 900, "light")
	tab.open(base + "/pull-requests/14")
	tab.eval(`document.querySelector("summary").focus(); 0`)
	tab.press("Enter")
	if tab.eval(`document.querySelector("details").open`) != "true" {
		t.Error("what is folded does not open by Enter")
	}
}

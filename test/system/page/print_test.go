package page

import (
	"encoding/base64"
	"strings"
	"testing"

	"fairlead.dev/agent/console/page/pagetest"
)

// TestPrint: on paper a view is dark on white whatever the screen has, fits, has nothing that
// only a screen can use, and shows what is folded.
func TestPrint(t *testing.T) {
	b := browser(t)
	_, base := serve(t, pagetest.Fleet(60, 12))
	for name, path := range views() {
		t.Run(name, func(t *testing.T) {
			tab := b.tab(794, 1123, "dark") // A4
			defer tab.close()
			tab.visit(base, name, path)
			tab.do("Emulation.setEmulatedMedia", map[string]any{"media": "print", "features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
			if wide := tab.eval("document.documentElement.scrollWidth"); wide != "794" {
				t.Errorf("it is %s wide", wide)
			}
			if got := tab.eval(`[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.querySelector("h1")).color].join(" on ")`); got != "rgb(255, 255, 255) on rgb(26, 28, 30)" {
				t.Errorf("the ground and the text are %s", got)
			}
			if shown := tab.eval(`[...document.querySelectorAll("header nav, form, #ask, footer")].filter(e => e.checkVisibility()).map(e => e.localName).join()`); shown != "" {
				t.Errorf("it has %s", shown)
			}
			if folded := tab.eval(`[...document.querySelectorAll("details > :not(summary)")].filter(e => e.getBoundingClientRect().height === 0).length`); folded != "0" {
				t.Errorf("%s parts are folded", folded)
			}
			var out struct{ Data string }
			tab.do("Page.printToPDF", map[string]any{"printBackground": true}, &out)
			if pdf, err := base64.StdEncoding.DecodeString(out.Data); err != nil || !strings.HasPrefix(string(pdf), "%PDF-") {
				t.Errorf("it is not printed: %.20q, %v", pdf, err)
			}
		})
	}
}

package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"fairlead.dev/agent/console/page/pagetest"
)

// TestPolicy: a browser refuses what the policy of a page does not let in, whoever has got
// something into it: markup that is not by its one policy of Trusted Types, another such
// policy, scripts and styles of its own, anything from elsewhere, and another page's frame.
func TestPolicy(t *testing.T) {
	asked := make(chan string, 100)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprint(w, `document.title = "owned"`)
	}))
	defer elsewhere.Close()
	b := browser(t)
	_, base := serve(t, pagetest.Fleet(3, 3))
	tab := b.tab(1440, 900, "light")
	tab.open(base + "/")
	for what, expression := range map[string]string{
		"markup that is a text":     `(() => { try { document.querySelector("footer").innerHTML = "<b>x</b>"; return "let in" } catch { return "refused" } })()`,
		"a second policy of types":  `(() => { try { trustedTypes.createPolicy("other", {createHTML: t => t}); return "let in" } catch { return "refused" } })()`,
		"the policy once more":      `(() => { try { trustedTypes.createPolicy("fairlead", {createHTML: t => t}); return "let in" } catch { return "refused" } })()`,
		"a handler in an attribute": `(() => { const a = document.createElement("a"); try { a.setAttribute("onclick", "document.title = 'owned'") } catch { return "refused" } a.click(); return document.title.includes("owned") ? "let in" : "refused" })()`,
		"a style of its own":        `(() => { const s = document.createElement("style"); s.textContent = "footer { display: none }"; document.head.append(s); return getComputedStyle(document.querySelector("footer")).display === "none" ? "let in" : "refused" })()`,
		"a question to elsewhere":   `fetch("` + elsewhere.URL + `/fetch").then(() => "let in", () => "refused")`,
		"a picture from elsewhere":  `new Promise(r => { const i = new Image(); i.onload = () => r("let in"); i.onerror = () => r("refused"); i.src = "` + elsewhere.URL + `/picture" })`,
		"a form to elsewhere":       `new Promise(r => { document.addEventListener("securitypolicyviolation", e => e.violatedDirective === "form-action" && r("refused")); const f = document.createElement("form"); f.action = "` + elsewhere.URL + `/form"; document.body.append(f); f.submit(); setTimeout(() => r("let in"), 3000) })`,
	} {
		if got := tab.eval(expression); got != "refused" {
			t.Errorf("%s is %s", what, got)
		}
	}
	frames := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<iframe src="%s/"></iframe>`, base)
	}))
	defer frames.Close()
	framed := b.tab(1440, 900, "light")
	framed.do("Page.navigate", map[string]any{"url": frames.URL}, nil)
	framed.until(`document.readyState === "complete" && document.querySelector("iframe")`)
	framed.mu.Lock()
	defer framed.mu.Unlock()
	if !slices.Contains(framed.requests, base+"/") || slices.Contains(framed.requests, base+"/page.js") {
		t.Errorf("another page has it in a frame, which asked for %v", framed.requests)
	}
	close(asked)
	for path := range asked {
		t.Errorf("it asked elsewhere for %s", path)
	}
}

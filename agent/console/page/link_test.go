package page_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/sources/status"
)

// The link to the plan of a ref leads to it, whatever characters a branch may have.
func TestLinkOfRef(t *testing.T) {
	for _, name := range []string{"fix-#12", "100%25", "a&b", "ä", "a+b", "x%2Ey", "<b>", "\"q\""} {
		p := shown(t, 3, func(n *page.News) {
			n.Plans = []status.Plan{{Ref: "refs/heads/" + name, Head: strings.Repeat("a", 40), Verdict: "success", Summary: "nothing to do"}}
		})
		m := regexp.MustCompile(`href="(pull-requests/[^"]*)"`).FindStringSubmatch(get(p, "/pull-requests").Body.String())
		if m == nil {
			t.Errorf("%s: no link", name)
			continue
		}
		u, err := url.Parse(html.UnescapeString(m[1]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		u.Fragment = "" // a browser does not send it
		if r := get(p, "/"+u.String()); r.Code != 200 {
			t.Errorf("%s: link %s is answered with %d", name, m[1], r.Code)
		} else if m := regexp.MustCompile(`href="([^"]*\.json)"`).FindStringSubmatch(r.Body.String()); m == nil {
			t.Errorf("%s: no link to its JSON", name)
		} else if at, err := u.Parse(html.UnescapeString(m[1])); err != nil || at.Fragment != "" || get(p, "/"+strings.TrimPrefix(at.String(), "/")).Code != 200 {
			t.Errorf("%s: link to its JSON %s, %v", name, m[1], err)
		}
	}
}

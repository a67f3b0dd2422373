package page_test

import (
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/console/page/pagetest"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// TestHistory: what commits tell of one cluster is told apart from the rest, with what people
// asked for, day by day, and also once the cluster is gone.
func TestHistory(t *testing.T) {
	k := pagetest.Key(1)
	p := shown(t, 3, func(n *page.News) {
		n.Status.Clusters = []status.Cluster{n.Status.Clusters[0]}
		at := pagetest.Start()
		n.History = []sources.Entry{
			{Commit: "c4c4c4c4", At: at, By: "Fairlead <f@example.com>", Message: k.String() + ": gone\n\nFairlead-Agent: a"},
			{Commit: "c3c3c3c3", At: at.AddDate(0, 0, -1), By: "Ada <ada@example.com>", Message: "suspend cluster " + k.String() + ": a test"},
			{Commit: "c2c2c2c2", At: at.AddDate(0, 0, -1), By: "Fairlead <f@example.com>", Message: "2 clusters: 2 changed\n\n" + k.String() + ": DrainNode x: why\nprod/other: CreateMachine y: why\n" + k.String() + "0: CreateMachine z: why\n\nFairlead-Agent: a"},
			{Commit: "c1c1c1c1", At: at.AddDate(0, 0, -2), By: "Fairlead <f@example.com>", Message: "prod/other: new\n\nFairlead-Agent: a"},
		}
	})
	w := get(p, "/history/"+k.String())
	body := w.Body.String()
	for text, want := range map[string]bool{
		"<h2>Friday 20 November 2026</h2>": true, "<h2>Thursday 19 November 2026</h2>": true, "<h2>Wednesday 18 November 2026</h2>": false,
		"</code></a> gone</div>": true, "suspend cluster " + k.String(): true, "by Ada &lt;ada@example.com&gt;": true, "by Fairlead": false,
		"DrainNode x: why": true, "CreateMachine y": false, "CreateMachine z": false,
	} {
		if strings.Contains(body, text) != want {
			t.Errorf("it says %q: %v", text, !want)
		}
	}
	if w.Code != http.StatusOK || get(p, "/c/"+k.String()).Code != http.StatusNotFound {
		t.Errorf("a cluster that is gone has its history with %d", w.Code)
	}
}

package page_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/agent/console/page"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// TestReadOnly: nothing is answered but GET, and each answer has the policy.
func TestReadOnly(t *testing.T) {
	p := shown(t, 3, nil)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		r := httptest.NewRequest(method, "http://localhost/", nil)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s is answered with %d", method, w.Code)
		}
	}
	for _, path := range []string{"/", "/page.js", "/none", "/fleet.json"} {
		h := get(p, path).Header()
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if !strings.HasPrefix(h.Get(name), want) {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		if policy := h.Get("Content-Security-Policy"); strings.Contains(policy, "unsafe") || !strings.Contains(policy, "require-trusted-types-for 'script'") {
			t.Errorf("%s: the policy is %s", path, policy)
		}
	}
}

// TestHosts: a name that was made to lead here reads nothing.
func TestHosts(t *testing.T) {
	o := options()
	o.Hosts = []string{"fleet.example.com"}
	p, err := page.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		"127.0.0.1:8090": 200, "localhost": 200, "[::1]:8090": 200, "192.0.2.7": 200, "fleet.example.com": 200, "Fleet.Example.com.:443": 200,
		"evil.example.com": 421, "127.0.0.1.evil.example.com": 421, "": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %q is answered with %d, want %d", host, w.Code, want)
		}
	}
}

// TestHostile: what others say is text, turns nothing, and is not endless.
func TestHostile(t *testing.T) {
	evil := `"><script>alert(1)</script>` + "\u202e\u2066\x1b[31m" + `'--><img src=x onerror=alert(1)>`
	long := strings.Repeat("x", 64<<10)
	p := shown(t, 2, func(n *page.News) {
		for i := range n.Status.Clusters {
			r := &n.Status.Clusters[i].Report
			r.Failure, r.Waiting, r.Version, r.Provider, r.Overlay = evil+long, []string{evil + long}, evil, evil, "clusters/"+evil
			r.Problems = []fleet.Problem{{File: evil, Object: evil, Field: evil, Message: evil + long, Hint: evil}}
			r.Machines[0].Machine.Message, r.Machines[0].Phase, r.Machines[0].Machine.FailureDomain = evil+long, fleet.MachinePhaseFailed, evil
			r.Machines[1].Machine.Name, r.Machines[1].Node, r.Pools[0].Name = fleet.MachineName(evil), evil, fleet.PoolName(evil)
			r.Addons = []fleet.AddonReport{{Kind: evil, Name: evil, State: fleet.AddonFailed, Message: evil + long, Chart: evil, Release: evil, Revision: fleet.Revision{Ref: evil, Digest: evil}}}
			n.Status.Clusters[i].Addons = []status.Addon{{AddonReport: r.Addons[0]}}
			for j := range n.Status.Clusters[i].Cluster.Status.Conditions {
				c := &n.Status.Clusters[i].Cluster.Status.Conditions[j]
				c.Type, c.Reason, c.Message = evil, evil, evil+long
			}
		}
		n.Status.Clusters[1].Report.Cluster.Name = `"><img src=x onerror=alert(1)>`
		n.Status.Fleet.Fleet, n.Status.Owner.Agent, n.Trouble = fleet.ID(evil), evil, evil+long
		n.Status.Fleet.Problems = n.Status.Clusters[0].Report.Problems
		n.Requests[0].Reason, n.Requests[0].By, n.Requests[0].Answer.Message = evil+long, evil, evil+long
		n.History[0].Message, n.History[0].By = evil+long+"\n\n"+evil, evil
		n.Facts[0].Value = evil + long
		n.Status.Fleet.Rollout.Stages[1].Name, n.Status.Fleet.Rollout.Stages[1].Why, n.Status.Fleet.Rollout.Stages[1].Failed[0].Why = evil, evil+long, evil+long
		n.Status.Fleet.Rollout.Waiting[0].Why, n.Status.Fleet.Rollout.Waiting[0].Stage = evil+long, evil
		n.Plans[1].Verdict, n.Plans[1].Head, n.Plans[1].Base, n.Plans[1].Summary = evil, evil, evil+long, evil+long
		n.Plans[1].Text = "### " + evil + "\n- `" + evil + "` **" + evil + "**\n<details><summary><code>" + evil + "</code>" + evil + "</summary>\n" + strings.Repeat(evil+long+"\n", 4)
	})
	for _, path := range []string{"/", "/c/prod/ams-0000", "/c/stage/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E", "/tree/prod/ams-0000", "/history/prod/ams-0000", "/problems", "/requests", "/history", "/agent", "/rollouts", "/pull-requests", "/pull-requests/14", "/?by=label:%3Cimg", "/?q=" + "%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "/c/prod/ams-0000.json"} {
		body := get(p, path).Body.String()
		if bad := regexp.MustCompile(`<script>|<img|\x{202e}|\x{2066}|\x1b`).FindString(body); bad != "" && !strings.HasSuffix(path, ".json") || strings.ContainsAny(body, "\u202e\u2066\x1b") {
			t.Errorf("%s has %q", path, bad)
		}
		if len(body) > 200<<10 && !strings.HasSuffix(path, ".json") {
			t.Errorf("%s has %d bytes", path, len(body))
		}
	}
}

// TestFiles: what pages load has its kind, and is small on the wire.
func TestFiles(t *testing.T) {
	p := shown(t, 1, nil)
	for name, kind := range map[string]string{"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "page.svg": "image/svg+xml"} {
		plain, packed := get(p, "/"+name), get(p, "/"+name, "Accept-Encoding", "gzip, br")
		if plain.Code != http.StatusOK || plain.Header().Get("Content-Type") != kind || plain.Body.Len() == 0 {
			t.Errorf("%s is answered with %d, %q", name, plain.Code, plain.Header().Get("Content-Type"))
		}
		if packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() > 5<<10 {
			t.Errorf("%s has %d bytes on the wire", name, packed.Body.Len())
		}
	}
}

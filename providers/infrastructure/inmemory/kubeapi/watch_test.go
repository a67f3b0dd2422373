package kubeapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watch returns a function that reads the next event of a watch as
// "TYPE name", or "end". The watch is open when watch returns.
func (c *cluster) watch(t *testing.T, path string) func() string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	in := json.NewDecoder(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return func() string { return resp.Status }
	}
	return func() string {
		var e map[string]any
		if in.Decode(&e) != nil {
			return "end"
		}
		return at(e, "type") + " " + at(e, "object", "metadata", "name")
	}
}

// put creates or changes a ConfigMap and returns its resource version.
func (c *cluster) put(t *testing.T, name, label string) string {
	t.Helper()
	_, out := c.do(t, "PATCH", configMaps+"/"+name+"?fieldManager=t&force=true", fmt.Sprintf(
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"l":%q}}}`, name, label), "application/apply-patch+yaml")
	return at(out, "metadata", "resourceVersion")
}

func take(next func() string, n int) []string {
	var out []string
	for range n {
		out = append(out, next())
	}
	return out
}

func TestWatch(t *testing.T) {
	c := start(t, nil)
	first := c.put(t, "a", "x")
	c.put(t, "b", "y")
	everything := c.watch(t, configMaps+"?watch=true")
	after := c.watch(t, configMaps+"?watch=1&resourceVersion="+first)
	selected := c.watch(t, configMaps+"?watch=true&labelSelector=l%3Dx")
	elsewhere := c.watch(t, "/api/v1/namespaces/kube-system/configmaps?watch=true")
	listed := c.watch(t, configMaps+"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")

	c.put(t, "b", "x") // now selected
	c.put(t, "a", "y") // no longer
	c.do(t, "DELETE", configMaps+"/b", "")
	c.do(t, "POST", "/api/v1/namespaces/kube-system/configmaps", `{"metadata":{"name":"k"}}`)

	cases := map[string]struct {
		next func() string
		want []string
	}{
		"everything":   {everything, []string{"ADDED a", "ADDED b", "MODIFIED b", "MODIFIED a", "DELETED b"}},
		"after":        {after, []string{"ADDED b", "MODIFIED b", "MODIFIED a", "DELETED b"}},
		"selected":     {selected, []string{"ADDED a", "ADDED b", "DELETED a", "DELETED b"}},
		"elsewhere":    {elsewhere, []string{"ADDED k"}},
		"initial list": {listed, []string{"ADDED a", "ADDED b", "BOOKMARK ", "MODIFIED b", "MODIFIED a", "DELETED b"}},
	}
	for name, tc := range cases {
		if d := cmp.Diff(tc.want, take(tc.next, len(tc.want))); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestWatchOfTheForgotten(t *testing.T) {
	c := start(t, nil)
	old := c.put(t, "a", "x")
	for i := range 100 {
		c.put(t, "a", fmt.Sprint(i))
	}
	if got := c.watch(t, configMaps+"?watch=true&resourceVersion="+old)(); got != "410 Gone" {
		t.Errorf("got %q, want 410 Gone", got)
	}
}

func TestWatchEnds(t *testing.T) {
	c := start(t, nil)
	next := c.watch(t, configMaps+"?watch=true&timeoutSeconds=1&allowWatchBookmarks=true")
	if d := cmp.Diff([]string{"BOOKMARK ", "end"}, take(next, 2)); d != "" {
		t.Errorf("at its timeout (-want +got):\n%s", d)
	}
}

func TestSetAvailable(t *testing.T) {
	c := start(t, nil)
	next := c.watch(t, configMaps+"?watch=true")
	c.SetAvailable(false)
	if got := next(); got != "end" {
		t.Errorf("an open watch: got %q, want its end", got)
	}
	if _, err := c.http.Get(c.url + "/readyz"); err == nil {
		t.Error("a new request was answered")
	}
	c.SetAvailable(true)
	c.put(t, "a", "x")
	if _, ok := c.Get(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "default", "a"); !ok {
		t.Error("available again: the write is not there")
	}
}

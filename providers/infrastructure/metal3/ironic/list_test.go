package ironic_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/metal3/ironic"
	"fairlead.dev/providers/infrastructure/metal3/metal3test"
)

// TestList: a listing has every page, asks for little, and is an error where a page is.
func TestList(t *testing.T) {
	t.Parallel()
	i, c := own(t, metal3test.Options{PageLimit: 2})
	if list, err := c.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("an empty one: %v, %v", list, err)
	}
	var want, got []string
	for n := range 5 {
		h := i.AddHost(fmt.Sprintf("m%d", n))
		must(t, func() error { return c.Create(t.Context(), spec(h)) })
		want = append(want, "metal~"+h.Name())
	}
	i.ResetCalls()
	list, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		got = append(got, n.Name)
		if one, err := c.Node(t.Context(), n.Name); err != nil || one.UUID != n.UUID || one.State != n.State || one.Driver != n.Driver {
			t.Errorf("by name %+v, listed %+v, %v", one, n, err)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	pages := 0
	for _, call := range i.Calls() {
		if call.Method == "GET /v1/nodes" {
			pages++
			if !strings.Contains(call.Query, "fields=uuid%2Cname%2C") {
				t.Errorf("asked for %s", call.Query)
			}
		}
	}
	if pages != 3 {
		t.Errorf("five nodes took %d pages of two", pages)
	}

	broken := i.FailCalls(metal3test.CallFault{Method: "GET /v1/nodes", Skip: 2, Times: 1, Status: 500})
	if list, err := c.List(t.Context()); err == nil || list != nil || fleet.KindOf(err) != fleet.Unknown {
		t.Errorf("the third page failed: %v, %v", list, err)
	}
	broken.End()

	gone := i.FailCalls(metal3test.CallFault{Method: "GET /v1/nodes", Skip: 1, Times: 1, Do: func(metal3test.Call) {
		for _, n := range list[:2] { // the second page begins after the second of them
			if err := client(t, i, ironic.Options{}).Delete(t.Context(), n.UUID); err != nil {
				t.Error(err)
			}
		}
	}})
	if list, err := c.List(t.Context()); list != nil || fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("the node went that a page ended with: %v, %v", list, err)
	}
	gone.End()
	if list, err := c.List(t.Context()); err != nil || len(list) != 3 {
		t.Errorf("then: %v, %v", list, err)
	}
}

// TestListEnds: a listing whose pages come again, or do not end, is an error.
func TestListEnds(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]func(n int64) string{
		"the same page":    func(int64) string { return `{"uuid":"a"}` },
		"pages by turns":   func(n int64) string { return fmt.Sprintf(`{"uuid":"%d"}`, n%3) },
		"a node in a page": func(n int64) string { return fmt.Sprintf(`{"uuid":"%d"},{"uuid":"%d"}`, n, n) },
		"no end":           func(n int64) string { return fmt.Sprintf(`{"uuid":"%d"}`, n) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := asked.Add(1)
				if n > 300 { // it would never end
					w.WriteHeader(http.StatusTeapot)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"nodes":[%s],"next":"http://ironic/v1/nodes?marker=a"}`, page(n))
			}))
			defer s.Close()
			cred, err := ironic.ReadCredential("test", map[string][]byte{"endpoint": []byte(s.URL), "username": []byte("u"), "password": []byte("p")})
			if err != nil {
				t.Fatal(err)
			}
			c, err := ironic.New(cred, ironic.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			list, err := c.List(t.Context())
			if list != nil || fleet.KindOf(err) != fleet.Unavailable || asked.Load() > 200 {
				t.Errorf("after %d requests: %d nodes, %v", asked.Load(), len(list), err)
			}
		})
	}
}

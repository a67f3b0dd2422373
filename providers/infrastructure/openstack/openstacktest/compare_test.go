package openstacktest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"fairlead.dev/providers/infrastructure/openstack/openstacktest"
	"fairlead.dev/test/lab/openstack/lab"
	"fairlead.dev/test/run/waits"
)

// A step is one call of the script that is run against a fake and a real cloud.
type step struct {
	name    string
	service string // c, n, i, v, l: compute, network, image, volume, load balancer
	method  string
	path    string
	body    string   // ${x} is what a step before saved as x
	save    []string // "x=network.id": what to keep of the answer
	until   string   // "server.status=ACTIVE", or "404": the call is repeated until then
	loose   bool     // messages are not compared, with the reason in the name
}

// side is one of the two clouds.
type side struct {
	name    string
	clients map[string]*gophercloud.ServiceClient
	vars    map[string]string
}

// TestSameAsLab: the fake refuses what the real services refuse, in their words, and
// what it answers otherwise has their keys and types.
func TestSameAsLab(t *testing.T) {
	if testing.Short() {
		t.Skip("real services take their time")
	}
	real := lab.NewProject(t).Clients(t)
	fake := openstacktest.New(openstacktest.Options{})
	user := newSession(t, fake.Client(), fake.CloudsYAML(openstacktest.URL, "alice"))
	a := &side{name: "fake", vars: map[string]string{}, clients: map[string]*gophercloud.ServiceClient{
		"c": user.compute, "n": user.network, "i": user.image, "v": user.volume, "l": user.octavia,
	}}
	b := &side{name: "lab", vars: map[string]string{}, clients: map[string]*gophercloud.ServiceClient{
		"c": real.Compute, "n": real.Network, "i": real.Image, "v": real.BlockStorage, "l": real.LoadBalancer,
	}}
	for _, st := range script() {
		statusA, bodyA := a.run(t, st)
		statusB, bodyB := b.run(t, st)
		if statusA != statusB {
			t.Errorf("%s: the fake says %d %s\nthe lab says %d %s", st.name, statusA, bodyA, statusB, bodyB)
			continue
		}
		if statusA < 400 {
			for _, d := range differences(shapeOf(bodyA), shapeOf(bodyB)) {
				t.Errorf("%s: %d: %s", st.name, statusA, d)
			}
			continue
		}
		if st.loose {
			continue
		}
		if fake, lab := normal(bodyA), normal(bodyB); fake != lab {
			t.Errorf("%s: %d\nfake %s\nlab  %s", st.name, statusA, fake, lab)
		}
	}
}

func (s *side) run(t *testing.T, st step) (int, string) {
	t.Helper()
	deadline := time.Now().Add(waits.Limit)
	for {
		status, body := s.call(t, st)
		if st.until == "" || st.until == fmt.Sprint(status) || s.reached(st.until, body) {
			for _, save := range st.save {
				name, path, _ := strings.Cut(save, "=")
				s.vars[name] = dig(body, path)
				if s.vars[name] == "" {
					t.Fatalf("%s: %s has no %s: %d %s", st.name, s.name, path, status, body)
				}
			}
			return status, body
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s does not get to %s: %d %s", st.name, s.name, st.until, status, body)
		}
		time.Sleep(100 * time.Millisecond) // the lab's own pace
	}
}

func (s *side) call(t *testing.T, st step) (int, string) {
	t.Helper()
	expand := func(text string) string { return os.Expand(text, func(k string) string { return s.vars[k] }) }
	c := s.clients[st.service]
	all := make([]int, 0, 400)
	for i := 200; i < 600; i++ {
		all = append(all, i)
	}
	o := &gophercloud.RequestOpts{OkCodes: all, KeepResponseBody: true, MoreHeaders: map[string]string{"Content-Type": "application/json"}}
	if st.body != "" {
		o.RawBody = strings.NewReader(expand(st.body))
	}
	res, err := c.Request(t.Context(), st.method, c.ServiceURL(expand(st.path)), o)
	if err != nil {
		t.Fatalf("%s: %s: %v", st.name, s.name, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func (s *side) reached(until, body string) bool {
	path, want, _ := strings.Cut(until, "=")
	return want != "" && dig(body, path) == want
}

// dig returns the value at a path of names and indices in JSON.
func dig(body, path string) string {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return ""
	}
	for name := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			if len(x) == 0 {
				return ""
			}
			v = x[0]
		}
	}
	if s, ok := v.(string); ok {
		return s
	}
	return ""
}

var (
	anID   = regexp.MustCompile(`[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)
	public = regexp.MustCompile(`(198\.18|203\.0)\.[0-9]+\.[0-9]+`)
)

// normal returns JSON without what differs from cloud to cloud.
func normal(body string) string {
	var v any
	if json.Unmarshal([]byte(body), &v) == nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(v) == nil {
			body = b.String()
		}
	}
	return public.ReplaceAllString(anID.ReplaceAllString(strings.TrimSpace(body), "<id>"), "<public>")
}

package kubeapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	configMaps = "/api/v1/namespaces/default/configmaps"
	pods       = "/api/v1/namespaces/default/pods"
)

// at returns what lies at a path in an answer, as text.
func at(v any, path ...string) string {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func TestAuthentication(t *testing.T) {
	c := start(t, nil)
	other := newCA(t, "kubernetes")
	good, goodKey := c.ca.client(t, time.Hour)
	expired, expiredKey := c.ca.client(t, -time.Minute)
	foreign, foreignKey := other.client(t, time.Hour)
	cases := map[string]struct {
		cert, key []byte
		path      string
		want      int
	}{
		"administrator":                    {good, goodKey, "/api/v1/nodes", http.StatusOK},
		"anonymous":                        {nil, nil, "/api/v1/nodes", http.StatusUnauthorized},
		"anonymous discovery":              {nil, nil, "/apis", http.StatusUnauthorized},
		"anonymous health":                 {nil, nil, "/readyz", http.StatusOK},
		"anonymous version":                {nil, nil, "/version", http.StatusOK},
		"expired certificate":              {expired, expiredKey, "/api/v1/nodes", http.StatusUnauthorized},
		"certificate of another authority": {foreign, foreignKey, "/api/v1/nodes", http.StatusUnauthorized},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resp, err := c.client(t, tc.cert, tc.key).Get(c.url + tc.path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tc.want {
				t.Errorf("got %d, want %d", resp.StatusCode, tc.want)
			}
		})
	}
}

func TestWrites(t *testing.T) {
	const body = `{"metadata":{"name":"m","labels":{"a":"b"}},"data":{"k":"1"}}`
	cases := map[string]struct {
		reason      string
		method      string
		path        string
		contentType string
		body        string
		code        int
		want        string // of data, or the reason of a refusal
	}{
		"create again":    {"names are unique", "POST", "", "application/json", body, 409, "AlreadyExists"},
		"other namespace": {"there is none", "POST", "/../../nope/configmaps", "application/json", body, 404, "NotFound"},
		"update":          {"a replacement", "PUT", "/m", "application/json", `{"metadata":{"name":"m"},"data":{"x":"2"}}`, 200, `{"x":"2"}`},
		"stale update":    {"somebody else was first", "PUT", "/m", "application/json", `{"metadata":{"name":"m","resourceVersion":"1"}}`, 409, "Conflict"},
		"foreign uid":     {"it is another object", "PUT", "/m", "application/json", `{"metadata":{"name":"m","uid":"x"}}`, 409, "Conflict"},
		"update nothing":  {"PUT does not create", "PUT", "/none", "application/json", `{"metadata":{"name":"none"}}`, 404, "NotFound"},
		"merge patch":     {"null deletes", "PATCH", "/m", "application/merge-patch+json", `{"data":{"k":null,"l":"3"}}`, 200, `{"l":"3"}`},
		"json patch":      {"operations", "PATCH", "/m", "application/json-patch+json", `[{"op":"replace","path":"/data/k","value":"4"}]`, 200, `{"k":"4"}`},
		"json patch that fails": {
			"its test does not hold", "PATCH", "/m", "application/json-patch+json", `[{"op":"test","path":"/data/k","value":"9"}]`, 422, "Invalid",
		},
		"strategic patch": {"merge keys", "PATCH", "/m", "application/strategic-merge-patch+json", `{"data":{"l":"5"}}`, 200, `{"k":"1","l":"5"}`},
		"apply": {
			"forced", "PATCH", "/m?fieldManager=f&force=true", "application/apply-patch+yaml",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"z":"6"}}`, 200, `{"k":"1","z":"6"}`,
		},
		"apply without a manager": {
			"who owns the fields?", "PATCH", "/m", "application/apply-patch+yaml",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}}`, 400, "BadRequest",
		},
		"unknown patch": {"no such type", "PATCH", "/m", "application/xml", `<a/>`, 415, "UnsupportedMediaType"},
		"dry run":       {"nothing is stored", "PATCH", "/m?dryRun=All", "application/merge-patch+json", `{"data":{"k":"7"}}`, 200, `{"k":"7"}`},
		"not an object": {"garbage", "POST", "", "application/json", `[]`, 400, "BadRequest"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := start(t, nil)
			if code, out := c.do(t, "POST", configMaps, body); code != 201 || at(out, "metadata", "uid") == "" {
				t.Fatalf("create: %d %v", code, out)
			}
			path := strings.Replace(configMaps+tc.path, "/default/configmaps/../../nope", "/nope", 1)
			code, out := c.do(t, tc.method, path, tc.body, tc.contentType)
			got := at(out, "reason")
			if code < 300 {
				raw, _ := json.Marshal(out["data"])
				got = string(raw)
			}
			if code != tc.code || got != tc.want {
				t.Errorf("%s: got %d %s, want %d %s", tc.reason, code, got, tc.code, tc.want)
			}
			if name == "dry run" {
				if _, out := c.do(t, "GET", configMaps+"/m", ""); at(out, "data", "k") != "1" {
					t.Errorf("after the dry run: got %v", out["data"])
				}
			}
		})
	}
}

func TestApplyConflictsAndGivesUpFields(t *testing.T) {
	c := start(t, nil)
	apply := func(manager, data string) (int, map[string]any) {
		return c.do(t, "PATCH", configMaps+"/m?fieldManager="+manager,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":`+data+`}`, "application/apply-patch+yaml")
	}
	if code, out := apply("one", `{"a":"1","b":"1"}`); code != 201 {
		t.Fatalf("the first apply: %d %v", code, out)
	}
	if code, out := apply("two", `{"a":"2"}`); code != 409 || !strings.Contains(at(out, "message"), `conflict with "one"`) {
		t.Errorf("another manager: got %d %v, want a conflict with one", code, at(out, "message"))
	}
	if code, out := apply("one", `{"a":"1"}`); code != 200 || at(out, "data") != "map[a:1]" {
		t.Errorf("a field given up: got %d %v", code, out["data"])
	}
	// What a plain update changes belongs to the one who did.
	c.do(t, "PATCH", configMaps+"/m?fieldManager=three", `{"data":{"a":"3"}}`, "application/merge-patch+json")
	if code, out := apply("one", `{"a":"1"}`); code != 409 || !strings.Contains(at(out, "message"), `conflict with "three"`) {
		t.Errorf("after an update: got %d %v, want a conflict with three", code, at(out, "message"))
	}
}

func TestStatusIsApart(t *testing.T) {
	c := start(t, nil)
	if err := c.Upsert(node("n", corev1.ConditionTrue)); err != nil {
		t.Fatal(err)
	}
	const patch = `{"spec":{"unschedulable":true},"status":{"nodeInfo":{"kubeletVersion":"v9"}}}`
	_, out := c.do(t, "PATCH", "/api/v1/nodes/n", patch, "application/merge-patch+json")
	if got := at(out, "spec", "unschedulable") + at(out, "status", "nodeInfo", "kubeletVersion"); got != "truev1.34.1" {
		t.Errorf("a patch of the node: got %s", got)
	}
	const patch2 = `{"spec":{"unschedulable":false},"status":{"nodeInfo":{"kubeletVersion":"v9"}}}`
	_, out = c.do(t, "PATCH", "/api/v1/nodes/n/status", patch2, "application/merge-patch+json")
	if got := at(out, "spec", "unschedulable") + at(out, "status", "nodeInfo", "kubeletVersion"); got != "truev9" {
		t.Errorf("a patch of its status: got %s", got)
	}
	if got := at(out, "metadata", "generation"); got != "2" {
		t.Errorf("generation after one change of the spec: got %s, want 2", got)
	}
}

func TestNothingChangedIsNoWrite(t *testing.T) {
	c := start(t, nil)
	_, one := c.do(t, "POST", configMaps, `{"metadata":{"name":"m"},"data":{"a":"1"}}`)
	_, two := c.do(t, "PATCH", configMaps+"/m", `{"data":{"a":"1"}}`, "application/merge-patch+json")
	if a, b := at(one, "metadata", "resourceVersion"), at(two, "metadata", "resourceVersion"); a != b {
		t.Errorf("resource version: got %s, want %s still", b, a)
	}
}

func TestListsAreSelectedAndPaged(t *testing.T) {
	c := start(t, nil)
	for i, app := range []string{"a", "b", "a", "b", "a"} {
		n := "n1"
		if i > 2 {
			n = "n2"
		}
		if err := c.Upsert(pod(fmt.Sprintf("p%d", i), n, map[string]string{"app": app})); err != nil {
			t.Fatal(err)
		}
	}
	names := func(query string) (int, []string, string) {
		code, out := c.do(t, "GET", pods+"?"+query, "")
		var names []string
		items, _ := out["items"].([]any)
		for _, it := range items {
			names = append(names, at(it, "metadata", "name"))
		}
		return code, names, at(out, "metadata", "continue")
	}
	cases := map[string]struct {
		query string
		code  int
		want  []string
	}{
		"all":            {"", 200, []string{"p0", "p1", "p2", "p3", "p4"}},
		"labels":         {"labelSelector=app%3Da", 200, []string{"p0", "p2", "p4"}},
		"set of labels":  {"labelSelector=app+notin+(a)", 200, []string{"p1", "p3"}},
		"fields":         {"fieldSelector=spec.nodeName%3Dn2", 200, []string{"p3", "p4"}},
		"both":           {"labelSelector=app%3Da&fieldSelector=spec.nodeName%3Dn2", 200, []string{"p4"}},
		"unknown field":  {"fieldSelector=spec.color%3Dred", 400, nil},
		"broken label":   {"labelSelector=%3D%3D", 400, nil},
		"broken page":    {"continue=%21", 400, nil},
		"limit":          {"limit=2", 200, []string{"p0", "p1"}},
		"limit of a few": {"limit=2&labelSelector=app%3Da", 200, []string{"p0", "p2"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, got, _ := names(tc.query)
			if code != tc.code {
				t.Errorf("got %d, want %d", code, tc.code)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	var all []string
	for token := ""; ; {
		_, page, next := names("limit=2&continue=" + token)
		all = append(all, page...)
		if token = next; token == "" {
			break
		}
	}
	if d := cmp.Diff([]string{"p0", "p1", "p2", "p3", "p4"}, all); d != "" {
		t.Errorf("all pages (-want +got):\n%s", d)
	}
	if code, _ := c.do(t, "DELETE", pods+"?labelSelector=app%3Da", ""); code != 200 {
		t.Errorf("delete of a collection: got %d", code)
	}
	if _, got, _ := names(""); cmp.Diff([]string{"p1", "p3"}, got) != "" {
		t.Errorf("after the delete of a collection: got %v", got)
	}
}

func TestUpsert(t *testing.T) {
	c := start(t, nil)
	if err := c.Upsert(node("n", corev1.ConditionTrue)); err != nil {
		t.Fatal(err)
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	u, ok := c.Get(gvk, "", "n")
	if !ok {
		t.Fatal("there is no node")
	}
	stale := u.DeepCopy()
	u.SetLabels(map[string]string{"a": "b"})
	if err := c.Upsert(u); err != nil {
		t.Fatal(err)
	}
	if err := c.Upsert(stale); !apierrors.IsConflict(err) {
		t.Errorf("a stale object: got %v, want a conflict", err)
	}
	if err := c.Upsert(u); !apierrors.IsConflict(err) {
		t.Errorf("the same object again: got %v, want a conflict", err)
	}
	u.SetResourceVersion("")
	if err := c.Upsert(u); err != nil {
		t.Errorf("without a version: %v", err)
	}
	c.Delete(gvk, "", "n")
	if _, ok := c.Get(gvk, "", "n"); ok {
		t.Error("the node is there after its deletion")
	}
}

package charts

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// docs/concepts/trust.md names each right of the service account, and no other.
func TestTrustNamesEachRight(t *testing.T) {
	page, err := os.ReadFile("../docs/concepts/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "<!-- rights -->\n")
	if !found {
		t.Fatal("docs/concepts/trust.md has no table of rights")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:]

	chart, err := loader.LoadDir(Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range []map[string]bool{
		{"rbac.namespaces": false, "rbac.allNamespaces": false},
		{"rbac.namespaces": true, "rbac.allNamespaces": false},
		{"rbac.namespaces": false, "rbac.allNamespaces": true},
	} {
		values := map[string]any{"image": map[string]any{"repository": "x/y", "tag": "v1"}, "source": map[string]any{"url": "https://git.example.com/f.git"}}
		if when["rbac.namespaces"] {
			values["rbac"] = map[string]any{"namespaces": []any{"prod"}}
		}
		if when["rbac.allNamespaces"] {
			values["rbac"] = map[string]any{"allNamespaces": true}
		}
		out, err := rendered(chart, values)
		if err != nil {
			t.Fatal(err)
		}
		want := granted(t, out[Name+"/templates/rbac.yaml"])
		got := map[string]bool{}
		for _, row := range rows {
			cells := strings.Split(strings.Trim(row, "|"), "|")
			if len(cells) != 6 {
				t.Fatalf("a row of the table has %d cells: %s", len(cells), row)
			}
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if !holds(t, cells[4], when) {
				continue
			}
			for verb := range strings.SplitSeq(strings.ReplaceAll(cells[1], "`", ""), ", ") {
				got[fmt.Sprintf("%s %s %s in %s", verb, strings.Trim(cells[0], "`"), strings.Trim(cells[2], "`"), cells[3])] = true
			}
		}
		if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); d != "" {
			t.Errorf("%v: the chart grants (-), docs/concepts/trust.md says (+):\n%s", when, d)
		}
	}
}

// granted returns the rights in a rendered rbac.yaml, in the words of the page.
func granted(t *testing.T, text string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var role struct {
			metav1.TypeMeta
			metav1.ObjectMeta `json:"metadata"`
			Rules             []rbacv1.PolicyRule
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		where := map[string]string{"fairlead-system": "the release's namespace", "prod": "each of `rbac.namespaces`", "": "everywhere"}[role.Namespace]
		for _, rule := range role.Rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						name = strings.ReplaceAll(name, "fairlead-system", "the release's")
						all[fmt.Sprintf("%s %s %s in %s", verb, resource, name, where)] = true
					}
				}
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("the chart grants nothing")
	}
	return all
}

// holds reports whether the condition of a row holds: values that are set, joined
// by "and", with "no" before one that is not.
func holds(t *testing.T, condition string, when map[string]bool) bool {
	t.Helper()
	if condition == "always" {
		return true
	}
	for part := range strings.SplitSeq(condition, " and ") {
		m := regexp.MustCompile("^(no )?`([A-Za-z.]+)`$").FindStringSubmatch(part)
		if m == nil {
			t.Fatalf("docs/concepts/trust.md: a right is said to be given %q", condition)
		}
		set, known := when[m[2]]
		if !known {
			t.Fatalf("docs/concepts/trust.md: %s is no condition of the chart's roles", m[2])
		}
		if set == (m[1] != "") {
			return false
		}
	}
	return true
}

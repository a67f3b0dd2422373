package rules

import (
	"fmt"
	"strings"
	"testing"
)

func TestHolds(t *testing.T) {
	plan := Plan{
		Changes:  []Change{{Change: "create", Cluster: "prod/a", Pool: "md"}, {Change: "delete cluster", Cluster: "lab/b"}},
		Clusters: []Cluster{{Name: "prod/a", Namespace: "prod", Labels: map[string]string{"ring": "canary"}, Is: "v1.33.5", WillBe: "v1.34.1"}, {Name: "lab/b", Namespace: "lab", Is: "v1.33.5"}},
		Problems: []string{"clusters/c: broken"},
	}
	for expression, want := range map[string]bool{
		"true":                                true,
		"plan.changes.size() < 3":             true,
		"plan.changes.all(c, c.pool != 'md')": false,
		"plan.clusters.all(c, c.namespace != 'prod' || c.labels['ring'] == 'canary')":                                            true,
		"plan.clusters.all(c, c.willBe == '' || c.is == '' || c.is.split('.')[1] == c.willBe.split('.')[1])":                     false,
		"plan.changes.filter(c, c.change == 'delete cluster').all(c, c.cluster.startsWith('lab/')) && plan.problems.size() == 1": true,
	} {
		if got, err := Holds(t.Context(), expression, plan); err != nil || got != want {
			t.Errorf("%s is %v, %v", expression, got, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for expression, want := range map[string]string{
		"plan.change.size() == 0":                "undefined field 'change'",
		"plan.changes.all(c, c.pools == 1)":      "undefined field 'pools'",
		"plan.changes.size()":                    "has to be true or false",
		"plan.changes[":                          "Syntax error",
		"request.user == 'x'":                    "undeclared reference to 'request'",
		strings.Repeat("true && ", 600) + "true": "more than 4096",
	} {
		if err := Check(expression); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", expression, err, want)
		}
	}
	if err := Check("plan.problems.size() == 0"); err != nil {
		t.Error(err)
	}
}

// An expression that takes for ever ends.
func TestCost(t *testing.T) {
	var plan Plan
	for i := range 2000 {
		plan.Changes = append(plan.Changes, Change{Change: "create", Machine: fmt.Sprint(i)})
	}
	const expression = "plan.changes.all(a, plan.changes.all(b, plan.changes.all(c, a.machine + b.machine != c.machine + 'x')))"
	if _, err := Holds(t.Context(), expression, plan); err == nil || !strings.Contains(err.Error(), "cost") {
		t.Errorf("it is decided: %v", err)
	}
	if _, err := Holds(t.Context(), "plan.changes[5000].pool == ''", plan); err == nil {
		t.Error("what is not there is decided")
	}
}

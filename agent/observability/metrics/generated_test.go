package metrics_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/observability/metrics"
)

// TestGeneratedMetrics holds docs/reference/metrics.md against the registry. UPDATE=1
// writes it.
func TestGeneratedMetrics(t *testing.T) {
	m := metrics.Used()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Metrics\n\nWritten by `make generate` from the registry. The agent serves them at /metrics.\n" +
		"Beside these there are those of the Go runtime (`go_`) and of the process (`process_`).\n\n" +
		"The names that begin with `capi_` are those of Cluster API's own kube-state-metrics configuration,\n" +
		"so that dashboards and alerts for it work. A series goes when its object goes. Not there are what\n" +
		"Fairlead has no object for (`capi_machineset_*`, `capi_kubeadmconfig_*`,\n" +
		"`capi_machinehealthcheck_*`), the label `uid`, and the labels `customresource_*` that kube-state-metrics adds.\n\n" +
		"[monitoring](../operations/monitoring.md) says how to use them.\n\n" +
		"| name | type | labels | |\n|---|---|---|---|\n")
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, ", "), f.GetHelp())
	}
	const file = "../../../docs/reference/metrics.md"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("docs/reference/metrics.md is not what the code says: run `make generate` (-file +code):\n%s", diff)
	}
}

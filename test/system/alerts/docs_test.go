package alerts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestGenerated compares docs/reference/alerts.md with the rules. With UPDATE=1 it writes the page.
func TestGenerated(t *testing.T) {
	const file = "../../../docs/reference/alerts.md"
	var page strings.Builder
	page.WriteString("# Alerts\n\nWritten by `make generate` from `charts/fairlead/alerts`. Each alert has a runbook with meaning, diagnosis and fix.\n\n")
	page.WriteString("| alert | severity | after | |\n|---|---|---|---|\n")
	for _, a := range readAlerts(t) {
		fmt.Fprintf(&page, "| [%[1]s](../operations/runbooks/%[1]s.md) | %s | %s | %s |\n", a.Alert, a.Labels["severity"], a.For, a.Annotations["summary"])
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b), page.String()); diff != "" {
		t.Errorf("docs/reference/alerts.md is not what the rules say: run `make generate` (-file +rules):\n%s", diff)
	}
}

// TestGuide checks that Prometheus accepts the configuration in docs/operations/monitoring.md.
func TestGuide(t *testing.T) {
	b, err := os.ReadFile("../../../docs/operations/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(b)
	_, rest, ok := strings.Cut(guide, "<!-- begin prometheus -->\n```yaml\n")
	config, _, ok2 := strings.Cut(rest, "```\n<!-- end prometheus -->")
	if !ok || !ok2 {
		t.Fatal("docs/operations/monitoring.md shows no configuration")
	}
	promtool := program(t, "promtool")
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "prometheus.yaml")
	config = strings.ReplaceAll(config, "charts/", root+"/charts/") // the path is relative to the repository
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "config", file).CombinedOutput(); err != nil || !strings.Contains(string(out), "rules found") {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestGuideNamesWhatIs checks that the flags, values of the chart and queries in
// docs/operations/monitoring.md exist.
func TestGuideNamesWhatIs(t *testing.T) {
	read := func(file string) string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	guide := read("../../../docs/operations/monitoring.md")
	_, command, _ := strings.Cut(read("../../../docs/reference/cli.md"), "\n## fairlead agent\n")
	command, _, _ = strings.Cut(command, "\n## ")
	flags := regexp.MustCompile("`(--otlp[a-z-]*)").FindAllStringSubmatch(guide, -1)
	if len(flags) < 2 {
		t.Errorf("the guide shows %d flags, which cannot be all", len(flags))
	}
	for _, m := range flags {
		if !strings.Contains(command, "`"+m[1]+"`") {
			t.Errorf("fairlead agent has no flag %s", m[1])
		}
	}

	var values, shown map[string]any
	_, block, _ := strings.Cut(guide, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	if err := errors.Join(yaml.Unmarshal([]byte(read("../../../charts/fairlead/values.yaml")), &values), yaml.Unmarshal([]byte(block), &shown)); err != nil {
		t.Fatal(err)
	}
	if shown["metrics"] == nil {
		t.Errorf("the first block is not of the chart's values: %v", shown)
	}
	var known func(path string, shown, values map[string]any)
	known = func(path string, shown, values map[string]any) {
		for k, v := range shown {
			below, ok := values[k]
			if !ok {
				t.Errorf("the chart has no value %s%s", path, k)
			}
			if v, ok := v.(map[string]any); ok {
				b, _ := below.(map[string]any)
				known(path+k+".", v, b)
			}
		}
	}
	known("", shown, values)

	queries := 0
	for i, block := range strings.Split(guide, "```") {
		if expr, ok := strings.CutPrefix(block, "promql\n"); ok && i%2 == 1 {
			for line := range strings.Lines(expr) {
				queries++
				check(t, "docs/operations/monitoring.md", line, readSeries(t))
			}
		}
	}
	if queries == 0 {
		t.Error("the guide shows no query: this test sees nothing")
	}
}

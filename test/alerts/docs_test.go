package alerts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuide tries that docs/monitoring.md lists each alert as it is, and that
// Prometheus takes the configuration that it shows.
func TestGuide(t *testing.T) {
	b, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(b)
	alerts := readAlerts(t)
	for _, a := range alerts {
		row := fmt.Sprintf("| [%[1]s](runbooks/%[1]s.md) | %s | %s | %s |\n", a.Alert, a.Labels["severity"], a.For, a.Annotations["summary"])
		if !strings.Contains(guide, row) {
			t.Errorf("docs/monitoring.md lacks the row %s", row)
		}
	}
	if n := strings.Count(guide, "](runbooks/"); n != len(alerts) {
		t.Errorf("docs/monitoring.md points at %d runbooks, there are %d alerts", n, len(alerts))
	}
	_, rest, ok := strings.Cut(guide, "<!-- begin prometheus -->\n```yaml\n")
	config, _, ok2 := strings.Cut(rest, "```\n<!-- end prometheus -->")
	if !ok || !ok2 {
		t.Fatal("docs/monitoring.md shows no configuration")
	}
	promtool := program(t, "promtool")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "prometheus.yaml")
	config = strings.ReplaceAll(config, "charts/", root+"/charts/") // it is read from the folder of the repository
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "config", file).CombinedOutput(); err != nil || !strings.Contains(string(out), "rules found") {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

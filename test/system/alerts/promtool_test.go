package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"fairlead.dev/test/run/needs"
)

// program returns the path of a program of Prometheus, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	if dir := os.Getenv("FAIRLEAD_PROMETHEUS_BIN"); dir != "" {
		return filepath.Join(dir, name)
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		if path := filepath.Join(cache, "fairlead", "prometheus", "usr", "bin", name); isFile(path) {
			return path
		}
	}
	path, err := needs.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: run `make prometheus`", name)
	}
	return path
}

func isFile(path string) bool {
	_, err := needs.Stat(path)
	return err == nil
}

// TestPromtool lets promtool judge the rules, and run their tests.
func TestPromtool(t *testing.T) {
	promtool := program(t, "promtool")
	tests, err := filepath.Glob(ruleTests)
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are no tests of rules at %s: %v", ruleTests, err)
	}
	for _, args := range [][]string{{"check", "rules", "--lint-fatal", rulesFile}, append([]string{"test", "rules"}, tests...)} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestEveryAlertIsTried tries that promtool's tests have, for each alert, a case
// in which it fires and one in which it does not.
func TestEveryAlertIsTried(t *testing.T) {
	files, err := filepath.Glob(ruleTests)
	if err != nil {
		t.Fatal(err)
	}
	fires, quiet := make(map[string]bool), make(map[string]bool)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Tests []struct {
				Cases []struct {
					Alert  string           `json:"alertname"`
					Expect []map[string]any `json:"exp_alerts"`
				} `json:"alert_rule_test"`
			} `json:"tests"`
		}
		if err := yaml.Unmarshal(b, &file); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, test := range file.Tests {
			for _, c := range test.Cases {
				if len(c.Expect) > 0 {
					fires[c.Alert] = true
				} else {
					quiet[c.Alert] = true
				}
			}
		}
	}
	for _, a := range readAlerts(t) {
		if !fires[a.Alert] || !quiet[a.Alert] {
			t.Errorf("%s: firing is tried: %v, keeping quiet: %v", a.Alert, fires[a.Alert], quiet[a.Alert])
		}
	}
}

package charts

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/test/lab/kube/binaries"
)

var update = flag.Bool("update", false, "write golden files and README.md again")

// apis are those that values may switch objects of on.
var apis = []string{"--api-versions", "monitoring.coreos.com/v1", "--api-versions", "gateway.networking.k8s.io/v1"}

// helm runs the real helm and returns what it says on stdout and stderr.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	program, err := binaries.Path("helm")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(program, args...)
	home := t.TempDir() // nothing of the user's
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home, "KUBECONFIG="+os.DevNull)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func template(t *testing.T, args ...string) (string, string, error) {
	t.Helper()
	return helm(t, append([]string{"template", "fairlead", Name, "--namespace", "fairlead-system"}, args...)...)
}

func valueFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of values: %v", err)
	}
	return files
}

// What each file of values renders to is in a file of its own, for people to
// judge. Rules and dashboards are files already.
func TestGolden(t *testing.T) {
	for _, file := range valueFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			out, errs, err := template(t, append(apis, "--values", file)...)
			if err != nil {
				t.Fatal(errs)
			}
			var kept []string
			for document := range strings.SplitSeq(out, "\n---\n") {
				if !strings.Contains(document, "\nkind: PrometheusRule\n") && !strings.Contains(document, "grafana_dashboard") {
					kept = append(kept, strings.TrimSpace(document))
				}
			}
			got := strings.Join(kept, "\n---\n") + "\n"
			golden(t, strings.TrimSuffix(file, ".values.yaml")+".golden", got)
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s is not what it should be; go test ./charts -update writes it (-file +now)\n%s", file, d)
	}
}

func TestLint(t *testing.T) {
	for _, file := range valueFiles(t) {
		if out, errs, err := helm(t, "lint", "--strict", Name, "--values", file, "--kube-version", "1.34.0"); err != nil {
			// lint knows no --api-versions: what needs one says so, and is no mistake.
			text := out + errs
			if !strings.Contains(text, "--api-versions") || strings.Count(text, "[ERROR]") > 1 {
				t.Errorf("%s: %s", file, text)
			}
		}
	}
}

// The rules and dashboards are the files of the chart, word for word.
func TestMonitoringIsWhatTheFilesSay(t *testing.T) {
	out, errs, err := template(t, append(apis, "--values", "testdata/production.values.yaml")...)
	if err != nil {
		t.Fatal(errs)
	}
	rules, err := os.ReadFile("fairlead/alerts/fairlead.yaml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`(?m)^\s*- alert: (\w+)`)
	names := func(text string) (names []string) {
		for _, m := range alerts.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	if want := names(string(rules)); len(want) == 0 || !slices.Equal(want, names(out)) {
		t.Errorf("alerts: the file has %v, the chart %v", want, names(out))
	}
	if !strings.Contains(out, "{{ $labels.") {
		t.Error("the templates in the alerts were lost: Prometheus fills them in, Helm must not")
	}
	dashboards, err := filepath.Glob("fairlead/dashboards/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range dashboards {
		if !strings.Contains(out, "\n  "+filepath.Base(file)+": |-\n") {
			t.Errorf("no ConfigMap has %s", filepath.Base(file))
		}
	}
	if n := strings.Count(out, `grafana_dashboard: "1"`); n != len(dashboards) {
		t.Errorf("%d ConfigMaps of dashboards, want %d", n, len(dashboards))
	}
}

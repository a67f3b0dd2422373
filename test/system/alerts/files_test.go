package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	rulesFile     = "../../../charts/fairlead/alerts/fairlead.yaml"
	ruleTests     = "../../../charts/fairlead/alerts/tests/*.yaml"
	dashboardGlob = "../../../charts/fairlead/dashboards/*.json"
	runbookDir    = "../../../docs/operations/runbooks"
)

// An alert is one rule.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// readAlerts returns all rules.
func readAlerts(t *testing.T) []alert {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []alert `json:"rules"`
		} `json:"groups"`
	}
	b, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(b, &file); err != nil {
		t.Fatal(err)
	}
	var out []alert
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) < 10 {
		t.Fatalf("%s has %d alerts, which cannot be all", rulesFile, len(out))
	}
	return out
}

// readSeries returns the labels of each series that the agent has, by its name.
// docs/reference/metrics.md is generated from the registry.
func readSeries(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_0-9]+)` \\| ([a-z]+) \\| ([^|]*) \\|")
	out := map[string][]string{"up": nil}
	for _, m := range row.FindAllStringSubmatch(string(b), -1) {
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' })
		if m[2] == "histogram" {
			out[m[1]+"_bucket"] = append(labels, "le")
			out[m[1]+"_sum"], out[m[1]+"_count"] = labels, labels
			continue
		}
		out[m[1]] = labels
	}
	if len(out) < 50 {
		t.Fatalf("docs/reference/metrics.md has %d series, which cannot be all", len(out))
	}
	return out
}

// A panel of a dashboard, or a row of such.
type panel struct {
	ID          int    `json:"id"`
	Title       string `json:"title"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Datasource  *struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	} `json:"datasource"`
	GridPos struct{ X, Y, W, H int } `json:"gridPos"`
	Targets []struct {
		Expr  string `json:"expr"`
		RefID string `json:"refId"`
	} `json:"targets"`
	Panels []panel `json:"panels"`
}

// A dashboard as Grafana reads it.
type dashboard struct {
	UID           string   `json:"uid"`
	Title         string   `json:"title"`
	SchemaVersion int      `json:"schemaVersion"`
	Tags          []string `json:"tags"`
	Templating    struct {
		List []struct {
			Name       string          `json:"name"`
			Type       string          `json:"type"`
			Query      json.RawMessage `json:"query"`
			Definition string          `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

// readDashboards returns the dashboards by file name.
func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(dashboardGlob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards at %s: %v", dashboardGlob, err)
	}
	out := make(map[string]dashboard)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out[filepath.Base(f)] = d
	}
	return out
}

// all returns the panels below p, and p itself.
func (p panel) all() []panel {
	out := []panel{p}
	for _, below := range p.Panels {
		out = append(out, below.all()...)
	}
	return out
}

package alerts

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/common/model"
)

// TestAlertsAreWhole checks that each alert has what an operator needs.
func TestAlertsAreWhole(t *testing.T) {
	seen := make(map[string]bool)
	for _, a := range readAlerts(t) {
		if seen[a.Alert] {
			t.Errorf("two alerts are called %s", a.Alert)
		}
		seen[a.Alert] = true
		if s := a.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has the severity %q", a.Alert, s)
		}
		for _, name := range []string{"summary", "description"} {
			if a.Annotations[name] == "" {
				t.Errorf("%s has no %s", a.Alert, name)
			}
		}
		if d, err := model.ParseDuration(a.For); err != nil || time.Duration(d) < 5*time.Minute {
			t.Errorf("%s waits for %q: a restart of the agent must not wake anybody", a.Alert, a.For)
		}
		if want := "https://fairlead.dev/docs/operations/runbooks/" + a.Alert; a.Annotations["runbook_url"] != want {
			t.Errorf("%s has the runbook %q, want %s", a.Alert, a.Annotations["runbook_url"], want)
		}
	}
}

// TestRunbooks checks that each alert has a runbook, each runbook an alert, and each
// runbook all its sections.
func TestRunbooks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(runbookDir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".md")
		if have = append(have, name); name == "README" {
			have = have[:len(have)-1]
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"# " + name + "\n", "\n## Meaning\n", "\n## Impact\n", "\n## Diagnosis\n", "\n```\n", "\n## Fix\n"} {
			if !strings.Contains(string(b), part) {
				t.Errorf("%s lacks %q", f, strings.TrimSpace(part))
			}
		}
	}
	for _, a := range readAlerts(t) {
		want = append(want, a.Alert)
		b, _ := os.ReadFile(filepath.Join(runbookDir, a.Alert+".md"))
		if !strings.Contains(string(b), a.Annotations["summary"]) {
			t.Errorf("the runbook of %s has another summary", a.Alert)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("runbooks are not those of the alerts:\nrunbooks %v\nalerts   %v", have, want)
	}
}

// TestRunbookCommands checks that the commands of fairlead in runbooks exist with their
// flags, and so do the pages that they link.
func TestRunbookCommands(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := make(map[string]string) // text of a command's section
	for section := range strings.SplitSeq(string(b), "\n## fairlead ") {
		name, text, _ := strings.Cut(section, "\n")
		flags[name] = text
	}
	files, _ := filepath.Glob(filepath.Join(runbookDir, "*.md"))
	command := regexp.MustCompile(`(?m)(?:^|&& |\| )fairlead ([a-z]+(?: [a-z]+)*)([^|\n]*)`)
	flag := regexp.MustCompile(`(?:^| )--?([a-z][a-z-]*)`)
	link := regexp.MustCompile(`\]\(([^)#]+)\)`)
	found := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(b), "```") {
			if i%2 == 0 {
				for _, m := range link.FindAllStringSubmatch(block, -1) {
					if _, err := os.Stat(filepath.Join(runbookDir, m[1])); err != nil {
						t.Errorf("%s: %v", f, err)
					}
				}
				continue
			}
			for _, m := range command.FindAllStringSubmatch(block, -1) {
				found++
				name := m[1] // with its subcommands, and arguments that look like them
				for flags[name] == "" && strings.Contains(name, " ") {
					name = name[:strings.LastIndex(name, " ")]
				}
				text, ok := flags[name]
				if !ok {
					t.Errorf("%s: there is no command %q", f, m[1])
				}
				if strings.Contains(text, "(#fairlead-options)") {
					text += flags["options"]
				}
				for _, fl := range flag.FindAllStringSubmatch(m[2], -1) {
					if !strings.Contains(text, "`--"+fl[1]+"`") && !strings.Contains(text, "`-"+fl[1]+"`") {
						t.Errorf("%s: fairlead %s has no flag %q", f, name, fl[1])
					}
				}
			}
			for _, m := range regexp.MustCompile(`PROMETHEUS:9090 ('[^']+'|\S+)`).FindAllStringSubmatch(block, -1) {
				check(t, filepath.Base(f), strings.Trim(m[1], "'"), readSeries(t))
			}
		}
	}
	if found == 0 {
		t.Error("no runbook names a command of fairlead: this test sees nothing")
	}
}

// targetLabels are those that Prometheus gives every series.
var targetLabels = []string{"namespace", "job", "instance", "__name__"}

// TestAlertsAskForWhatIs checks that the series and labels in alerts exist.
func TestAlertsAskForWhatIs(t *testing.T) {
	series := readSeries(t)
	for _, a := range readAlerts(t) {
		check(t, a.Alert, a.Expr, series)
	}
}

// check parses expr and looks up its series, and the labels that it selects and groups by.
func check(t *testing.T, where, expr string, series map[string][]string) {
	t.Helper()
	e, err := metricsql.Parse(expr)
	if err != nil {
		t.Errorf("%s: %v\n%s", where, err, expr)
		return
	}
	var selected []string // labels of all its series
	metricsql.VisitAll(e, func(n metricsql.Expr) {
		if v, ok := n.(*metricsql.MetricExpr); ok {
			selected = append(selected, selector(t, where, v, series)...)
		}
	})
	known := func(names []string) {
		for _, name := range names {
			if !slices.Contains(selected, name) {
				t.Errorf("%s: no series in it has a label %q:\n%s", where, name, expr)
			}
		}
	}
	metricsql.VisitAll(e, func(n metricsql.Expr) {
		switch n := n.(type) {
		case *metricsql.AggrFuncExpr:
			known(n.Modifier.Args)
		case *metricsql.BinaryOpExpr:
			known(n.GroupModifier.Args)
			known(n.JoinModifier.Args)
		}
	})
}

// selector looks up what v selects, and returns the labels of that.
func selector(t *testing.T, where string, v *metricsql.MetricExpr, series map[string][]string) []string {
	t.Helper()
	var out []string
	for _, filters := range v.LabelFilterss {
		i := slices.IndexFunc(filters, func(f metricsql.LabelFilter) bool { return f.Label == "__name__" })
		if i < 0 {
			t.Errorf("%s: %s selects series of any name", where, v.AppendString(nil))
			continue
		}
		have, ok := series[filters[i].Value]
		if !ok {
			t.Errorf("%s: the agent has no series %q", where, filters[i].Value)
			continue
		}
		have = append(slices.Clone(have), targetLabels...)
		for _, f := range filters {
			if !slices.Contains(have, f.Label) {
				t.Errorf("%s: %s has no label %q", where, filters[i].Value, f.Label)
			}
		}
		out = append(out, have...)
	}
	return out
}

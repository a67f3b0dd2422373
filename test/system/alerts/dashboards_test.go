package alerts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fill replaces the variables of a dashboard.
func fill(expr string) string {
	for name, value := range map[string]string{
		"$__rate_interval": "1m", "$namespace": "well", "$cluster": "eu-2", "$job": ".*",
	} {
		expr = strings.ReplaceAll(expr, name, value)
	}
	return expr
}

// TestDashboards checks dashboards against Grafana's JSON model and the agent's series.
func TestDashboards(t *testing.T) {
	series := readSeries(t)
	// Series of the process come with the client library, and are in no table.
	for _, name := range []string{"process_resident_memory_bytes", "process_cpu_seconds_total", "go_memstats_heap_inuse_bytes", "go_goroutines"} {
		series[name] = nil
	}
	uids := make(map[string]string)
	for file, d := range readDashboards(t) {
		if other, ok := uids[d.UID]; ok || d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || !slices.Contains(d.Tags, "fairlead") {
			t.Errorf("%s has uid %q (as %q), title %q, schema %d, tags %v", file, d.UID, other, d.Title, d.SchemaVersion, d.Tags)
		}
		uids[d.UID] = file
		variables := []string{"__rate_interval"}
		for _, v := range d.Templating.List {
			if variables = append(variables, v.Name); v.Type == "query" {
				if m := regexp.MustCompile(`^label_values\((.+), \w+\)$`).FindStringSubmatch(v.Definition); m == nil {
					t.Errorf("%s: variable %s has the query %q", file, v.Name, v.Definition)
				} else {
					check(t, file+" variable "+v.Name, fill(m[1]), series)
				}
			}
		}
		if len(d.Templating.List) == 0 || d.Templating.List[0].Type != "datasource" {
			t.Errorf("%s: its first variable is not the data source", file)
		}
		ids := make(map[int]bool)
		taken := make(map[[2]int]string)
		for _, top := range d.Panels {
			for _, p := range top.all() {
				where := fmt.Sprintf("%s: panel %q", file, p.Title)
				if ids[p.ID] || p.Title == "" {
					t.Errorf("%s has the id %d again, or no title", where, p.ID)
				}
				ids[p.ID] = true
				for x := range p.GridPos.W {
					for y := range p.GridPos.H {
						at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
						if taken[at] != "" || at[0] > 23 {
							t.Fatalf("%s lies on %q, or out of sight", where, taken[at])
						}
						taken[at] = p.Title
					}
				}
				if p.Type == "row" {
					continue
				}
				if p.Datasource == nil || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
					t.Errorf("%s has the data source %v and %d queries", where, p.Datasource, len(p.Targets))
				}
				for _, target := range p.Targets {
					for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
						if !slices.Contains(variables, v[1]) {
							t.Errorf("%s uses the variable %s, which is not there", where, v[1])
						}
					}
					check(t, where, fill(target.Expr), series)
				}
			}
		}
	}
	if len(uids) < 3 {
		t.Errorf("there are %d dashboards", len(uids))
	}
}

package preview

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/sources/status"
)

// TestPlansForPrograms: docs/reference/plans.md has each field of both documents, and no row without a field.
func TestPlansForPrograms(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/plans.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][]any{
		"A change":          {Change{}},
		"The preview":       {Plan{}, Rollout{}, Turn{}, output.Problem{}},
		"The recorded plan": {status.Plan{}, status.PlanPart{}, status.PlanResult{}},
	}
	for title, documents := range sections {
		_, section, found := strings.Cut(string(b), "\n## "+title+"\n")
		if !found {
			t.Fatalf("there is no section %q", title)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		fields := make(map[string]bool)
		for _, d := range documents {
			for f := range reflect.TypeOf(d).Fields() {
				if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
					fields[name] = true
				}
			}
		}
		for name := range fields {
			if !strings.Contains(section, "`"+name+"`") {
				t.Errorf("%s: field %q is not documented", title, name)
			}
		}
		for _, row := range strings.Split(section, "\n") {
			column, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
			if !strings.HasPrefix(row, "| `") {
				continue
			}
			for _, name := range strings.Split(column, ", ") {
				if !fields[strings.Trim(name, "`")] {
					t.Errorf("%s: there is no field %s", title, name)
				}
			}
		}
	}
}

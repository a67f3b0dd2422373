package vcenter

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/transport/transporttest"
)

// TestAnswers: the kind and the words of each answer that is neither a result nor a fault.
func TestAnswers(t *testing.T) {
	want, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	answers := []transporttest.Answer{{Method: "POST"}, {Method: "GET"}, {Method: "POST", Body: "<h1>Bad gateway</h1>"}, {Method: "POST", Body: `{"error_type": "ALREADY_EXISTS"}`}}
	for _, name := range []string{
		"already_exists", "already_in_desired_state", "concurrent_change", "not_allowed_in_current_state", "resource_in_use", "not_found", "unauthorized",
		"unauthenticated", "resource_busy", "service_unavailable", "resource_inaccessible", "timed_out", "unable_to_allocate_resource", "internal_server_error",
		"error", "invalid_argument", "unsupported",
	} {
		answers = append(answers, transporttest.Answer{Method: "POST", Body: `{"type": "com.vmware.vapi.std.errors.` + name + `", "value": {"messages": [{"default_message": "its words"}]}}`})
	}
	got := transporttest.Table(answers, func(method string, status int, body string) error {
		return Wrap("do it", &statusError{Method: method, Code: status, Body: []byte(body)})
	})
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

// TestEveryFault: the kind and the next step of each fault in vCenter's API.
func TestEveryFault(t *testing.T) {
	want, err := os.ReadFile("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), faultTable(t, strings.Fields(string(want)))); d != "" {
		t.Error(d)
	}
}

// faultTable writes which of words are faults of which kind, with which next step.
func faultTable(t *testing.T, words []string) string {
	t.Helper()
	names := make(map[string][]string)
	for _, name := range words {
		of, ok := types.TypeFunc()(name)
		if !ok {
			continue
		}
		f, ok := reflect.New(of).Interface().(types.BaseMethodFault)
		if !ok {
			t.Fatalf("%s is no fault", name)
		}
		err := Wrap("do it", &TaskError{Cause: f})
		title := string(fleet.KindOf(err)) + strings.TrimPrefix(err.Error(), "cannot do it: "+name)
		names[title] = append(names[title], name)
	}
	var out []string
	for title, of := range names {
		out = append(out, title+":\n  "+strings.Join(slices.Sorted(slices.Values(of)), "\n  ")+"\n")
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

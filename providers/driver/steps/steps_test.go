package steps_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
)

// wrap takes errors for those of the provider.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return &fleet.Error{Kind: fleet.KindOf(err), Op: what, Err: err}
}

// TestPerform: "router" follows on "network", and "port" on "router".
func TestPerform(t *testing.T) {
	for name, c := range map[string]struct {
		fails map[string]error
		want  string // what was tried, in order
		errs  int
	}{
		"all":        {nil, "[network group router port]", 0},
		"one fails":  {map[string]error{"network": errors.New("no")}, "[network group]", 1},
		"two fail":   {map[string]error{"network": errors.New("no"), "group": errors.New("no")}, "[network group]", 2},
		"no answer":  {map[string]error{"network": fleet.Errorf(fleet.Unanswered, "x", "reset")}, "[network]", 1},
		"late fault": {map[string]error{"port": errors.New("no")}, "[network group router port]", 1},
	} {
		var tried []string
		done := make(map[string]bool)
		decide := func() []steps.Step {
			out := []steps.Step{{What: "wait", Blocked: true, Do: func(context.Context) error { t.Error("a step that is blocked was tried"); return nil }}}
			for what, after := range map[string]string{"network": "", "group": "", "router": "network", "port": "router"} {
				if after != "" && !done[after] || done[what] {
					continue
				}
				out = append(out, steps.Step{What: what, Do: func(context.Context) error {
					tried = append(tried, what)
					done[what] = c.fails[what] == nil
					return c.fails[what]
				}})
			}
			order := []string{"wait", "network", "group", "router", "port"}
			slices.SortFunc(out, func(a, b steps.Step) int { return slices.Index(order, a.What) - slices.Index(order, b.What) })
			return out
		}
		errs := steps.Perform(t.Context(), decide, wrap)
		if got := fmt.Sprint(tried); got != c.want || len(errs) != c.errs {
			t.Errorf("%s: tried %s with errors %v, want %s and %d errors", name, got, errs, c.want, c.errs)
		}
	}
}

// TestPerformEndsWithContext: nothing is begun after a step that failed as its context
// ended.
func TestPerformEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tried := 0
	do := func(context.Context) error { tried++; cancel(); return ctx.Err() }
	errs := steps.Perform(ctx, func() []steps.Step { return []steps.Step{{What: "a", Do: do}, {What: "b", Do: do}} }, wrap)
	if tried != 1 || len(errs) != 1 {
		t.Errorf("%d steps were tried, %v", tried, errs)
	}
}

package steps_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/steps"
)

// TestReport: what is in the way of machines before the first one, later, and never, and what people are told.
func TestReport(t *testing.T) {
	at := fleet.Endpoint{Host: "api.example.org", Port: 6443}
	essential, rule, upkeep := steps.Step{What: "make the network", Essential: true}, steps.Step{What: "make a rule"}, steps.Step{What: "lead to m1", Upkeep: true}
	fault := errors.New("it is taken")
	for name, tc := range map[string]struct {
		d                      steps.Decision
		exists, started, ready bool
		message                string
		drift, upkeep          []string
		nowhere                bool
	}{
		"done":                     {d: steps.Decision{Endpoint: at}, exists: true, ready: true},
		"nothing is there":         {d: steps.Decision{Endpoint: at, Steps: []steps.Step{essential}}, message: "next: make the network", nowhere: true},
		"a rule is missing":        {d: steps.Decision{Endpoint: at, Steps: []steps.Step{rule}}, exists: true, message: "next: make a rule"},
		"it is later":              {d: steps.Decision{Endpoint: at, Steps: []steps.Step{rule}}, exists: true, started: true, ready: true, drift: []string{"make a rule"}},
		"essential later":          {d: steps.Decision{Endpoint: at, Steps: []steps.Step{essential}}, exists: true, started: true, message: "next: make the network"},
		"upkeep":                   {d: steps.Decision{Endpoint: at, Steps: []steps.Step{upkeep}}, exists: true, ready: true, drift: []string{"lead to m1"}, upkeep: []string{"lead to m1"}},
		"a wait":                   {d: steps.Decision{Endpoint: at, Waits: []string{"it is being made"}, Steps: []steps.Step{rule}}, exists: true, started: true, message: "it is being made"},
		"no endpoint":              {exists: true, nowhere: true},
		"a fault that is in a way": {d: steps.Decision{Endpoint: at, Faults: []error{fault}, Missing: true}, message: "it is taken"},
		"one that is not":          {d: steps.Decision{Endpoint: at, Faults: []error{fault}}, exists: true, ready: true, drift: []string{"it is taken"}},
	} {
		out := fleet.Infrastructure{Exists: tc.exists}
		tc.d.Report(&out, tc.started, nil)
		want := fleet.Infrastructure{Exists: tc.exists, Ready: tc.ready, Message: tc.message, Drift: tc.drift, Upkeep: tc.upkeep}
		if !tc.nowhere {
			want.Endpoint = at
		}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var d steps.Decision
	d.Add(rule)
	d.Wait("w")
	d.CannotFollow("network", "it stays")
	if d.Missing || len(d.Steps)+len(d.Waits)+len(d.Faults) != 3 || fleet.KindOf(d.Faults[0]) != fleet.Invalid {
		t.Errorf("%+v", d)
	}
	if d.Fault(fault); !d.Missing {
		t.Error("a fault is in the way of nothing")
	}
}

// TestEnsure: what fails is told with the faults, and what nothing waits for is tried all the same.
func TestEnsure(t *testing.T) {
	var done []string
	do := func(what string, err error) steps.Step {
		return steps.Step{What: what, Do: func(context.Context) error { done = append(done, what); return err }}
	}
	bad, fault := errors.New("bad"), errors.New("fault")
	errs := steps.Ensure(t.Context(), func() *steps.Decision { return &steps.Decision{Steps: []steps.Step{do("make", bad)}, Faults: []error{fault}} },
		func() []steps.Step { return []steps.Step{do("clean", nil), do("sweep", bad)} }, func(_ string, err error) error { return err })
	if diff := cmp.Diff([]string{"make", "clean", "sweep"}, done); diff != "" || len(errs) != 3 || !errors.Is(errors.Join(errs...), fault) {
		t.Errorf("%v, %s", errs, diff)
	}
}

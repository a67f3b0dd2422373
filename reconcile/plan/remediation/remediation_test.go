package remediation_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/remediation"
)

// TestScripts reads "next replicas=3 max-retry=2", followed by a machine a line, "a condemned
// no-node"; a machine is up to date, well, and has joined, unless its line says otherwise. It
// prints what comes next.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c, err := read(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			next := remediation.Next(c)
			var b strings.Builder
			for _, l := range next.Limited {
				fmt.Fprintf(&b, "%s is %s for %s\n", c.Machines[l.Machine].Name, l.Limit, l.Left)
			}
			b.WriteString(string(next.Kind))
			if next.Machine >= 0 {
				fmt.Fprintf(&b, " %s", c.Machines[next.Machine].Name)
			}
			if next.Other >= 0 {
				fmt.Fprintf(&b, " for %s", c.Machines[next.Other].Name)
			}
			if next.Kind == remediation.Remove {
				fmt.Fprintf(&b, ", retry %d", c.Machines[next.Machine].After(c.Limits).Retry)
			}
			return b.String() + "\n"
		})
	})
}

func read(d *datadriven.TestData) (remediation.ControlPlane, error) {
	c := remediation.ControlPlane{Bears: true, Limits: remediation.Limits{MinHealthy: time.Hour}}
	for _, a := range d.CmdArgs {
		value := ""
		if len(a.Vals) > 0 {
			value = a.Vals[0]
		}
		n, _ := strconv.Atoi(value)
		span, _ := time.ParseDuration(value)
		switch a.Key {
		case "replicas":
			c.Replicas = n
		case "max-retry":
			c.Limits.MaxRetry = &n
		case "retry-period":
			c.Limits.RetryPeriod = span
		case "min-healthy":
			c.Limits.MinHealthy = span
		case "under-way":
			c.UnderWay = true
		case "bears-no-other":
			c.Bears = false
		default:
			return c, fmt.Errorf("no argument %s", a.Key)
		}
	}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		m, err := readMachine(f)
		if err != nil {
			return c, err
		}
		c.Machines = append(c.Machines, m)
	}
	return c, nil
}

// readMachine reads "a condemned retry=1 ago=10m". One that has not joined does not vote,
// does not serve and is not well; neither is one that is condemned, unless it works.
func readMachine(fields []string) (remediation.Machine, error) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	m := remediation.Machine{
		Name: fleet.MachineName(fields[0]), Made: now, Current: true, Node: true, Votes: true, Serves: true, Well: true,
		Attempt: remediation.Attempt{Ago: 24 * time.Hour},
	}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		n, _ := strconv.Atoi(value)
		span, _ := time.ParseDuration(value)
		switch key {
		case "outdated":
			m.Current = false
		case "leaving":
			m.Leaving = true
		case "unhealthy":
			m.Unhealthy, m.Well = true, false
		case "condemned":
			m.Unhealthy, m.Condemned, m.Well = true, true, false
		case "asked":
			m.Asked = true
		case "works":
			m.Well = true
		case "unwell":
			m.Well = false
		case "no-node":
			m.Node, m.Votes, m.Serves, m.Well = false, false, false, false
		case "no-vote":
			m.Votes, m.Well = false, false
		case "no-server":
			m.Serves, m.Well = false, false
		case "age":
			m.Made = now.Add(-span)
		case "retry":
			m.Attempt.Retry = n
		case "ago":
			m.Attempt.Ago = span
		default:
			return m, fmt.Errorf("no word %s", f)
		}
	}
	return m, nil
}

// TestLimits has the boundaries of each limit.
func TestLimits(t *testing.T) {
	none, two := 0, 2
	limits := remediation.Limits{MaxRetry: &two, RetryPeriod: 10 * time.Minute, MinHealthy: time.Hour}
	cases := map[string]struct {
		limits remediation.Limits
		last   remediation.Attempt
		anew   bool
		want   remediation.Verdict
	}{
		"a moment before the period is over": {limits, remediation.Attempt{Ago: 10*time.Minute - 1}, false, remediation.Verdict{Retry: 1, Limit: remediation.Deferred, Left: 1}},
		"the period is over":                 {limits, remediation.Attempt{Ago: 10 * time.Minute}, false, remediation.Verdict{Retry: 1}},
		"no period":                          {remediation.Limits{MinHealthy: time.Hour}, remediation.Attempt{}, false, remediation.Verdict{Retry: 1}},
		"one attempt less than may be":       {limits, remediation.Attempt{Retry: 1, Ago: 20 * time.Minute}, false, remediation.Verdict{Retry: 2}},
		"as many attempts as may be":         {limits, remediation.Attempt{Retry: 2, Ago: 20 * time.Minute}, false, remediation.Verdict{Retry: 3, Limit: remediation.Exhausted, Left: 40 * time.Minute}},
		"the period goes before the number":  {limits, remediation.Attempt{Retry: 2, Ago: 9 * time.Minute}, false, remediation.Verdict{Retry: 3, Limit: remediation.Deferred, Left: time.Minute}},
		"no retry at all":                    {remediation.Limits{MaxRetry: &none, MinHealthy: time.Hour}, remediation.Attempt{Ago: time.Minute}, false, remediation.Verdict{Retry: 1, Limit: remediation.Exhausted, Left: 59 * time.Minute}},
		"no bound":                           {remediation.Limits{MinHealthy: time.Hour}, remediation.Attempt{Retry: 99, Ago: time.Minute}, false, remediation.Verdict{Retry: 100}},
		"a moment before it begins anew":     {limits, remediation.Attempt{Retry: 2, Ago: time.Hour - 1}, false, remediation.Verdict{Retry: 3, Limit: remediation.Exhausted, Left: 1}},
		"it begins anew":                     {limits, remediation.Attempt{Retry: 2, Ago: time.Hour}, false, remediation.Verdict{}},
		"it begins anew by a reason":         {limits, remediation.Attempt{Retry: 2, Ago: time.Minute}, true, remediation.Verdict{}},
		"there was none":                     {limits, remediation.Attempt{Ago: 1<<63 - 1}, false, remediation.Verdict{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.limits.After(tc.last, tc.anew); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

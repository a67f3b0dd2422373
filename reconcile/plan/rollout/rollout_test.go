package rollout_test

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/rollout"
)

// TestScripts reads "workers replicas=3 surge=1" and "controlplane replicas=3", followed by
// a machine a line, "a outdated broken"; a machine is up to date, available and well unless
// its line says otherwise. It prints the steps. "domain domains=(x,y)" prints the failure
// domain for the next machine.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			p, err := read(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			var steps []rollout.Step
			switch d.Cmd {
			case "workers":
				steps = rollout.Workers(p)
			case "controlplane":
				steps = rollout.ControlPlane(p)
			case "domain":
				var domains []string
				d.MaybeScanArgs(t, "domains", &domains)
				return cmp.Or(rollout.Domain(domains, p.Machines), "any") + "\n"
			default:
				d.Fatalf(t, "no command %s", d.Cmd)
			}
			return describe(p, steps)
		})
	})
}

func describe(p rollout.Pool, steps []rollout.Step) string {
	if len(steps) == 0 {
		return "nothing\n"
	}
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(string(s.Kind))
		if s.Machine >= 0 {
			fmt.Fprintf(&b, " %s", p.Machines[s.Machine].Name)
		}
		if s.Kind == rollout.Create {
			fmt.Fprintf(&b, ", has %d", s.Has)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func read(d *datadriven.TestData) (rollout.Pool, error) {
	p := rollout.Pool{MaxRemediations: -1}
	for _, a := range d.CmdArgs {
		n := 0
		if len(a.Vals) > 0 {
			n, _ = strconv.Atoi(a.Vals[0])
		}
		switch a.Key {
		case "replicas":
			p.Replicas = n
		case "surge":
			p.MaxSurge = n
		case "spare":
			p.Inventory, p.Spare = true, n
		case "unavailable":
			p.MaxUnavailable = n
		case "remediations":
			p.MaxRemediations = n
		case "pending":
			p.Pending = n
		case "pending-current":
			p.Pending, p.PendingCurrent = n, n
		case "held":
			p.Held = n
		case "order":
			p.Order = fleet.DeletionOrder(a.Vals[0])
		case "on-delete":
			p.OnDelete = true
		case "no-create":
			p.NoCreate = true
		case "no-roll":
			p.NoRoll = true
		case "stray-learner":
			p.Learners = append(p.Learners, -1)
		case "domains":
		default:
			return p, fmt.Errorf("no argument %s", a.Key)
		}
	}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		m, learner, err := readMachine(f)
		if err != nil {
			return p, err
		}
		if learner {
			p.Learners = append(p.Learners, len(p.Machines))
		}
		p.Machines = append(p.Machines, m)
	}
	return p, nil
}

// readMachine reads "a outdated age=3h". What is unhealthy is broken, and what is broken,
// leaving or waiting is not available.
func readMachine(fields []string) (m rollout.Machine, learner bool, err error) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	m = rollout.Machine{Name: fleet.MachineName(fields[0]), Made: now, Current: true, Available: true, Well: true}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "outdated":
			m.Current = false
		case "leaving":
			m.Leaving = true
		case "waiting":
			m.Available = false
		case "broken":
			m.Broken = true
		case "unwell":
			m.Well = false
		case "marked":
			m.Marked = true
		case "unhealthy":
			m.Unhealthy, m.Broken = true, true
		case "condemned":
			m.Unhealthy, m.Broken, m.Condemned = true, true, true
		case "learner":
			learner = true
		case "in":
			m.Domain = value
		case "age":
			age, err := time.ParseDuration(value)
			if err != nil {
				return m, false, err
			}
			m.Made = now.Add(-age)
		default:
			return m, false, fmt.Errorf("no word %s", f)
		}
	}
	m.Available = m.Available && !m.Broken && !m.Leaving
	return m, learner, nil
}

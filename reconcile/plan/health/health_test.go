package health_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/plan/health"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestScripts runs the scripts in testdata. "examine" judges a machine by its conditions, one
// a line, "node Ready False for=6m timeout=5m", and prints the verdict. "limit" says of each
// line "2 of 5" whether a check acts. "node NodeReady" prints the status and how old it is,
// of conditions "Ready False 6m". "told" prints since when a condition has been so, of a
// report with one condition a line.
func TestScripts(t *testing.T) {
	commands := map[string]func(*datadriven.TestData) (string, error){"examine": examine, "limit": limit, "node": node, "told": told}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run, ok := commands[d.Cmd]
			if !ok {
				d.Fatalf(t, "no command %s", d.Cmd)
			}
			out, err := run(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

// args are the key=value words of a line.
func args(words []string) map[string]string {
	out := map[string]string{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		out[k] = v
	}
	return out
}

func span(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}

func examine(d *datadriven.TestData) (string, error) {
	m := health.Machine{Joined: true}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "no-node":
			m.Joined = false
		case "for":
			m.Startup.For = span(a.Vals[0])
		case "timeout":
			m.Startup.Timeout = span(a.Vals[0])
		case "failure":
			m.Startup.Failure = a.Vals[0]
		default:
			return "", fmt.Errorf("no argument %s", a.Key)
		}
	}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if len(f) < 3 {
			return "", fmt.Errorf("%s: no condition", line)
		}
		w := args(f[3:])
		m.Conditions = append(m.Conditions, health.Condition{
			Type: f[1], Status: f[2], Node: f[0] == "node", For: span(w["for"]), Timeout: span(w["timeout"]),
		})
	}
	v := health.Examine("check", m)
	out := "well\n"
	if v.Reason != "" {
		out = fmt.Sprintf("%s: %s\n", v.Reason, v.Message)
	}
	if v.After > 0 {
		out += fmt.Sprintf("after %s\n", v.After)
	}
	return out, nil
}

func limit(d *datadriven.TestData) (string, error) {
	var l health.Limit
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "at-most":
			most := intstr.Parse(a.Vals[0])
			l.AtMost = &most
		case "range":
			l.Range = a.Vals[0]
		default:
			return "", fmt.Errorf("no argument %s", a.Key)
		}
	}
	out := l.String() + "\n"
	for line := range strings.Lines(d.Input) {
		few, all, ok := strings.Cut(strings.TrimSpace(line), " of ")
		unhealthy, err := strconv.Atoi(few)
		total, errTotal := strconv.Atoi(all)
		if !ok || err != nil || errTotal != nil {
			return "", fmt.Errorf("%s: not so many of so many", line)
		}
		out += fmt.Sprintf("%d of %d: %v\n", unhealthy, total, l.Allows(unhealthy, total))
	}
	return out, nil
}

func node(d *datadriven.TestData) (string, error) {
	var of []corev1.NodeCondition
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return "", fmt.Errorf("%s: no condition", line)
		}
		of = append(of, corev1.NodeCondition{
			Type: corev1.NodeConditionType(f[0]), Status: corev1.ConditionStatus(f[1]), LastTransitionTime: metav1.NewTime(now.Add(-span(f[2]))),
		})
	}
	condition := d.CmdArgs[0].Key
	at := health.NodeTransition(condition, of)
	if at.IsZero() {
		return fmt.Sprintf("%s, never written\n", health.NodeStatus(condition, of)), nil
	}
	return fmt.Sprintf("%s for %s\n", health.NodeStatus(condition, of), now.Sub(at)), nil
}

// told reads "told MACHINE CONDITION STATUS id=ID transition=AGO".
func told(d *datadriven.TestData) (string, error) {
	var report []fleet.ObservedCondition
	read := func(f []string) fleet.ObservedCondition {
		w := args(f[3:])
		return fleet.ObservedCondition{
			Machine: fleet.MachineName(f[0]), Condition: f[1], Status: fleet.ConditionStatus(f[2]), ProviderID: fleet.ProviderID(w["id"]),
			Transition: now.Add(-span(w["transition"])), Since: now.Add(-span(w["since"])),
		}
	}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if len(f) < 3 {
			return "", fmt.Errorf("%s: no condition", line)
		}
		report = append(report, read(f))
	}
	words := make([]string, 0, len(d.CmdArgs))
	for _, a := range d.CmdArgs {
		if len(a.Vals) > 0 {
			words = append(words, a.Key+"="+a.Vals[0])
		} else {
			words = append(words, a.Key)
		}
	}
	c := read(words)
	out := "begins\n"
	if since, ok := health.Told(report, c); ok {
		out = fmt.Sprintf("for %s\n", now.Sub(since))
	}
	return out + fmt.Sprintf("%d conditions are told next\n", len(health.Tell(report, c))), nil
}

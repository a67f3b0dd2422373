package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fleet"
)

// TestScripts runs the scripts in testdata. "record" is what the status branch says when
// an agent begins. "revision", "older", "requests", "sizes", "pass", "repair", "tags" and
// "wait" are news, and tell what is decided on them; "fleet" tells what clusters are held
// to, and what is told of the fleet.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), reports: map[fleet.Key]fleet.Report{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.run(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

type script struct {
	state   State
	now     time.Time
	reports map[fleet.Key]fleet.Report
	last    Decision
}

func (s *script) run(d *datadriven.TestData) (string, error) {
	var lines [][]string
	for line := range strings.Lines(d.Input) {
		lines = append(lines, strings.Fields(line))
	}
	in := Input{}
	switch d.Cmd {
	case "record":
		s.state = Recorded(record(lines))
		return "", nil
	case "fleet":
		return s.fleet(), nil
	case "revision":
		r := revisionOf(d, lines)
		in.Newest = &r
	case "older":
		in.Older = []Revision{revisionOf(d, lines)}
	case "requests":
		in.Requests = s.requests(lines)
	case "sizes":
		in.Sizes = &Sizes{Signed: d.HasArg("signed"), List: s.sizes(lines)}
	case "written":
		in.Written = &Written{Sizes: s.last.Sign, Dropped: s.last.Drop}
		in.Written.Sizes = append(slices.Clone(in.Written.Sizes), s.sizes(lines)...)
	case "pass":
		in.Passes = s.passes(lines)
	case "repair":
		in.Repaired = map[fleet.Key]*fleet.Report{}
		for _, l := range lines {
			k := key(l[0])
			if in.Repaired[k] = nil; len(l) > 1 {
				r := report(l)
				in.Repaired[k] = &r
			}
		}
	case "gone":
		for _, l := range lines {
			in.Gone = append(in.Gone, key(l[0]))
		}
	case "tags":
		in.Tagged = map[string][]fleet.Key{}
		for _, l := range lines {
			in.Tagged[l[0]] = append(in.Tagged[l[0]], keys(l[1:])...)
		}
	case "wait":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			return "", err
		}
		s.now = s.now.Add(by)
		return "", nil
	default:
		return "", fmt.Errorf("no command %s", d.Cmd)
	}
	in.Before, in.Now, in.Reports = s.state, s.now, s.reports
	s.last = Decide(in)
	s.state = s.last.State
	return s.decided(), nil
}

// decided shows the last decision.
func (s *script) decided() string {
	var b strings.Builder
	d := s.last
	show := func(what string, list ...string) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "%-9s %s\n", what, strings.Join(list, " "))
		}
	}
	show("changed", names(d.Changed)...)
	show("forgotten", names(d.Forgotten)...)
	for _, r := range d.Answers {
		text := string(r.Answer.State)
		if r.Answer.Message != "" {
			text += ": " + r.Answer.Message
		}
		show("answer", r.String()+":", text)
	}
	for _, r := range d.Expired {
		show("expired", r.String())
	}
	for _, n := range d.Sign {
		show("sign", n.String())
	}
	for _, n := range d.Drop {
		show("drop", n.String())
	}
	for _, text := range d.Ignored {
		show("doubt", text)
	}
	if d.AnswersDue {
		b.WriteString("due\n")
	}
	if at := d.State.WakeAt(s.now); !at.IsZero() {
		show("wake", "in", at.Sub(s.now).String())
	}
	if d.StatusChanged {
		b.WriteString("told\n")
	}
	return b.String()
}

// fleet shows what clusters are held to, and what is told.
func (s *script) fleet() string {
	var b strings.Builder
	told := s.state.Status()
	fmt.Fprintf(&b, "seen %s, applied %s", cmp.Or(told.Revision.Hash(), "nothing"), cmp.Or(told.Applied.Hash(), "nothing"))
	if told.Broken {
		b.WriteString(", broken")
	}
	b.WriteString("\n")
	for _, k := range s.state.Keys() {
		t, _ := s.state.Target(k)
		fmt.Fprintf(&b, "%s", k)
		if c := t.Cluster; c != nil {
			fmt.Fprintf(&b, " at %s", c.Revision.Hash())
			for i, is := range []bool{c.Delete, c.Abandon, c.Suspension != nil} {
				if is {
					fmt.Fprintf(&b, " %s", []string{"delete", "abandon", "suspended"}[i])
				}
			}
			for _, p := range c.Workers {
				fmt.Fprintf(&b, " %s=%d", p.Name, p.Replicas)
			}
		}
		if slices.Contains(told.Behind, k) {
			b.WriteString(" behind")
		}
		if t.Why != "" {
			fmt.Fprintf(&b, ": %s", t.Why)
		}
		for _, p := range t.Problems {
			fmt.Fprintf(&b, "\n  kept: %s", p.Message)
		}
		b.WriteString("\n")
	}
	for _, p := range slices.Concat(told.Problems, told.Damaged) {
		fmt.Fprintf(&b, "problem %s\n", p)
	}
	if len(told.Orphans) > 0 {
		fmt.Fprintf(&b, "orphans %s\n", strings.Join(names(told.Orphans), " "))
	}
	wanted := s.state.MissingDefinitions()
	revs := slices.Collect(maps.Keys(wanted))
	slices.SortFunc(revs, func(a, b fleet.Revision) int { return strings.Compare(a.Digest, b.Digest) })
	for _, rev := range revs {
		fmt.Fprintf(&b, "wanted of %s: %s\n", rev.Hash(), strings.Join(names(wanted[rev]), " "))
	}
	return b.String()
}

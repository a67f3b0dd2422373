package cli

import (
	"context"
	"fmt"
	"io"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/ownership/pivot"
)

// showSteps shows what a move would do.
func showSteps(ctx context.Context, out io.Writer, p *pivot.Pivot) error {
	steps, err := p.Preview(ctx)
	if err != nil {
		return err
	}
	t := output.Table{Header: []string{"STEP", "STATE", "WHY"}}
	for _, s := range steps {
		t.Add(string(s.Name), string(s.State), s.Why)
	}
	return t.Write(out, output.FormatTable, steps)
}

// stepScreen prints a line for each change of a step.
type stepScreen struct {
	out  io.Writer
	done map[pivot.Name]bool
	last string
}

func (s *stepScreen) show(list []pivot.Step) {
	if s.done == nil {
		s.done = map[pivot.Name]bool{}
	}
	for _, step := range list {
		switch {
		case step.State == pivot.Done && !s.done[step.Name]:
			s.done[step.Name] = true
			s.line("✓ %s", step.Name)
		case step.State == pivot.Now && step.Waits:
			s.line("… %s: %s", step.Name, step.Why)
		case step.State == pivot.Now:
			s.line("→ %s: %s", step.Name, step.Why)
		}
	}
}

func (s *stepScreen) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text != s.last {
		fmt.Fprintln(s.out, text)
	}
	s.last = text
}

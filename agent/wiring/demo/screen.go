package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"fairlead.dev/fleet"
)

// A screen shows the demonstration. On a terminal the lines of the clusters are drawn in
// place; elsewhere a line is written when it changes.
type screen struct {
	out   io.Writer
	fancy bool
	width int // of the terminal

	steps  int
	number int
	drawn  int               // lines that are drawn in place
	last   map[string]string // text last written of each cluster, where nothing is drawn
	begun  time.Time
}

func (s *screen) style(st lipgloss.Style, text string) string {
	if !s.fancy {
		return text
	}
	return st.Render(text)
}

func (s *screen) bold(text string) string { return s.style(lipgloss.NewStyle().Bold(true), text) }
func (s *screen) faint(text string) string {
	return s.style(lipgloss.NewStyle().Faint(true), text)
}

func (s *screen) colour(c string, text string) string {
	return s.style(lipgloss.NewStyle().Foreground(lipgloss.Color(c)), text)
}

// Colours of the terminal's own palette.
const (
	red    = "1"
	green  = "2"
	yellow = "3"
	blue   = "4"
)

func (s *screen) line(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
}

// begin shows the beginning of a step.
func (s *screen) begin(st step) {
	s.number++
	s.line("")
	s.line("%s %s", s.bold(fmt.Sprintf("%d/%d", s.number, s.steps)), s.bold(st.title))
}

// pushed shows the push of a step.
func (s *screen) pushed(st step, revision string) {
	s.begun = time.Now()
	s.drawn = 0
	s.last = make(map[string]string)
	s.line("    %s", s.faint("git push  "+revision[:min(8, len(revision))]+"  "+st.message()))
}

// show shows the clusters.
func (s *screen) show(seen snapshot) {
	lines := s.lines(seen)
	if s.fancy {
		s.redraw(lines)
		return
	}
	for _, l := range lines {
		if s.last[l.key] != l.text {
			s.last[l.key] = l.text
			s.line("    %5.1fs  %s", time.Since(s.begun).Seconds(), l.text)
		}
	}
}

// done shows the end of a step.
func (s *screen) done(seen snapshot, took time.Duration) {
	s.show(seen)
	for _, c := range seen.status.Clusters {
		for _, p := range c.Report.Problems {
			if s.fancy { // a line that was drawn in place may have been cut off
				s.line("    %s", s.faint(p.String()))
			}
		}
	}
	s.line("    %s %s", s.colour(green, "✓"), s.faint(fmt.Sprintf("seen on the status branch (%s) and at the API servers after %.1f s", seen.head.Short(), took.Seconds())))
}

func (s *screen) redraw(lines []line) {
	if s.drawn > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA", s.drawn)
	}
	for _, l := range lines {
		// A line that wraps takes two rows, and would be drawn over in part.
		fmt.Fprintf(s.out, "\r\x1b[K%s\n", lipgloss.NewStyle().MaxWidth(s.width).Render("    "+l.text))
	}
	for range s.drawn - len(lines) {
		fmt.Fprint(s.out, "\r\x1b[K\n")
	}
	s.drawn = max(s.drawn, len(lines))
}

// A line is the text about one thing.
type line struct{ key, text string }

func (s *screen) lines(seen snapshot) []line {
	var out []line
	for _, c := range seen.status.Clusters {
		r := c.Report
		nodes := seen.nodes[r.Cluster]
		ready := 0
		for _, n := range nodes {
			if n.ready {
				ready++
			}
		}
		text := fmt.Sprintf("%-13s %s %s  %s", r.Cluster, s.phase(r.Phase), s.machines(r), s.nodes(ready, len(nodes)))
		out = append(out, line{r.Cluster.String(), strings.TrimRight(text, " ")})
		for _, p := range r.Problems {
			out = append(out, line{r.Cluster.String() + " problem", fmt.Sprintf("%-13s %s", "", s.colour(red, "✗ ")+p.String())})
		}
		if r.Failure != "" {
			out = append(out, line{r.Cluster.String() + " failure", fmt.Sprintf("%-13s %s", "", s.colour(yellow, "! ")+firstLine(r.Failure))})
		}
	}
	return out
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return text
}

func (s *screen) phase(p fleet.Phase) string {
	text := fmt.Sprintf("%-14s", p)
	switch p {
	case fleet.PhaseProvisioned:
		return s.colour(green, text)
	case fleet.PhaseDeleting, fleet.PhaseDeleted:
		return s.colour(red, text)
	}
	return s.colour(blue, text)
}

func (s *screen) nodes(ready, all int) string {
	if all == 0 {
		return s.faint("no nodes")
	}
	return s.faint(fmt.Sprintf("%d of %d nodes ready", ready, all))
}

// machines draws one sign for each machine, the control plane first, and the version that
// most workers run.
func (s *screen) machines(r fleet.Report) string {
	var groups []string
	for _, role := range []fleet.Role{fleet.RoleControlPlane, fleet.RoleWorker} {
		var signs []string
		for _, m := range r.Machines {
			if m.Machine.Role == role {
				signs = append(signs, s.machine(m))
			}
		}
		if len(signs) > 0 {
			groups = append(groups, strings.Join(signs, ""))
		}
	}
	versions := make(map[string]bool)
	for _, m := range r.Machines {
		versions[m.Machine.Version] = true
	}
	var names []string
	for v := range versions {
		names = append(names, v)
	}
	slices.Sort(names)
	width := 22
	text := strings.Join(groups, " + ")
	text += strings.Repeat(" ", max(1, width-lipgloss.Width(text)))
	return text + strings.Join(names, " → ")
}

func (s *screen) machine(m fleet.MachineReport) string {
	switch m.Phase {
	case fleet.MachinePhaseRunning:
		if !m.UpToDate {
			return s.colour(yellow, "●")
		}
		return s.colour(green, "●")
	case fleet.MachinePhaseProvisioned:
		return s.colour(blue, "◐")
	case fleet.MachinePhaseDeleting:
		return s.colour(red, "○")
	case fleet.MachinePhaseFailed:
		return s.colour(red, "✗")
	}
	return s.faint("◌")
}

// indented writes text with each line indented.
func (s *screen) indented(text string) {
	for l := range strings.Lines(text) {
		s.line("    %s", strings.TrimRight(l, " \n"))
	}
}

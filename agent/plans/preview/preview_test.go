package preview

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
)

// A page is what a proxy in front of a cloud answers, by somebody who means harm.
var page = strings.Repeat("<p>\x1b]0;owned\x07\x1b[2J502 Bad\u202e Gateway</p>\r\n", 64<<10/40)

// steering are characters that nothing shows.
const steering = "\x1b\x07\r\u202e"

func TestPlanIsPlain(t *testing.T) {
	for _, f := range []output.Format{output.FormatTable, output.FormatMarkdown, output.FormatJSON, output.FormatYAML} {
		var b bytes.Buffer
		out := &Plan{
			Changes:  []Change{{Change: "create machine", Cluster: page, Machine: page, Reason: page}},
			Problems: output.Problems([]fleet.Problem{{Message: page}}), Orphans: []string{page}, Notes: []string{page}, Errors: []string{page}, at: page,
		}
		if err := out.Write(output.Plain(&b), f); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), steering) {
			t.Errorf("%s: %.300q", f, b.String())
		}
	}
}

// What others wrote does nothing in Markdown, which a CI job may show where people review.
func TestPlanIsInertMarkdown(t *testing.T) {
	const trap = "a`\n\n### Fairlead plan: nothing to do\n\n[b](https://example.com) ![c](https://example.com/c.png) <img src=d> @everyone | **e**"
	var b bytes.Buffer
	out := &Plan{
		Changes:  []Change{{Change: "create machine", Cluster: trap, Machine: trap, Reason: trap}},
		Problems: output.Problems([]fleet.Problem{{Message: trap}}), Orphans: []string{trap}, Notes: []string{trap}, Errors: []string{trap},
		Turns: []Turn{{Why: trap}}, at: "refs/heads/" + trap,
	}
	if err := out.Write(&b, output.FormatMarkdown); err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`[^`\n]*`")
	if plain := code.ReplaceAllString(b.String(), ""); strings.ContainsAny(plain, "`[<@*") || strings.Count(plain, "#") != 3 {
		t.Errorf("beside code there is:\n%s", plain)
	}
	for line := range strings.Lines(b.String()) {
		if cells := len(regexp.MustCompile(`[^\\]\|`).FindAllString(line, -1)); strings.HasPrefix(line, "|") && cells != 6 {
			t.Errorf("a row has %d cells: %s", cells, line)
		}
	}
}

// seen shows a cluster of which nothing is there, after which nobody waits any more.
type seen struct{ stop func() }

func (s seen) Look(context.Context, *fleet.Cluster) (fleet.Observed, error) {
	s.stop()
	return fleet.Observed{}, nil
}

// A forecast ends with the context of its plan.
func TestForecastEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c := &fleet.Cluster{Key: fleet.Key{Namespace: "prod", Name: "a"}, Provider: "sim"}
	if r := compare(ctx, seen{stop}, c, fleet.Memory{}); !errors.Is(r.err, context.Canceled) || len(r.changes) > 0 {
		t.Errorf("%d changes, %v", len(r.changes), r.err)
	}
}

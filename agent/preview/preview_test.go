package preview

import (
	"bytes"
	"strings"
	"testing"

	"fairlead.dev/agent/output"
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

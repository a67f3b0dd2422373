package output

import (
	"bytes"
	"strings"
	"testing"
)

// A page is what a proxy in front of a cloud answers, by somebody who means harm.
var page = strings.Repeat("<p>\x1b]0;owned\x07\x1b[2J502 Bad\u202e Gateway</p>\r\n", 64<<10/40)

// Characters that nothing shows, and those of them that JSON does not hold.
const (
	steering = "\x1b\x07\r\u202e"
	controls = "\x1b\x07\r"
)

// What others say cannot steer a terminal, in whatever format, nor fill the screen.
func TestTablesArePlain(t *testing.T) {
	for _, f := range []Format{FormatTable, FormatMarkdown, FormatJSON, FormatYAML} {
		var b bytes.Buffer
		table := Table{Header: []string{"NAME", "MESSAGE"}}
		table.Add("one", page)
		if err := table.Write(&b, f, map[string]string{"message": page}); err != nil {
			t.Fatal(err)
		}
		unwanted := steering
		if f == FormatJSON || f == FormatYAML {
			unwanted = controls
		}
		if strings.ContainsAny(b.String(), unwanted) {
			t.Errorf("%s: %.200q", f, b.String())
		}
		if (f == FormatTable || f == FormatMarkdown) && b.Len() > 8000 {
			t.Errorf("%s has %d bytes", f, b.Len())
		}
	}
}

func TestScreenIsNotSteered(t *testing.T) {
	if got := unsteered("a\tb\n" + page); strings.ContainsAny(got, steering) || !strings.HasPrefix(got, "a\tb\n<p>") {
		t.Errorf("got %.200q", got)
	}
}

// TestText: cells begin below each other, and no line ends with spaces.
func TestText(t *testing.T) {
	table := Table{Header: []string{"", "CHANGE", "POOL", "REASON"}}
	table.Add("+", "create machine", "", "the pool wants 3")
	table.Add("~", "ändern", "md-0", "")
	var b bytes.Buffer
	if err := table.Text(&b); err != nil {
		t.Fatal(err)
	}
	want := `    CHANGE           POOL   REASON
+   create machine          the pool wants 3
~   ändern           md-0
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

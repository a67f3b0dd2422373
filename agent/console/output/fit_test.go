package output

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// No row is wider than the terminal; what says least is cut first.
func TestFit(t *testing.T) {
	rows := [][]string{{"CLUSTER", "PHASE", "MESSAGE"}, {"prod/eu-1", "Provisioned", strings.Repeat("ü", 200)}}
	fit(rows, 60)
	if rows[1][0] != "prod/eu-1" || rows[1][1] != "Provisioned" || !strings.HasSuffix(rows[1][2], "ü…") {
		t.Errorf("got %q", rows[1])
	}
	if n := utf8.RuneCountInString(strings.Join(rows[1], "   ")); n != 60 {
		t.Errorf("the row is %d wide", n)
	}
	fit(rows, 5) // no terminal is so narrow: it ends
	fit(rows, 0)
}

// Where there is no terminal, a frame writes the lines that are new, and nothing for an equal
// text.
func TestFrame(t *testing.T) {
	var b bytes.Buffer
	f := NewFrame(Plain(&b))
	for _, text := range []string{"NAME  PHASE\na  Workers\nb  Workers\n", "NAME  PHASE\na  Workers\nb  Workers\n", "NAME   PHASE\na   Workers\nb   Provisioned\n"} {
		if err := f.Show(text); err != nil {
			t.Fatal(err)
		}
	}
	if want := "NAME  PHASE\na  Workers\nb  Workers\nb   Provisioned\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// Columns for -o wide are in no other table; JSONPath has the fields of JSON.
func TestForms(t *testing.T) {
	table := Table{Header: []string{"NAME", "LABELS", "MESSAGE"}, Wide: []string{"LABELS"}}
	table.Add("a", "ring=canary", "well")
	v := map[string]any{"clusters": []map[string]string{{"name": "a"}, {"name": "b"}}}
	for form, want := range map[Format]string{
		FormatTable: "NAME   MESSAGE\na      well\n", FormatWide: "NAME   LABELS        MESSAGE\na      ring=canary   well\n",
		FormatName: "a\n", "jsonpath={.clusters[*].name}": "a b\n", FormatMarkdown: "| NAME | MESSAGE |\n| --- | --- |\n| a | well |\n",
	} {
		var b bytes.Buffer
		if err := table.Write(&b, form, v); err != nil || b.String() != want {
			t.Errorf("%s: got\n%s%v", form, b.String(), err)
		}
	}
	if err := Format("jsonpath={.clusters[").Check(); err == nil {
		t.Error("a broken template is taken")
	}
}

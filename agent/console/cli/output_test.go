package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"fairlead.dev/agent/console/output"
)

// page is the answer of a hostile proxy in front of a cloud.
var page = strings.Repeat("<p>\x1b]0;owned\x07\x1b[2J502 Bad\u202e Gateway</p>\r\n", 64<<10/40)

// Invisible characters, and those of them that JSON cannot hold.
const (
	steering = "\x1b\x07\r\u202e"
	controls = "\x1b\x07\r"
)

// Output is free of control characters in pipes and files as on a terminal, unless other
// programs read it.
func TestPipesArePlain(t *testing.T) {
	var b bytes.Buffer
	cmd := New(program("test"), Streams{In: strings.NewReader(""), Out: &b, Err: &b})
	for name, w := range map[string]io.Writer{"output": cmd.OutOrStdout(), "errors": cmd.ErrOrStderr()} {
		b.Reset()
		fmt.Fprintln(w, page)
		if _, err := io.WriteString(w, page); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, strings.NewReader(page)); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), steering) || strings.Count(b.String(), "502 Bad") < 3*1000 {
			t.Errorf("%s: %.200q", name, b.String())
		}
	}
	b.Reset()
	if _, err := output.Exact(cmd.OutOrStdout()).Write([]byte(page)); err != nil || b.String() != page {
		t.Errorf("what is to be exact is %.200q, %v", b.String(), err)
	}
}

// The log has texts of servers up to its bound, and both formats escape them.
func TestLogIsBounded(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		var b bytes.Buffer
		log, err := newLogger(&b, form, "info")
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.Repeat("w", 5000)
		log.Info("failed", "error", errors.New(page), "whole", whole, slog.Group("g", "text", page))
		if strings.ContainsAny(strings.TrimSuffix(b.String(), "\n"), controls+"\n") {
			t.Errorf("%s: %.300q", form, b.String())
		}
		if !strings.Contains(b.String(), whole) || b.Len() > 60_000 {
			t.Errorf("%s: %d bytes", form, b.Len())
		}
	}
}

package fleet_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"fairlead.dev/fleet"
)

func TestPlainText(t *testing.T) {
	page := strings.Repeat("<p>\x1b[2J502 Bad Gateway</p>\r\n", 64<<10/25)
	for text, want := range map[string]string{
		"":                              "",
		"as it is: »ö« 日本":              "as it is: »ö« 日本",
		"two\nlines\tand\r\nmore":       "two lines and  more",
		"\x1b[31mred\x1b[0m":            "\uFFFD[31mred\uFFFD[0m",
		"\x1b]0;title\x07":              "\uFFFD]0;title\uFFFD",
		"\u009b31m":                     "\uFFFD31m",
		"user\u202egnp.exe":             "user\uFFFDgnp.exe",
		"zero\u200bwidth\x00":           "zero\uFFFDwidth\uFFFD",
		"no \xff UTF-8":                 "no \uFFFD UTF-8",
		strings.Repeat("ö", 1000):       strings.Repeat("ö", 1000),
		strings.Repeat("ö", 1001):       strings.Repeat("ö", 1000) + "…",
		strings.Repeat("ö", 1000) + "…": strings.Repeat("ö", 1000) + "…",
		page:                            firstRunes(page, 1000) + "…",
	} {
		got := fleet.PlainText(text)
		if got != want {
			t.Errorf("%.80q\nis   %.80q\nwant %.80q", text, got, want)
		}
		if again := fleet.PlainText(got); again != got {
			t.Errorf("%.80q is cut again: %.80q", got, again)
		}
		if n := utf8.RuneCountInString(got); n > 1001 {
			t.Errorf("%.80q has %d runes", got, n)
		}
	}
	if n := utf8.RuneCountInString(fleet.PlainLines(page)); n != 4001 {
		t.Errorf("the lines of a page have %d runes", n)
	}
	if got, want := fleet.PlainLines("a\x1b\n\tb\x1b\n"), "a\uFFFD\n\tb\uFFFD\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// firstRunes returns n runes of text, in place of each control character what stands for it.
func firstRunes(text string, n int) string {
	return string([]rune(strings.NewReplacer("\x1b", "\uFFFD", "\r", " ", "\n", " ").Replace(text))[:n])
}

func TestOneLine(t *testing.T) {
	if got, want := fleet.OneLine(errors.New(" two\n\tlines ")), "two lines"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := fleet.OneLine(errors.New(strings.Repeat("é", 501))); got != strings.Repeat("é", 500)+"…" {
		t.Errorf("a long error is cut to %d bytes", len(got))
	}
}

package userdata

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// The bounds of values that count as secrets.
const (
	leastSecret = 6
	mostSecrets = 4000
)

// Secrets returns the words of the user data that may be secrets, sorted: those that no
// log which people see may have. Passwords of users are; of the rest, words with a digit
// and a letter that are no version, path, address or variable of the machine. A word too
// many costs a word of a log.
func Secrets(data []byte, m Metadata) ([]string, error) {
	c, err := read(data, m)
	if err != nil {
		return nil, err
	}
	out := make(map[string]bool)
	add := func(text string) {
		for _, w := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`=:,;@()<>{}[]|&", r) }) {
			if mayBeSecret(w) {
				out[w] = true
			}
		}
	}
	for _, f := range c.WriteFiles {
		if content, err := f.Decoded(); err == nil {
			add(string(content))
		}
	}
	plain := func(word string) string { return word }
	for _, command := range slices.Concat(c.BootCmd, c.RunCmd) {
		if line, err := command.Line(plain); err == nil {
			add(line)
		}
	}
	users, err := c.NewUsers()
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		if len(u.Passwd) >= leastSecret {
			out[u.Passwd] = true
		}
	}
	for _, known := range m.variables() {
		delete(out, known)
	}
	list := slices.Sorted(maps.Keys(out))
	return list[:min(len(list), mostSecrets)], nil
}

// mayBeSecret reports whether a word looks made up: it has letters and digits, and is
// no path, name in DNS, version or unit.
func mayBeSecret(w string) bool {
	if len(w) < leastSecret || strings.HasPrefix(w, "/") || strings.HasPrefix(w, "-") || strings.HasPrefix(w, "$") {
		return false
	}
	letters, digits := 0, 0
	for _, r := range w {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	if letters == 0 || digits == 0 {
		return len(w) >= 32 // a key in base64, by a small chance
	}
	return !strings.Contains(w, ".") && !strings.HasPrefix(w, "v1")
}

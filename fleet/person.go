package fleet

import (
	"slices"
	"strings"
)

// An Approver is a person who approved of what waits.
type Approver struct {
	By  string // "Name <mail>"
	Key string // whose key signed the request, as the trusted keys name them; empty: no keys are required
}

// Approver returns the person who makes the request.
func (r Request) Approver() Approver { return Approver{By: r.By, Key: r.Signer} }

// IsBy reports whether a is the person who makes the request, by the names of that person, too.
func (r Request) IsBy(a Approver) bool {
	return a.Same(r.Approver()) || slices.ContainsFunc(r.Names, a.in)
}

// Wrote reports whether the person who makes the request is one of authors, each as Person has it.
func (r Request) Wrote(authors []string) bool {
	return r.Approver().Wrote(authors) || slices.ContainsFunc(r.Names, func(p string) bool { return slices.Contains(authors, p) })
}

// Same reports whether a and b are one person, by their addresses and keys.
func (a Approver) Same(b Approver) bool { return slices.ContainsFunc(a.persons(), b.in) }

// Wrote reports whether a is one of authors, each as Person has it.
func (a Approver) Wrote(authors []string) bool {
	return slices.ContainsFunc(a.persons(), func(p string) bool { return slices.Contains(authors, p) })
}

func (a Approver) in(person string) bool { return slices.Contains(a.persons(), person) }

func (a Approver) persons() []string {
	out := []string{Person(a.By), Person(a.Key)}
	for principal := range strings.SplitSeq(a.Key, ",") {
		out = append(out, Person(principal))
	}
	return slices.DeleteFunc(out, func(p string) bool { return p == "" })
}

// Person returns what tells people apart: the address in "Name <mail>", and the whole text if it has
// none, in lower case.
func Person(text string) string {
	if _, mail, ok := strings.Cut(text, "<"); ok {
		if mail, _, ok = strings.Cut(mail, ">"); ok && strings.TrimSpace(mail) != "" {
			text = mail
		}
	}
	return strings.ToLower(strings.TrimSpace(text))
}

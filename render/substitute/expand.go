package substitute

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNesting bounds expressions in defaults of expressions.
const maxNesting = 8

// maxTrim bounds the length of values that are matched against patterns, which is slow.
const maxTrim = 1024

// A syntaxError is an expression that is not understood.
type syntaxError struct{ message, hint string }

const keepHint = "write $${ to keep it for a shell"

// An expander fills in one text. It collects names without a value.
type expander struct {
	*Substituter
	unset   []string
	doubled bool // the text has $$ that escapes neither an expression nor another $$
}

var nameStart = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)

// expand returns text with its expressions filled in.
func (e *expander) expand(text string, nesting int) (string, *syntaxError) {
	if nesting > maxNesting {
		return "", &syntaxError{"expressions are nested too deep", "simplify the default"}
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, "$")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		switch {
		case strings.HasPrefix(after, "$$$"): // two dollar signs on purpose
			b.WriteString("$$")
			text = after[3:]
			continue
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			text = after[1:]
			e.doubled = e.doubled || !strings.HasPrefix(text, "{")
			continue
		case !strings.HasPrefix(after, "{"):
			b.WriteByte('$')
			text = after
			continue
		}
		body, rest, ok := closing(after[1:])
		if !ok {
			return "", &syntaxError{fmt.Sprintf("the expression $%s is not closed", shorten(after)), "close it with }, or " + keepHint}
		}
		value, err := e.expression(body, nesting)
		if err != nil {
			return "", err
		}
		if b.Len()+len(value) > maxOutput {
			return "", &syntaxError{fmt.Sprintf("substitution makes more than %d bytes", maxOutput), "use shorter values"}
		}
		b.WriteString(value)
		text = rest
	}
}

// closing splits s at the brace that closes an open expression. Braces inside it come in
// pairs.
func closing(s string) (body, rest string, ok bool) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return s[:i], s[i+1:], true
			}
			depth--
		}
	}
	return "", "", false
}

// isOne reports whether text is exactly one expression.
func isOne(text string) bool {
	after, ok := strings.CutPrefix(text, "${")
	if !ok {
		return false
	}
	_, rest, ok := closing(after)
	return ok && rest == ""
}

// expression returns the value of ${body}.
func (e *expander) expression(body string, nesting int) (string, *syntaxError) {
	name := nameStart.FindString(body)
	operator := body[len(name):]
	if bare := strings.TrimSpace(body); bare != "" && bare == nameStart.FindString(bare) {
		name, operator = bare, "" // clusterctl reads ${ NAME } as ${NAME}
	}
	value, set := e.Values[name]
	if name == "" {
		return "", unsupported(body)
	}
	if e.Used != nil {
		e.Used(name)
	}
	for _, op := range []string{":=", ":-", "=", "-"} {
		text, ok := strings.CutPrefix(operator, op)
		if !ok {
			continue
		}
		if set && (value != "" || len(op) == 1) {
			return value, nil
		}
		return e.expand(text, nesting+1)
	}
	if operator != "" && !strings.ContainsAny(operator[:1], "%#") {
		return "", unsupported(body)
	}
	if !set {
		if !e.AllowUnset && !slices.Contains(e.unset, name) {
			e.unset = append(e.unset, name)
		}
		return "${" + body + "}", nil
	}
	if operator != "" && len(value)+len(operator) > maxTrim {
		return "", &syntaxError{fmt.Sprintf("the value of %s is too long to be trimmed", name), "set a variable with the part that is needed"}
	}
	return trim(value, operator), nil
}

func unsupported(body string) *syntaxError {
	return &syntaxError{
		fmt.Sprintf("the expression ${%s} is not supported", shorten(body)),
		"use ${NAME} or ${NAME:=default}, or " + keepHint,
	}
}

// trim applies one of the operators % %% # ## to value.
func trim(value, operator string) string {
	if operator == "" {
		return value
	}
	op := operator[:1]
	pattern, greedy := strings.CutPrefix(operator[1:], op)
	// The beginnings or ends of value, the shortest first.
	for n := range len(value) + 1 {
		if greedy {
			n = len(value) - n
		}
		if cut := len(value) - n; op == "%" && !isBoundary(value, cut) || op == "#" && !isBoundary(value, n) {
			continue // in the middle of a character
		}
		if op == "%" && match(pattern, value[len(value)-n:]) {
			return value[:len(value)-n]
		}
		if op == "#" && match(pattern, value[:n]) {
			return value[n:]
		}
	}
	return value
}

// isBoundary reports whether no character of s begins before i and ends after it.
func isBoundary(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }

// match reports whether s as a whole matches pattern, in which * is any text and ? any
// character. It backtracks to the last * only, so it is quadratic at worst.
func match(pattern, s string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, size := utf8.DecodeRuneInString(s[i:])
			p++
			i += size
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// IsName reports whether s can be the name of a variable.
func IsName(s string) bool { return s != "" && nameStart.FindString(s) == s }

package cloudconfig

import (
	"fmt"
	"regexp"
	"strings"
)

// cloud-init renders with trim_blocks: the line's end after a block goes with it.
var (
	jinjaRaw      = regexp.MustCompile(`(?s)\{%-?\s*raw\s*-?%\}\n?(.*?)\{%-?\s*endraw\s*-?%\}\n?`)
	jinjaToken    = regexp.MustCompile(`(?s)\{\{-?\s*(.*?)\s*-?\}\}|\{%|\{#`)
	jinjaVariable = regexp.MustCompile(`^[a-zA-Z0-9_]+(?:\.[a-zA-Z0-9_]+|\[(?:'[^']*'|"[^"]*")\])*$`)
	jinjaKey      = regexp.MustCompile(`\[['"]([^'"]*)['"]\]`)
)

// render replaces the variables of text, where it says that it is a template. Of
// statements it knows raw alone; others give ErrTemplate.
func (r Reader) render(text string) (string, error) {
	if !headed(text, "## template: jinja") {
		return text, nil
	}
	_, text, _ = strings.Cut(text, "\n")
	var out strings.Builder
	for len(text) > 0 {
		plain, raw := text, ""
		if at := jinjaRaw.FindStringSubmatchIndex(text); at != nil {
			plain, raw, text = text[:at[0]], text[at[2]:at[3]], text[at[1]:]
		} else {
			text = ""
		}
		var failed error
		out.WriteString(jinjaToken.ReplaceAllStringFunc(plain, func(token string) string {
			value, err := r.value(jinjaToken.FindStringSubmatch(token)[1])
			if err != nil {
				failed = err
			}
			return value
		}))
		if failed != nil {
			return "", failed
		}
		out.WriteString(raw)
	}
	return out.String(), nil
}

// value returns what expression stands for.
func (r Reader) value(expression string) (string, error) {
	if !jinjaVariable.MatchString(expression) {
		return "", ErrTemplate
	}
	name := jinjaKey.ReplaceAllString(expression, ".$1")
	// a['b-c'] and a.b_c are the same: a name with a hyphen has an alias without.
	if v, ok := r.Variables[strings.ReplaceAll(name, "-", "_")]; ok {
		return v, nil
	}
	if r.Strict {
		return "", fmt.Errorf("the user data asks for {{ %s }}, which this machine does not have", expression)
	}
	return "CI_MISSING_JINJA_VAR/" + name[strings.LastIndex(name, ".")+1:], nil // cloud-init's own mark
}

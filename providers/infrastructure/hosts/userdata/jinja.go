package userdata

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

// render replaces the variables of a template. Of statements it knows raw alone;
// those, and variables that nothing defines, are errors.
func render(text string, vars map[string]string) (string, error) {
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
			expression := jinjaToken.FindStringSubmatch(token)[1]
			if !jinjaVariable.MatchString(expression) {
				failed = fmt.Errorf("the user data has a Jinja expression that is more than a variable")
				return ""
			}
			// a['b-c'] and a.b_c are the same: a name with a hyphen has an alias without.
			name := strings.ReplaceAll(jinjaKey.ReplaceAllString(expression, ".$1"), "-", "_")
			value, ok := vars[name]
			if !ok {
				failed = fmt.Errorf("the user data asks for {{ %s }}, which hosts do not have", expression)
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

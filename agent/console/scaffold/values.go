package scaffold

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Variables that have flags of their own.
const (
	ClusterName  = "CLUSTER_NAME"
	Version      = "KUBERNETES_VERSION"
	ControlPlane = "CONTROL_PLANE_MACHINE_COUNT"
	Workers      = "WORKER_MACHINE_COUNT"
)

// variable matches what is replaced in a manifest, with its default. Two dollars escape one.
var variable = regexp.MustCompile(`(\$*)\$\{([A-Z_][A-Z0-9_]*)(?::=([^}]*))?\}`)

// variablesOf returns the variables in text, with their defaults there.
func variablesOf(text string) map[string]string {
	out := make(map[string]string)
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		if len(m[1])%2 == 0 && out[m[2]] == "" {
			out[m[2]] = m[3]
		}
	}
	return out
}

// setting matches a line that sets a variable: its indent, name, value and comment.
var setting = regexp.MustCompile(`^( +)([A-Z_][A-Z0-9_]*): *("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^#]*?)( +#.*)?$`)

// settingsOf returns what the lines of text set, without substitution.
func settingsOf(text string) map[string]string {
	out := make(map[string]string)
	for line := range strings.Lines(text) {
		if m := setting.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			out[m[2]] = m[3]
		}
	}
	return out
}

// set returns text with the line that sets name to value. Where there is no such line it
// comes last, indented as the others are.
func set(text, name, value string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if m := setting.FindStringSubmatch(line); m != nil && m[2] == name {
			lines[i] = m[1] + name + ": " + scalar(value, m[3]) + m[4]
			return strings.Join(lines, "\n") + "\n"
		}
	}
	return strings.Join(append(lines, "  "+name+": "+scalar(value, "")), "\n") + "\n"
}

// plainScalar matches what YAML reads as text without quotes.
var plainScalar = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9./_-]*$`)

// scalar returns value as YAML in the place of what was there. A list stays one.
func scalar(value, was string) string {
	if strings.HasPrefix(was, "[") && strings.HasPrefix(value, "[") && !strings.ContainsAny(value, "\n#") {
		return value
	}
	switch strings.ToLower(value) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
	default:
		if plainScalar.MatchString(value) {
			return value
		}
	}
	b, _ := json.Marshal(value) // of a string; YAML reads JSON
	return string(b)
}

// unquoted returns the text of a scalar that is written as in the examples.
func unquoted(text string) string {
	switch {
	case len(text) > 1 && text[0] == '"':
		var out string
		if json.Unmarshal([]byte(text), &out) == nil {
			return out
		}
	case len(text) > 1 && text[0] == '\'':
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	}
	return text
}

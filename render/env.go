package render

import (
	"fmt"
	"strings"

	"fairlead.dev/render/substitute"
)

// parseEnv adds the values in data to values. A line is NAME=value, "export "
// before it is allowed; the value may be in single or double quotes, in which
// nothing is special: godotenv would expand variables and escapes there. Empty lines and lines that begin with # are skipped.
func parseEnv(data []byte, values map[string]string) error {
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !substitute.IsName(name) {
			return fmt.Errorf("line %d is not NAME=value", number)
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		values[name] = value
	}
	return nil
}

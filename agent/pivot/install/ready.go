package install

import (
	"context"
	"fmt"
	"strings"
)

// Answers implements pivot.Home. An API server that comes up lists all that it
// checks; the error names what of it is not there yet.
func (h *Home) Answers(ctx context.Context) error {
	body, err := h.rest.Get().AbsPath("/readyz").DoRaw(ctx)
	if err != nil {
		if missing := failing(string(body)); len(missing) > 0 {
			err = fmt.Errorf("it is not ready: %s", some(missing))
		}
	}
	return failed("reach the API server of the home", err)
}

// failing returns the checks that failed, of a list of them as
// https://kubernetes.io/docs/reference/using-api/health-checks/ shows it.
func failing(list string) (out []string) {
	for line := range strings.Lines(list) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(check), " ")
			out = append(out, name)
		}
	}
	return out
}

// some returns the first few of a list.
func some(list []string) string {
	const few = 3
	if len(list) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
	}
	return strings.Join(list, ", ")
}

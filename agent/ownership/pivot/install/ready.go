package install

import (
	"context"
	"fmt"
	"strings"
)

// CheckReady implements pivot.Home. While an API server starts it lists its checks; the
// error names those that fail.
func (h *Home) CheckReady(ctx context.Context) error {
	body, err := h.rest.Get().AbsPath("/readyz").DoRaw(ctx)
	if err != nil {
		if missing := failing(string(body)); len(missing) > 0 {
			err = fmt.Errorf("it is not ready: %s", firstOf(missing))
		}
	}
	return classify("reach the API server of the home", err)
}

// failing returns the names of the checks that failed, from a list in the form of
// https://kubernetes.io/docs/reference/using-api/health-checks/.
func failing(list string) (out []string) {
	for line := range strings.Lines(list) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(check), " ")
			out = append(out, name)
		}
	}
	return out
}

// firstOf joins the first few items of a list.
func firstOf(list []string) string {
	const few = 3
	if len(list) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
	}
	return strings.Join(list, ", ")
}

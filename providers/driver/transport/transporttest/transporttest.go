// Package transporttest writes down what a provider makes of the answers of its service.
package transporttest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"fairlead.dev/fleet"
)

// An Answer is what a service may answer a request of that method with.
type Answer struct{ Method, Body string }

// Table returns, for each of answers, a line for each kind and text of the errors that wrap makes of
// it, with the statuses from 300 to 599 that have them.
func Table(answers []Answer, wrap func(method string, status int, body string) error) string {
	var out strings.Builder
	for _, a := range answers {
		fmt.Fprintf(&out, "%s %s\n", a.Method, a.Body)
		var results []string
		statuses := make(map[string][]int)
		for status := 300; status < 600; status++ {
			err := wrap(a.Method, status, a.Body)
			text := err.Error()
			if e, ok := errors.AsType[*fleet.Error](err); ok {
				text = e.Err.Error()
			}
			if a.Body == "" {
				text = strings.Replace(text, strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status))), "STATUS", 1)
			}
			result := string(fleet.KindOf(err)) + ": " + strings.TrimSpace(text)
			if statuses[result] == nil {
				results = append(results, result)
			}
			statuses[result] = append(statuses[result], status)
		}
		for _, result := range results {
			fmt.Fprintf(&out, "  %s\n    %s\n", result, ranges(statuses[result]))
		}
	}
	return out.String()
}

// ranges writes statuses that follow each other as first-last.
func ranges(statuses []int) string {
	var out []string
	for first, i := 0, 0; i < len(statuses); i++ {
		if i+1 < len(statuses) && statuses[i+1] == statuses[i]+1 {
			continue
		}
		text := strconv.Itoa(statuses[first])
		if first < i {
			text += "-" + strconv.Itoa(statuses[i])
		}
		out, first = append(out, text), i+1
	}
	return strings.Join(out, " ")
}

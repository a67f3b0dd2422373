package topology

import (
	"errors"
	"fmt"
	"strings"
)

// Values runs the template of a chart's values with data, and returns what it
// prints as JSON. It has the functions of patches, and is bounded like one. A
// variable that is not there is an error that names it and its line.
func Values(text string, data map[string]any) ([]byte, error) {
	e := newEngine()
	e.budget = &budget{left: maxWork}
	json, err := e.value(text, data)
	if errors.Is(err, errWork) {
		return nil, errors.New("the template takes too much work")
	}
	if err == nil || !strings.Contains(err.Error(), noValue) {
		return json, err
	}
	t, parseErr := e.parse(text)
	if parseErr != nil {
		return nil, parseErr
	}
	if _, strict := e.run(t.Option("missingkey=error"), data); strict != nil {
		return nil, fmt.Errorf("%w; Git has no value there", strict)
	}
	return nil, err
}

package health

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Limit is how many unhealthy machines a health check acts on. The zero Limit is none.
type Limit struct {
	AtMost *intstr.IntOrString // a number, or a percentage of all machines
	Range  string              // "[1-3]"; goes before AtMost
}

// Allows reports whether a check acts where so many of all machines are unhealthy. A limit
// that cannot be read allows nothing.
func (l Limit) Allows(unhealthy, total int) bool {
	if l.Range != "" {
		from, to, ok := strings.Cut(strings.Trim(l.Range, "[]"), "-")
		low, errLow := strconv.Atoi(from)
		high, errHigh := strconv.Atoi(to)
		return ok && errLow == nil && errHigh == nil && low <= unhealthy && unhealthy <= high
	}
	if l.AtMost == nil {
		return true
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(l.AtMost, total, false)
	return err == nil && unhealthy <= most
}

// String says for people how many unhealthy machines the check acts on.
func (l Limit) String() string {
	switch {
	case l.Range != "":
		return strings.Replace(strings.Trim(l.Range, "[]"), "-", " to ", 1)
	case l.AtMost == nil:
		return "any number"
	}
	return "at most " + l.AtMost.String()
}

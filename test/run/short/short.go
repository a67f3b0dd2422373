// Package short decides how much of a long test runs. Tests that try something many times
// (random histories, crash points, large fleets) run a short form by default and the whole
// form if FAIRLEAD_TEST_ALL is set, as `make test-all` does. Each of them says in its log
// that it ran its short form; test/run/report counts these lines.
package short

import (
	"flag"
	"os"
	"testing"
)

// Form reports whether t runs its short form, and logs it.
func Form(t testing.TB) bool {
	t.Helper()
	if Whole() {
		return false
	}
	Log(t)
	return true
}

// Log says that a test runs its short form.
func Log(t interface{ Log(args ...any) }) { t.Log("short form; make test-all runs the whole one") }

// Number returns how often t tries: n in the short form, all in the whole form.
func Number(t testing.TB, n, all int) int {
	t.Helper()
	if Form(t) {
		return n
	}
	return all
}

// Of returns n of the items in the short form, evenly spread and with the first, and all
// items in the whole form.
func Of[T any](t testing.TB, n int, items []T) []T {
	t.Helper()
	if len(items) <= n || !Form(t) {
		return items
	}
	some := make([]T, 0, n)
	for i := range n {
		some = append(some, items[i*len(items)/n])
	}
	return some
}

// Flag gives a flag of a test program its value of the short form, which the command line
// can change. It is called by TestMain.
func Flag(name, value string) {
	if Whole() {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// Whole reports whether tests run their whole form.
func Whole() bool { return os.Getenv("FAIRLEAD_TEST_ALL") != "" }

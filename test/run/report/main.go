// Command report reads the events of `go test -json` and prints what `go test` would: a line
// for each package, and the output of what failed. It ends with what was skipped and how to
// run it. With -times it reads a file that an earlier run kept and prints the slowest packages.
//
//	go test -json ./... | go run ./test/run/report -keep bin/test.json
//	go run ./test/run/report -times bin/test.json
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	keep := flag.String("keep", "", "file to keep the times of packages in")
	times := flag.String("times", "", "file of times to print the ten slowest packages of")
	flag.Parse()
	var err error
	if *times != "" {
		err = printTimes(os.Stdout, *times)
	} else {
		err = run(os.Stdin, os.Stdout, *keep)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// An event is what `go test -json` prints on a line: cmd/test2json documents it.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Elapsed    float64
	Output     string
}

// A report counts events and remembers the output of tests that may fail.
type report struct {
	out    io.Writer
	output map[string]*strings.Builder // by package and test
	counts map[string]int              // by action, of tests that have no subtests, and of all that failed
	parent map[string]bool             // tests with subtests
	begun  map[string]bool             // tests without an end so far, by package and test
	hung   []string                    // tests that the end of their package left without one
	ways   map[string]int              // how skipped tests run, and how many need it
	short  int
	failed bool
	times  []Time
}

// A Time is how long the tests of a package took, in seconds.
type Time struct {
	Package string
	Seconds float64
	Cached  bool
}

// run prints in's events to out, and keeps times in a file if keep names one. Its error says
// that something failed.
func run(in io.Reader, out io.Writer, keep string) error {
	r := &report{out: out, output: map[string]*strings.Builder{}, counts: map[string]int{}, parent: map[string]bool{}, begun: map[string]bool{}, ways: map[string]int{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if err != nil {
			break
		}
	}
	fmt.Fprintln(out, r.summary())
	if keep != "" {
		if err := write(keep, r.times); err != nil {
			return err
		}
	}
	if r.failed || r.counts["fail"] > 0 {
		return fmt.Errorf("tests failed")
	}
	return nil
}

func write(file string, times []Time) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(times, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// line takes one line of input. A line that is no event is printed unchanged.
func (r *report) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(r.out, "%s", line)
		return
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.failed = true
	case "run":
		r.begun[e.Package+" "+e.Test] = true
		if i := strings.LastIndex(e.Test, "/"); i >= 0 {
			r.parent[e.Package+" "+e.Test[:i]] = true
		}
	case "output":
		r.noteOutput(e)
	case "pass", "fail", "skip":
		r.end(e)
	}
}

func (r *report) noteOutput(e event) {
	if e.Test == "" {
		if strings.HasPrefix(e.Output, "ok ") || strings.HasPrefix(e.Output, "FAIL\t") || strings.HasPrefix(e.Output, "panic: ") {
			fmt.Fprint(r.out, e.Output)
			if strings.Contains(e.Output, "(cached)") {
				r.times = append(r.times, Time{Package: e.Package, Cached: true})
			}
			return
		}
	} else if strings.Contains(e.Output, "short form; make test-all") {
		r.short++
	}
	if strings.HasPrefix(e.Output, "=== ") {
		return // a test begins, pauses or goes on
	}
	at := e.Package + " " + e.Test
	if r.output[at] == nil {
		r.output[at] = &strings.Builder{}
	}
	r.output[at].WriteString(e.Output)
}

// end takes the end of a test, or of a package where e names no test.
func (r *report) end(e event) {
	at := e.Package + " " + e.Test
	text := ""
	if b := r.output[at]; b != nil {
		text = b.String()
	}
	delete(r.output, at)
	delete(r.begun, at)
	if e.Action == "fail" && text != "" {
		fmt.Fprint(r.out, text)
	}
	if e.Test == "" {
		r.failed = r.failed || e.Action == "fail"
		if !slices.ContainsFunc(r.times, func(t Time) bool { return t.Package == e.Package }) {
			r.times = append(r.times, Time{Package: e.Package, Seconds: e.Elapsed})
		}
		if e.Action == "fail" {
			r.unfinished(e.Package)
		}
		return
	}
	if e.Action == "skip" {
		r.ways[way(text)]++
	}
	if !r.parent[at] || e.Action == "fail" {
		r.counts[e.Action]++
	}
}

// unfinished prints the output of tests that a package's end left without one, as a panic
// or a time limit does, and remembers those without subtests.
func (r *report) unfinished(pkg string) {
	for _, at := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(at, pkg+" ") {
			fmt.Fprint(r.out, r.output[at].String())
			delete(r.output, at)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(r.begun)) {
		if strings.HasPrefix(at, pkg+" ") {
			if !r.parent[at] {
				r.hung = append(r.hung, at)
			}
			delete(r.begun, at)
		}
	}
}

var ways = regexp.MustCompile("make [a-z0-9][a-z0-9-]*|apt-get install [a-z0-9.-]+|npm install --global [a-z-]+|FAIRLEAD_[A-Z0-9_]+")

// way returns what a skipped test says that it needs.
func way(text string) string {
	switch found := ways.FindString(text); {
	case strings.HasPrefix(found, "FAIRLEAD_"):
		return "set " + found
	case found != "":
		return found
	}
	return "another machine"
}

// summary is the last lines: counts, then what runs the rest.
func (r *report) summary() string {
	names := slices.SortedFunc(maps.Keys(r.ways), func(a, b string) int { return 2*(r.ways[b]-r.ways[a]) + strings.Compare(a, b) })
	rest := []string{}
	if r.short > 0 {
		rest = append(rest, fmt.Sprintf("make test-all (%d in short form here)", r.short))
	}
	for _, name := range names {
		rest = append(rest, fmt.Sprintf("%s (%d)", name, r.ways[name]))
	}
	line := fmt.Sprintf("%d passed, %d failed, %d skipped", r.counts["pass"], r.counts["fail"], r.counts["skip"])
	if len(rest) > 0 {
		line = "Not run here, and what runs it: " + strings.Join(rest, ", ") + "\n" + line
	}
	for _, at := range r.hung {
		line += "\nwithout an end: " + at
	}
	return line
}

// printTimes prints the ten slowest packages of a file that run kept, and the sum of all.
func printTimes(out io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the times of the last `make test`: %w", err)
	}
	var times []Time
	if err := json.Unmarshal(text, &times); err != nil {
		return fmt.Errorf("cannot read %s: %w", file, err)
	}
	slices.SortStableFunc(times, func(a, b Time) int { return int(1000 * (b.Seconds - a.Seconds)) })
	sum, cached := 0.0, 0
	for i, t := range times {
		sum += t.Seconds
		if t.Cached {
			cached++
		}
		if i < 10 && !t.Cached {
			fmt.Fprintf(out, "%8.1f s  %s\n", t.Seconds, t.Package)
		}
	}
	_, err = fmt.Fprintf(out, "%8.1f s  in %d packages, and %d cached\n", sum, len(times)-cached, cached)
	return err
}

// Command costs builds fairlead with an empty cache and prints what each Go module in it
// costs: packages, CPU seconds to compile, and megabytes of code and data in the program.
// Linux only.
//
//	go run ./test/bench/costs
package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

const program = "./agent/cmd/fairlead"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A cost is that of one module.
type cost struct {
	module   string
	packages int
	seconds  float64
	bytes    uint64
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "fairlead-costs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	modules, err := modulesOf(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "building with an empty cache: some minutes")
	graph, binary := filepath.Join(dir, "graph.json"), filepath.Join(dir, "fairlead")
	build := exec.CommandContext(ctx, "go", "build", "-debug-actiongraph="+graph, "-o", binary, program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOCACHE="+filepath.Join(dir, "cache"))
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("cannot build %s: %w", program, err)
	}
	costs := make(map[string]*cost)
	for _, module := range modules {
		if costs[module] == nil {
			costs[module] = &cost{module: module}
		}
		costs[module].packages++
	}
	link, errGraph := addSeconds(costs, modules, graph)
	return errors.Join(errGraph, addBytes(costs, modules, binary), show(costs, link, binary))
}

// modulesOf returns the module of each package of the program; "std" is the standard library.
func modulesOf(ctx context.Context) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{else}}std{{end}}", program).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the packages of %s: %w", program, err)
	}
	modules := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		pkg, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		modules[pkg] = module
	}
	return modules, nil
}

// addSeconds reads the action graph of a build. It returns what linking took.
func addSeconds(costs map[string]*cost, modules map[string]string, graph string) (link float64, err error) {
	text, err := os.ReadFile(graph)
	if err != nil {
		return 0, err
	}
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys int64 // nanoseconds
	}
	if err := json.Unmarshal(text, &actions); err != nil {
		return 0, fmt.Errorf("cannot read the action graph of the build: %w", err)
	}
	for _, a := range actions {
		seconds := float64(a.CmdUser+a.CmdSys) / 1e9
		switch c := costs[modules[a.Package]]; {
		case a.Mode == "link":
			link += seconds
		case c != nil:
			c.seconds += seconds
		}
	}
	return link, nil
}

// addBytes reads the symbols of the program.
func addBytes(costs map[string]*cost, modules map[string]string, binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return fmt.Errorf("cannot read the symbols of the program: %w", err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("cannot read the symbols of the program: %w", err)
	}
	for _, s := range symbols {
		if c := costs[modules[packageOf(s.Name)]]; c != nil && int(s.Section) < len(f.Sections) && f.Sections[s.Section].Type != elf.SHT_NOBITS {
			c.bytes += s.Size
		}
	}
	return nil
}

// packageOf returns the package of a symbol such as "example.com/m/p.(*T).F".
func packageOf(symbol string) string {
	name, _, _ := strings.Cut(symbol, "[")
	slash := strings.LastIndex(name, "/") + 1
	rest, _, _ := strings.Cut(name[slash:], ".")
	return strings.ReplaceAll(name[:slash]+rest, "%2e", ".")
}

// show prints the 25 modules that cost most, and the sum of all.
func show(costs map[string]*cost, link float64, binary string) error {
	all := slices.SortedFunc(maps.Values(costs), func(a, b *cost) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.module, b.module))
	})
	var out bytes.Buffer
	row := func(c *cost) {
		fmt.Fprintf(&out, "| %s | %d | %.1f | %.1f |\n", c.module, c.packages, c.seconds, float64(c.bytes)/1e6)
	}
	fmt.Fprint(&out, "| module | packages | CPU seconds | MB |\n|---|---:|---:|---:|\n")
	const most = 25
	rest, sum := &cost{}, &cost{module: "all modules"}
	for i, c := range all {
		sum.packages, sum.seconds, sum.bytes = sum.packages+c.packages, sum.seconds+c.seconds, sum.bytes+c.bytes
		if i < most {
			row(c)
			continue
		}
		rest.packages, rest.seconds, rest.bytes = rest.packages+c.packages, rest.seconds+c.seconds, rest.bytes+c.bytes
		rest.module = fmt.Sprintf("%d others", i+1-most)
	}
	row(rest)
	row(sum)
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	fmt.Fprintf(&out, "\nLinking takes %.1f CPU seconds. The program has %.0f MB with its symbols.\n", link, float64(info.Size())/1e6)
	_, err = out.WriteTo(os.Stdout)
	return err
}

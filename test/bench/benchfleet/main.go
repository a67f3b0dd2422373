// Command benchfleet measures whole fleets: a real Git server, an agent and an in-memory
// cloud in separate processes, and clusters without simulated delay. It prints a Markdown
// table. With -base it measures two programs alternately, so that other load affects both.
//
//	go run ./test/bench/benchfleet -fairlead bin/fairlead
//	go run ./test/bench/benchfleet -fairlead bin/fairlead -run 'create-10$'
//	go run ./test/bench/benchfleet -fairlead bin/fairlead -run 'waves-40$'
//	go run ./test/bench/benchfleet -fairlead bin/fairlead -run 'whole-1000$'
//	go run ./test/bench/benchfleet -fairlead bin/fairlead -base bin/fairlead-base -pairs 5
//	go run ./test/bench/benchfleet -fairlead bin/fairlead -run 'create-3000$' -profile /tmp/profiles
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/test/bench/process"
	"fairlead.dev/test/run/ports"
)

// settings are the flags.
type settings struct {
	binary, base string
	pairs        int
	which        string
	cloud        string // address to serve a cloud at; empty: measure
	keep         bool
	profile      string // folder; empty: none
}

func main() {
	var s settings
	flag.StringVar(&s.binary, "fairlead", "bin/fairlead", "the program to measure")
	flag.StringVar(&s.base, "base", "", "a program to compare it with")
	flag.IntVar(&s.pairs, "pairs", 3, "how often to measure each program, with -base")
	flag.StringVar(&s.which, "run", "", "regular expression of the measurements to make; empty: all")
	flag.BoolVar(&s.keep, "keep", false, "keep the folders with logs")
	flag.StringVar(&s.profile, "profile", "", "folder for profiles of the agent: its CPU each half minute, and its heap at the end")
	flag.StringVar(&s.cloud, cloudFlag, "", "serve an in-memory cloud at this address, and measure nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "benchfleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	if s.cloud != "" {
		return serveCloud(ctx, s.cloud)
	}
	only, err := regexp.Compile(s.which)
	if err != nil {
		return err
	}
	programs := []string{s.binary}
	if s.base != "" {
		programs = append(programs, s.base)
	} else {
		s.pairs = 1
	}
	printHead(len(programs) > 1)
	for _, m := range measurements() {
		if !only.MatchString(m.name) || m.apart && s.which == "" {
			continue
		}
		runs := make([][][]figure, len(programs))
		for i := range s.pairs {
			for j := range programs {
				j = (i + j) % len(programs) // which is first changes from pair to pair
				figures, err := measure(ctx, programs[j], m, s)
				if err != nil {
					return fmt.Errorf("%s with %s: %w", m.name, programs[j], err)
				}
				runs[j] = append(runs[j], figures)
			}
		}
		printRows(m.name, runs)
	}
	return nil
}

func printHead(compared bool) {
	if compared {
		fmt.Println("| measurement | figure | new | base | new/base |\n|---|---|---|---|---|")
		return
	}
	fmt.Println("| measurement | figure | result |\n|---|---|---|")
}

// printRows prints the median of each figure over the runs of a program, of which
// there are one or two.
func printRows(name string, runs [][][]figure) {
	for i, f := range runs[0][0] {
		row := fmt.Sprintf("| %s | %s |", name, f.name)
		var medians []float64
		for _, program := range runs {
			medians = append(medians, median(program, i))
			row += fmt.Sprintf(" %.4g %s |", medians[len(medians)-1], f.unit)
		}
		if len(medians) > 1 {
			ratio := "-"
			if medians[1] > 0 {
				ratio = fmt.Sprintf("%.2f", medians[0]/medians[1])
			}
			row += " " + ratio + " |"
		}
		fmt.Println(row)
	}
}

// median returns the median of figure i over runs.
func median(runs [][]figure, i int) float64 {
	var values []float64
	for _, figures := range runs {
		values = append(values, figures[i].value)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func measure(ctx context.Context, binary string, m measurement, s settings) (result []figure, err error) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if s.keep || err != nil {
			fmt.Fprintln(os.Stderr, m.name+": logs are in "+dir)
			return
		}
		os.RemoveAll(dir)
	}()
	server, err := gitserver.New(dir, gitserver.Options{})
	if err != nil {
		return nil, err
	}
	path, err := server.Init("fleet.git")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = h.Serve(l) }() // ends with Close
	defer h.Close()
	b := &bench{repo: repository{dir: path}}
	if err := b.repo.commit("base", shape{}, 0, 0, true); err != nil {
		return nil, err
	}
	if err := b.start(ctx, binary, "http://"+l.Addr().String()+"/fleet.git", dir, m.clusters, s.profile != ""); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.agent.Stop(), b.cloud.Stop()) }()
	if s.profile == "" {
		return m.do(ctx, b)
	}
	profiling, done := context.WithCancel(ctx)
	go b.agent.profileCPU(profiling, s.profile)
	result, err = m.do(ctx, b)
	done()
	return result, errors.Join(err, b.agent.profile(ctx, filepath.Join(s.profile, "heap.pprof"), "heap"))
}

// start runs the cloud and the agent of the program at binary on the repository at
// source, with all that they write in dir.
func (b *bench) start(ctx context.Context, binary, source, dir string, clusters int, profiling bool) error {
	var addresses [2]string
	for i := range addresses {
		var err error
		if addresses[i], err = ports.Free(); err != nil {
			return err
		}
	}
	command, err := cloudCommand(binary, addresses[0], clusters)
	if err != nil {
		return err
	}
	cloud, err := process.Start(dir, "cloud", command[0], command[1:]...)
	if err != nil {
		return err
	}
	if err := cloud.Serves(ctx, "http://"+addresses[0]); err != nil {
		return errors.Join(err, cloud.Stop())
	}
	b.cloud, b.listen = cloud, addresses[1]
	b.binary, b.source, b.at, b.dir, b.profiling = binary, source, "http://"+addresses[0], dir, profiling
	if err := b.startAgent(ctx, "agent"); err != nil {
		return errors.Join(err, cloud.Stop())
	}
	return nil
}

// startAgent starts the agent, which logs as called.
func (b *bench) startAgent(ctx context.Context, called string) error {
	p, err := process.Start(b.dir, called, b.binary, "agent", "--source", b.source, "--listen", b.listen,
		"--interval", "500ms", "--secrets", filepath.Join(b.dir, "secrets"), "--inmemory-url", b.at, fmt.Sprintf("--pprof=%t", b.profiling))
	if err != nil {
		return err
	}
	b.agent = &agent{Process: p, listen: b.listen}
	if err := p.Serves(ctx, "http://"+b.listen+"/metrics"); err != nil {
		return errors.Join(err, p.Stop())
	}
	return nil
}

// say tells what a long measurement has so far.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

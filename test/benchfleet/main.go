// Command benchfleet measures whole fleets: a real Git server, the agent in a
// process of its own with its embedded in-memory infrastructure, clusters
// without simulated delay. It prints a Markdown table.
//
//	go run ./test/benchfleet -fairlead bin/fairlead
//	go run ./test/benchfleet -fairlead bin/fairlead -run 'create-10$'
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
	"time"

	"fairlead.dev/sources/git/gitserver"
)

const (
	oldVersion = "v1.33.5"
	newVersion = "v1.34.1"
)

func main() {
	binary := flag.String("fairlead", "bin/fairlead", "the program to measure")
	which := flag.String("run", "", "regular expression of the measurements to make; empty: all")
	keep := flag.Bool("keep", false, "keep the folders with logs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *binary, *which, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "benchfleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary, which string, keep bool) error {
	only, err := regexp.Compile(which)
	if err != nil {
		return err
	}
	fmt.Println("| measurement | result |")
	fmt.Println("|---|---|")
	for _, m := range measurements() {
		if !only.MatchString(m.name) {
			continue
		}
		result, err := measure(ctx, binary, m, keep)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("| %s | %s |\n", m.name, result)
	}
	return nil
}

// A measurement is made with a fresh repository, server and agent.
type measurement struct {
	name string
	do   func(context.Context, *bench) (string, error)
}

// A bench is what a measurement works with.
type bench struct {
	repo  repository
	agent *agent
}

func measure(ctx context.Context, binary string, m measurement, keep bool) (result string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return "", err
	}
	defer func() {
		if keep || err != nil {
			fmt.Fprintln(os.Stderr, m.name+": logs are in "+dir)
			return
		}
		os.RemoveAll(dir)
	}()
	server, err := gitserver.New(dir, gitserver.Options{})
	if err != nil {
		return "", err
	}
	path, err := server.Init("fleet.git")
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	h := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = h.Serve(l) }() // ends with Close
	defer h.Close()
	b := &bench{repo: repository{dir: path}}
	if err := b.repo.commit("base", shape{}, 0, 0, true); err != nil {
		return "", err
	}
	listen, err := freeAddress()
	if err != nil {
		return "", err
	}
	if b.agent, err = start(binary, "http://"+l.Addr().String()+"/fleet.git", listen, filepath.Clean(dir)); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.agent.stop()) }()
	if err := b.agent.until(ctx, 50*time.Millisecond, func(sight) bool { return true }); err != nil {
		return "", err
	}
	return m.do(ctx, b)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func measurements() []measurement {
	small := shape{controlPlanes: 1, workers: 1, version: oldVersion}
	var out []measurement
	for _, n := range []int{1, 10, 50, 100, 1000} {
		out = append(out, measurement{fmt.Sprintf("create-%d", n), func(ctx context.Context, b *bench) (string, error) {
			return b.create(ctx, small, n)
		}})
	}
	for _, n := range []int{100, 1000} {
		out = append(out, measurement{fmt.Sprintf("idle-%d", n), func(ctx context.Context, b *bench) (string, error) {
			return b.idle(ctx, small, n)
		}})
	}
	for _, n := range []int{50, 100} {
		out = append(out, measurement{fmt.Sprintf("delete-%d", n), func(ctx context.Context, b *bench) (string, error) {
			return b.remove(ctx, small, n)
		}})
	}
	return append(out,
		measurement{"push-one-of-1000", func(ctx context.Context, b *bench) (string, error) { return b.push(ctx, small, 1000) }},
		measurement{"scale", func(ctx context.Context, b *bench) (string, error) { return b.push(ctx, small, 1) }},
		measurement{"create-3+10-and-upgrade", func(ctx context.Context, b *bench) (string, error) { return b.upgrade(ctx) }},
	)
}

// provisioned returns a test for n clusters with all machines running.
func provisioned(n int) func(sight) bool {
	return func(s sight) bool { return s.count("Provisioned") >= n }
}

func (s sight) count(phase string) (n int) {
	for _, p := range s.clusters {
		if p == phase {
			n++
		}
	}
	return n
}

// every returns how often to look at n clusters, so that looking is cheap
// beside what is looked at.
func every(n int) time.Duration {
	return max(50*time.Millisecond, time.Duration(n)*time.Millisecond)
}

func (b *bench) create(ctx context.Context, s shape, n int) (string, error) {
	before, err := b.agent.usage()
	if err != nil {
		return "", err
	}
	started := time.Now()
	if err := b.repo.commit("create", s, 0, n, false); err != nil {
		return "", err
	}
	var first, ninth time.Duration // when the first hundred and all but a hundred were there
	err = b.agent.until(ctx, every(n), func(seen sight) bool {
		have := seen.count("Provisioned")
		if first == 0 && have >= 100 {
			first = time.Since(started)
		}
		if ninth == 0 && have >= n-100 {
			ninth = time.Since(started)
		}
		return have >= n
	})
	if err != nil {
		return "", err
	}
	took := time.Since(started)
	after, err := b.agent.usage()
	if err != nil {
		return "", err
	}
	result := fmt.Sprintf("%.1f s, %.1f CPU s, %d MiB peak", took.Seconds(), after.cpu-before.cpu, after.peak)
	if n > 200 {
		result += fmt.Sprintf("; first 100: %.1f s, last 100: %.1f s, ratio %.2f",
			first.Seconds(), (took - ninth).Seconds(), (took-ninth).Seconds()/first.Seconds())
	}
	return result, nil
}

func (b *bench) idle(ctx context.Context, s shape, n int) (string, error) {
	if _, err := b.create(ctx, s, n); err != nil {
		return "", err
	}
	const settle, window = 30 * time.Second, 2 * time.Minute
	if err := wait(ctx, settle); err != nil {
		return "", err
	}
	before, err := b.agent.usage()
	if err != nil {
		return "", err
	}
	if err := wait(ctx, window); err != nil {
		return "", err
	}
	after, err := b.agent.usage()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.4f core, %d MiB", (after.cpu-before.cpu)/window.Seconds(), after.rss), nil
}

func (b *bench) remove(ctx context.Context, s shape, n int) (string, error) {
	if _, err := b.create(ctx, s, n); err != nil {
		return "", err
	}
	s.deleted = true
	started := time.Now()
	if err := b.repo.commit("delete", s, 0, n, false); err != nil {
		return "", err
	}
	err := b.agent.until(ctx, every(n), func(seen sight) bool { return seen.count("Deleted")+n-len(seen.clusters) >= n })
	return fmt.Sprintf("%.1f s", time.Since(started).Seconds()), err
}

// push scales one of n clusters and tells when the new machine was asked for
// and when it had joined, by what the agent logs: looking at the metrics of a
// thousand clusters would take longer than what is measured.
func (b *bench) push(ctx context.Context, s shape, n int) (string, error) {
	if _, err := b.create(ctx, s, n); err != nil {
		return "", err
	}
	if err := wait(ctx, 5*time.Second); err != nil {
		return "", err
	}
	s.workers++
	log, err := b.agent.follow()
	if err != nil {
		return "", err
	}
	defer log.Close()
	started := time.Now()
	if err := b.repo.commit("scale", s, n/2, n/2+1, false); err != nil {
		return "", err
	}
	cluster := "cluster=default/" + name(n/2)
	if err := log.until(ctx, cluster, "action=CreateMachine"); err != nil {
		return "", err
	}
	planned := time.Since(started)
	err = log.until(ctx, cluster, "action=SyncNode")
	return fmt.Sprintf("%.2f s to the plan, %.2f s to the new machine joined (polled every 0.5 s)",
		planned.Seconds(), time.Since(started).Seconds()), err
}

func (b *bench) upgrade(ctx context.Context) (string, error) {
	s := shape{controlPlanes: 3, workers: 10, version: oldVersion}
	created, err := b.create(ctx, s, 1)
	if err != nil {
		return "", err
	}
	s.version = newVersion
	started := time.Now()
	if err := b.repo.commit("upgrade", s, 0, 1, false); err != nil {
		return "", err
	}
	if err := b.agent.until(ctx, 50*time.Millisecond, func(seen sight) bool { return seen.count("Provisioned") == 0 }); err != nil {
		return "", err
	}
	err = b.agent.until(ctx, 50*time.Millisecond, provisioned(1))
	return fmt.Sprintf("created: %s; upgraded in %.1f s", created, time.Since(started).Seconds()), err
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

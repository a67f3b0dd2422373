// Command benchcapi measures Cluster API as benchfleet measures Fairlead: the managers of a
// release with their in-memory infrastructure provider, on a real kube-apiserver and etcd,
// and clusters without simulated delay. It prints a Markdown table. Beside each number of
// clusters it has benchfleet create as many.
//
//	go run ./test/bench/benchcapi -benchfleet bin/benchfleet -fairlead bin/fairlead
//	go run ./test/bench/benchcapi -clusters 10
//
// The managers come from the Go module proxy and are built once, in the user's cache
// directory. The servers come from make kube. Each measurement begins with an empty etcd.
//
// The managers have the default flags, the feature gates of Cluster API's end-to-end tests,
// and all their webhooks. They differ from an installation in this: they are processes of an
// administrator on one machine, elect no leader and serve no metrics; no
// kube-controller-manager runs; etcd does not wait for the disk. The in-memory provider
// takes the ports 19000, and 20000 and upwards, one for each cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

// settings are the flags.
type settings struct {
	clusters   string
	limit      time.Duration
	benchfleet string
	binary     string
	keep       bool
}

func main() {
	var s settings
	flag.StringVar(&s.clusters, "clusters", "10,50,100", "numbers of clusters to measure, separated by commas")
	flag.DurationVar(&s.limit, "limit", 30*time.Minute, "time limit of each measurement")
	flag.StringVar(&s.benchfleet, "benchfleet", "", "benchfleet program that measures Fairlead beside; empty: none")
	flag.StringVar(&s.binary, "fairlead", "bin/fairlead", "the program that benchfleet measures")
	flag.BoolVar(&s.keep, "keep", false, "keep the folders with logs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "benchcapi:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	var numbers []int
	for text := range strings.SplitSeq(s.clusters, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("invalid -clusters %q: must be numbers separated by commas", s.clusters)
		}
		numbers = append(numbers, n)
	}
	built, err := build(ctx)
	if err != nil {
		return err
	}
	fmt.Println("| measurement | figure | result |\n|---|---|---|")
	var failed error
	for _, n := range numbers {
		figures, err := measure(ctx, built, n, s)
		for _, f := range figures {
			fmt.Printf("| capi-%d | %s | %s |\n", n, f.name, strings.TrimSpace(fmt.Sprintf("%.4g %s", f.value, f.unit)))
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%d clusters: %w", n, err))
		}
		if err := beside(ctx, s, n); err != nil {
			return err
		}
	}
	return failed
}

// beside has benchfleet create n clusters, and prints its rows.
func beside(ctx context.Context, s settings, n int) error {
	if s.benchfleet == "" {
		return nil
	}
	before, err := load()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, s.benchfleet, "-fairlead", s.binary, "-run", fmt.Sprintf("^create-%d$", n))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	const head = 2 // lines
	rows := strings.SplitAfter(string(out), "\n")
	fmt.Print(strings.Join(rows[min(head, len(rows)):], ""))
	fmt.Printf("| create-%d | load before | %.4g |\n", n, before)
	return nil
}

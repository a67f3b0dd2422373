package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/test/bench/process"
)

// An agent is a `fairlead agent` in its own process. It uses the in-memory cloud of another
// process.
type agent struct {
	*process.Process
	listen string
}

// A sample is what the agent's metrics say at one time.
type sample struct {
	phases   map[string]int // clusters by phase
	problems int            // that the agent found in the repository
}

// count returns how many clusters are in that phase.
func (s sample) count(phase string) int { return s.phases[phase] }

// all returns how many clusters there are.
func (s sample) all() (n int) {
	for _, in := range s.phases {
		n += in
	}
	return n
}

// look reads the metrics. Programs that have no totals show each cluster.
func (a *agent) look(ctx context.Context) (sample, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.listen+"/metrics", nil)
	if err != nil {
		return sample{}, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return sample{}, err
	}
	defer res.Body.Close()
	return readSample(res.Body)
}

func readSample(text io.Reader) (sample, error) {
	totals, each := map[string]int{}, map[string]int{}
	s := sample{phases: totals}
	for lines := bufio.NewScanner(text); ; {
		if !lines.Scan() {
			if len(totals) == 0 {
				s.phases = each
			}
			return s, lines.Err()
		}
		series, number, _ := strings.Cut(lines.Text(), " ")
		metric, labels, _ := strings.Cut(series, "{")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || value == 0 {
			continue
		}
		_, phase, _ := strings.Cut(labels, `phase="`)
		phase, _, _ = strings.Cut(phase, `"`)
		switch metric {
		case "fairlead_fleet_problems":
			s.problems = int(value)
		case "fairlead_clusters":
			totals[phase] += int(value)
		case "fairlead_cluster_phase":
			each[phase]++
		}
	}
}

// until samples the metrics until done returns true.
func (a *agent) until(ctx context.Context, every time.Duration, done func(sample) bool) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var seen sample
	for {
		s, err := a.look(ctx)
		if err == nil {
			seen = s
			if s.problems > 0 {
				return fmt.Errorf("the agent found %d problems in the fleet; its log is %s", s.problems, a.Log)
			}
			if done(s) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case err := <-a.Ended:
			return fmt.Errorf("the agent ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("gave up: %w; clusters by phase: %v", ctx.Err(), seen.phases)
		}
	}
}

// A log is what the agent logs from some time on.
type log struct {
	*os.File
	text bytes.Buffer
}

// follow returns the log from now on. Close it.
func (a *agent) follow() (*log, error) {
	f, err := os.Open(a.Log)
	if err != nil {
		return nil, err
	}
	_, err = f.Seek(0, io.SeekEnd)
	return &log{File: f}, err
}

// until waits for a line with all of words.
func (l *log) until(ctx context.Context, words ...string) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := l.text.ReadFrom(l.File); err != nil {
			return err
		}
		for {
			line, err := l.text.ReadString('\n')
			if err != nil { // the line is not whole yet
				l.text.WriteString(line)
				break
			}
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("nothing logged with %q: %w", words, ctx.Err())
		}
	}
}

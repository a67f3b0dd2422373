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
)

// An agent is a `fairlead agent` in its own process. It uses the in-memory cloud of another
// process.
type agent struct {
	*process
	listen string
}

// A sample is what the agent's metrics say at one time.
type sample struct {
	clusters map[string]string         // name to phase
	machines map[string]map[string]int // cluster to phase to count
	desired  map[string]int            // cluster to replicas of its worker pool
	problems int                       // that the agent found in the repository
}

// look reads the metrics.
func (a *agent) look(ctx context.Context) (sample, error) {
	s := sample{clusters: map[string]string{}, machines: map[string]map[string]int{}, desired: map[string]int{}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.listen+"/metrics", nil)
	if err != nil {
		return s, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		metric, labels, value, ok := parse(lines.Text())
		if !ok || value == 0 {
			continue
		}
		switch metric {
		case "fairlead_fleet_problems":
			s.problems = int(value)
		case "fairlead_cluster_phase":
			s.clusters[labels["name"]] = labels["phase"]
		case "capi_machine_status_phase":
			c := labels["cluster_name"]
			if s.machines[c] == nil {
				s.machines[c] = map[string]int{}
			}
			s.machines[c][labels["phase"]]++
		case "capi_machinedeployment_spec_replicas":
			s.desired[labels["cluster_name"]] = int(value)
		}
	}
	return s, lines.Err()
}

// parse reads one line of the Prometheus text format.
func parse(line string) (metric string, labels map[string]string, value float64, ok bool) {
	if number, found := strings.CutPrefix(line, "fairlead_fleet_problems "); found {
		value, err := strconv.ParseFloat(number, 64)
		return "fairlead_fleet_problems", nil, value, err == nil
	}
	if !strings.HasPrefix(line, "capi_machine") && !strings.HasPrefix(line, "fairlead_cluster_phase") {
		return "", nil, 0, false
	}
	metric, rest, ok := strings.Cut(line, "{")
	body, number, ok2 := strings.Cut(rest, "} ")
	value, err := strconv.ParseFloat(number, 64)
	if !ok || !ok2 || err != nil {
		return "", nil, 0, false
	}
	labels = map[string]string{}
	for pair := range strings.SplitSeq(body, ",") {
		k, v, _ := strings.Cut(pair, "=")
		labels[k] = strings.Trim(v, `"`)
	}
	return metric, labels, value, true
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
				return fmt.Errorf("the agent found %d problems in the fleet; its log is %s", s.problems, a.log)
			}
			if done(s) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case err := <-a.ended:
			return fmt.Errorf("the agent ended: %w", err)
		case <-ctx.Done():
			phases := map[string]int{}
			for _, p := range seen.clusters {
				phases[p]++
			}
			return fmt.Errorf("gave up: %w; clusters by phase: %v", ctx.Err(), phases)
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
	f, err := os.Open(a.log)
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

package takeover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

// A world is a fleet with at most one agent.
type world struct {
	Fleet
	t    *testing.T
	stop func() // ends the agent
}

// start starts an agent, and returns the file of its log.
func (w *world) start(name, program string) string {
	w.t.Helper()
	log, err := os.Create(filepath.Join(w.Logs, name+".log"))
	if err != nil {
		w.t.Fatal(err)
	}
	args := []string{
		"agent", "--source", w.Source, "--name", "test", "--secrets", w.Secrets, "--listen", "",
		"--interval", "1s", "--status-interval", "1s", "--log-level", "debug",
	}
	cmd := exec.CommandContext(context.WithoutCancel(w.t.Context()), program, append(args, w.Flags...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
		if err := errors.Join(<-ended, log.Close()); err != nil {
			w.t.Errorf("%s ended: %v; its log is %s", program, err, log.Name())
		}
	})
	w.t.Cleanup(w.stop)
	return log.Name()
}

// run runs a program to its end, and returns what it prints.
func (w *world) run(program string, args ...string) string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), program, args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// plan returns what a program would do, and an error unless it is nothing.
func (w *world) plan(program string) (string, error) {
	args := append([]string{"plan", w.Source, "--secrets", w.Secrets}, w.Flags...)
	out, err := exec.CommandContext(w.t.Context(), program, args...).CombinedOutput()
	return string(out), err
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), "git", append([]string{"--git-dir", w.Bare}, args...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// report reads what the status branch has of the cluster.
func (w *world) report() (fleet.Report, error) {
	r, err := git.New(git.Options{URL: w.Source, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fleet.Report{}, err
	}
	b, err := r.Branch("fairlead/status", git.BranchOptions{})
	if err != nil {
		return fleet.Report{}, err
	}
	_, tree, err := b.Read(w.t.Context())
	if err != nil {
		return fleet.Report{}, err
	}
	s, err := status.Read(tree)
	if err != nil {
		return fleet.Report{}, err
	}
	c, ok := s.Cluster(w.Cluster)
	if !ok {
		return fleet.Report{}, fmt.Errorf("no report of %s; problems of the fleet: %v", w.Cluster, s.Fleet.Problems)
	}
	return c.Report, nil
}

// reach waits until the cluster has one control-plane machine and that many workers.
func (w *world) reach(workers int) (r fleet.Report) {
	w.t.Helper()
	w.wait(fmt.Sprintf("a cluster of 1+%d", workers), func() (bool, string) {
		var err error
		if r, err = w.report(); err != nil {
			return false, err.Error()
		}
		for _, p := range r.Pools {
			n := 1
			if p.Role == fleet.RoleWorker {
				n = workers
			}
			if p.Desired != n || p.Current != n || p.Ready != n || p.UpToDate != n {
				return false, describe(r)
			}
		}
		return r.Phase == fleet.PhaseProvisioned && len(r.Machines) == 1+workers && r.Failure == "", describe(r)
	})
	return r
}

// wait polls until done says so.
func (w *world) wait(what string, done func() (bool, string)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		ok, seen := done()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("%s did not come about within %s; at last: %s", what, patience, seen)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// describe says how a cluster is.
func describe(r fleet.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s", r.Phase, r.Endpoint.Host)
	for _, p := range r.Pools {
		fmt.Fprintf(&b, ", %s %d/%d ready, %d up to date", p.Name, p.Ready, p.Desired, p.UpToDate)
	}
	for _, m := range r.Machines {
		fmt.Fprintf(&b, "\n  %s %s %s %s", m.Machine.Name, m.Phase, m.Machine.State, m.Machine.Message)
	}
	fmt.Fprintf(&b, "\n  waiting: %v, failure: %s", r.Waiting, r.Failure)
	return b.String()
}

package wiring

import (
	"bytes"
	"context"
	"log/slog"
	"path"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
)

// TestStatusIsNotWrittenToTheFollowedBranch: a fleet.yaml that names the branch of the fleet as status branch leaves the
// status where it is.
func TestStatusIsNotWrittenToTheFollowedBranch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ref, path string }{"named": {ref: "main"}, "whole name": {ref: "refs/heads/main"}, "default branch": {}, "in a folder": {path: "fleets/f"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const definition = "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\n"
			f, secrets := newForge(t), t.TempDir()
			f.push(path.Join(c.path, "fleet.yaml"), definition)
			var log bytes.Buffer
			run := func(status string, until func() bool) {
				s := Settings{
					Built: builtIn(), Source: f.url, Ref: c.ref, Path: c.path, Secrets: secrets, StatusInterval: 10 * time.Millisecond,
					Log: slog.New(slog.NewTextHandler(&log, nil)),
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				m := metrics.New("v0")
				w, err := OpenRuntime(ctx, s, ReadWrite, m)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				a, err := NewAgent(s, agent.Options{Name: "fairlead", Interval: 100 * time.Millisecond, Resync: time.Minute, Workers: 1, StatusBranch: status}, w, m)
				if err != nil {
					t.Fatal(err)
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = a.Run(ctx) // judged by what is on the branches
				}()
				for ctx.Err() == nil && !until() {
					time.Sleep(50 * time.Millisecond)
				}
				cancel()
				<-done
			}
			count := func(branch string) int {
				f.git("fetch", "--quiet", f.bare, "+refs/heads/*:refs/remotes/x/*")
				if !strings.Contains(f.git("branch", "--remotes"), "x/"+branch) {
					return 0
				}
				return strings.Count(f.git("log", "--format=%h", "x/"+branch), "\n") + 1
			}
			main := count("main")
			said := func() bool {
				return count("main") != main || strings.Contains(log.String(), "the status would replace the fleet")
			}
			run("main", said) // a new fleet, by a flag
			if got := count("main"); got != main || !said() {
				t.Errorf("main has %d commits, want %d: %s", got, main, log.String())
			}
			log.Reset()
			const branch = "fairlead/status"
			run("", func() bool {
				return count(branch) > 0 && strings.Contains(f.git("ls-tree", "--name-only", "x/"+branch), "fleet.yaml")
			})
			before := count(branch)
			f.push(path.Join(c.path, "fleet.yaml"), definition+"spec: {status: {branch: main}}\n")
			main = count("main")
			run("", func() bool { return count(branch) > before || count("main") != main })
			if got := count("main"); got != main {
				t.Errorf("main has %d commits, want %d: %s", got, main, f.git("log", "--format=%s", "x/main"))
			}
			if count(branch) <= before {
				t.Errorf("the agent does not go on at %s: %s", branch, log.String())
			}
			if text := f.git("show", "x/main:"+path.Join(c.path, "fleet.yaml")); !strings.Contains(text, "kind: Fleet\n") {
				t.Errorf("fleet.yaml of main is %s", text)
			}
			if want := "the status would replace the fleet"; !strings.Contains(log.String(), want) {
				t.Errorf("nothing says %q: %s", want, log.String())
			}
		})
	}
}

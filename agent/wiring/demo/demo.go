// Package demo demonstrates Fairlead live: pushes to a Git repository become running
// clusters on the in-memory infrastructure, or in containers, and commits with their status.
//
// A step counts only when it can be seen from outside: on the status branch of the
// repository, and at the API servers of the clusters.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
)

// statusBranch is the default, which the example's fleet.yaml keeps.
const statusBranch = "fairlead/status"

// Options configure a demonstration.
type Options struct {
	Out     io.Writer
	Width   int  // width of Out, where that is a terminal to draw on; else 0
	Keep    bool // leave everything running at the end, until ctx ends
	Version string
	Built   wiring.Built
	Docker  *Docker // nil: the clusters are on the in-memory infrastructure
}

// demo is a demonstration that runs.
type demo struct {
	o          Options
	story      *story
	dir        string
	repoURL    string
	listen     string
	page       string
	settings   wiring.Settings
	world      *wiring.Runtime
	repository *repository
	observer   *observer
	screen     *screen
	ended      chan error // error of an agent that ended too early
}

// cleanLimit is how long the demonstration removes what it left.
const cleanLimit = 3 * time.Minute

// Run runs the demonstration. The error names the step that failed.
func Run(ctx context.Context, o Options) error {
	d := &demo{o: o, story: inMemoryStory(), ended: make(chan error, 1), screen: &screen{out: o.Out, fancy: o.Width > 0, width: o.Width}}
	var err error
	if o.Docker != nil {
		if d.story, err = newDockerStory(ctx, o.Docker, o.Keep); err != nil {
			d.explain(err)
			return err
		}
	}
	if d.dir, err = os.MkdirTemp("", "fairlead-demo-"); err != nil {
		return err
	}
	d.screen.steps = len(d.story.steps)
	started := time.Now()
	err = d.run(ctx, started)
	cleaning, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer stop()
	if left := d.story.clean(cleaning); left != nil {
		d.screen.line("%s %v", d.screen.colour(red, "✗"), left)
		err = errors.Join(err, left)
	}
	if err == nil || ctx.Err() != nil {
		_ = os.RemoveAll(d.dir) // a folder for temporary files
		return err
	}
	d.explain(err)
	return err
}

func (d *demo) run(ctx context.Context, started time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	logs, err := os.Create(d.logFile())
	if err != nil {
		return err
	}
	defer logs.Close()
	log := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))

	stopGit, err := d.serveGit(ctx, log)
	if err != nil {
		return err
	}
	defer stopGit()
	stopAgent, err := d.startAgent(ctx, log)
	if err != nil {
		return err
	}
	defer stopAgent()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	d.introduce()
	for _, s := range d.story.steps {
		if err := d.runStep(ctx, s); err != nil {
			return err
		}
	}
	if err := d.conclude(ctx, started); err != nil {
		return err
	}
	if d.o.Keep {
		return d.keep(ctx)
	}
	return nil
}

func (d *demo) logFile() string { return filepath.Join(d.dir, "agent.log") }

// prepare makes the clone to push from, and the observer.
func (d *demo) prepare(ctx context.Context) error {
	var err error
	if d.repository, err = newRepository(ctx, filepath.Join(d.dir, "clone"), d.repoURL, d.story.files); err != nil {
		return err
	}
	branch, err := d.settings.OpenBranch(statusBranch)
	if err != nil {
		return err
	}
	d.observer = &observer{
		branch: branch, clusters: d.story.clusters,
		kubeconfig: func(ctx context.Context, k fleet.Key) (fleet.Secret, error) {
			data, err := d.world.Secrets.Get(ctx, k, fleet.Kubeconfig)
			return data[fleet.KubeconfigKey], err
		},
	}
	return nil
}

func (d *demo) introduce() {
	s := d.screen
	s.line("%s", s.bold(d.story.headline))
	s.line("")
	s.line("  fleet repository   %s", d.repoURL)
	s.line("  agent              %s/metrics", d.listen)
	s.line("  page               %s", d.page)
	s.line("")
	s.line("  %s", s.faint("each sign is a machine:  ◌ being made  ◐ running, not yet a ready node  ● ready  ○ on its way out"))
}

// conclude shows the log of the status branch.
func (d *demo) conclude(ctx context.Context, started time.Time) error {
	if _, err := d.repository.git(ctx, "fetch", "--quiet", "origin", statusBranch); err != nil {
		return err
	}
	count, err := d.repository.git(ctx, "rev-list", "--count", "FETCH_HEAD")
	if err != nil {
		return err
	}
	out, err := d.repository.git(ctx, "log", "--format=%C(auto)%h %<(100,trunc)%s", "--max-count=24", "FETCH_HEAD")
	if err != nil {
		return err
	}
	s := d.screen
	s.line("")
	s.line("%s %s", s.bold("git log "+statusBranch), s.faint("(the newest of "+count+" commits)"))
	s.indented(out)
	body, err := d.repository.git(ctx, "log", "--format=%B", "--max-count=1", "--grep=outdated", "FETCH_HEAD")
	if err != nil {
		return err
	}
	if body != "" {
		s.line("")
		s.line("%s", s.bold("Each commit says why, for which revision, and who did it:"))
		s.indented(body)
	}
	s.line("")
	s.line("%s", s.colour(green, fmt.Sprintf("✓ %s, in %.0f s", d.story.ending, time.Since(started).Seconds())))
	return nil
}

// explain says where to look after a failure.
func (d *demo) explain(err error) {
	s := d.screen
	s.line("")
	s.line("%s %v", s.colour(red, "✗"), err)
	if f, ok := errors.AsType[*failure](err); ok {
		s.line("")
		s.line("Last seen:")
		for _, l := range s.lines(f.seen) {
			s.line("    %s", l.text)
		}
		for k, nodes := range f.seen.nodes {
			for _, n := range nodes {
				s.line("    %s: node %s %s ready=%v", k, n.name, n.version, n.ready)
			}
		}
		for _, c := range f.seen.status.Clusters {
			for _, w := range c.Report.Waiting {
				s.line("    %s waits for %s", c.Report.Cluster, w)
			}
		}
	}
	if d.dir == "" {
		return
	}
	s.line("")
	s.line("The agent's log is %s, the repositories are beside it.", d.logFile())
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// whole measures what people and monitoring see of n clusters: how they come up, the agent at rest, a push that scales
// one of them, /metrics, the commands, the status branch, and an agent that starts over all of them.
func (b *bench) whole(ctx context.Context, s shape, n int) ([]figure, error) {
	var out []figure
	for _, part := range []struct {
		name string
		do   func(context.Context, shape, int) ([]figure, error)
	}{{"create", b.create}, {"idle", b.rest}, {"push", b.pushed}, {"metrics", b.scrape}, {"command", b.commands}, {"status branch", b.branch}, {"restart", b.restart}} {
		figures, err := part.do(ctx, s, n)
		for _, f := range figures {
			out = append(out, figure{part.name + ": " + f.name, f.unit, f.value})
			say("%s: %s: %.4g %s", part.name, f.name, f.value, f.unit)
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return out, nil
}

// rest measures the agent while nothing happens.
func (b *bench) rest(ctx context.Context, _ shape, _ int) ([]figure, error) {
	const settle, window = 30 * time.Second, time.Minute
	if err := wait(ctx, settle); err != nil {
		return nil, err
	}
	spent, err := b.spent(func() error { return wait(ctx, window) })
	if err != nil {
		return nil, err
	}
	out := []figure{{"agent", "core", 0}, {"cloud", "core", 0}, {"agent memory", "MiB", 0}}
	for _, f := range spent {
		switch f.name {
		case "agent CPU":
			out[0].value = f.value / window.Seconds()
		case "cloud CPU":
			out[1].value = f.value / window.Seconds()
		case "agent memory":
			out[2].value = f.value
		}
	}
	return out, nil
}

// pushed scales one cluster, and measures when its machine was requested, when the status branch had the new revision,
// and when the machine joined.
func (b *bench) pushed(ctx context.Context, s shape, n int) ([]figure, error) {
	s.workers++
	log, err := b.agent.follow()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	started := time.Now()
	if err := b.repo.commit("scale", s, n/2, n/2+1, false); err != nil {
		return nil, err
	}
	revision, err := b.repo.git(ctx, "rev-parse", "main")
	if err != nil {
		return nil, err
	}
	onBranch := make(chan error, 1)
	var written time.Duration
	go func() {
		onBranch <- b.repo.until(ctx, func() bool {
			text, err := b.repo.git(ctx, "show", "fairlead/status:fleet.yaml")
			return err == nil && strings.Contains(text, revision)
		})
		written = time.Since(started)
	}()
	cluster := "cluster=default/" + name(n/2)
	if err := log.until(ctx, cluster, "action=CreateMachine"); err != nil {
		return nil, err
	}
	planned := time.Since(started)
	if err := log.until(ctx, cluster, "action=SyncNode"); err != nil {
		return nil, err
	}
	joined := time.Since(started)
	err = <-onBranch
	return []figure{{"to the plan", "s", planned.Seconds()}, {"to the status branch", "s", written.Seconds()}, {"to the new machine joined", "s", joined.Seconds()}}, err
}

// scrape reads /metrics once.
func (b *bench) scrape(ctx context.Context, _ shape, _ int) ([]figure, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.agent.listen+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	size, err := io.Copy(io.Discard, res.Body)
	return []figure{{"a scrape", "s", time.Since(started).Seconds()}, {"its size", "KB", float64(size) / 1000}}, err
}

// commands runs commands as people do.
func (b *bench) commands(ctx context.Context, _ shape, n int) ([]figure, error) {
	clone := filepath.Join(b.dir, "clone")
	if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "--depth", "1", b.source, clone).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git clone: %w: %s", err, out)
	}
	var out []figure
	for _, args := range [][]string{
		{"status", b.source, "default/" + name(n/2)},
		{"status", b.source, "--problems"},
		{"status", b.source},
		{"describe", "default/" + name(n/2), "--source", b.source},
		{"validate", clone},
		{"plan", b.source, "--last-seen"},
	} {
		cmd := exec.CommandContext(ctx, b.binary, args...)
		var text strings.Builder
		cmd.Stderr = &text
		started := time.Now()
		if err := cmd.Run(); err != nil {
			return out, fmt.Errorf("%s: %w: %s", cmd, err, text.String())
		}
		took := time.Since(started)
		what := strings.NewReplacer(" --source "+b.source, "", " "+b.source, "", " "+clone, "").Replace(strings.Join(args, " "))
		usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		out = append(out, figure{what, "s", took.Seconds()}, figure{what + ", peak", "MiB", float64(usage.Maxrss) / 1024})
	}
	return out, nil
}

// branch measures the status branch on the server, and a clone of it.
func (b *bench) branch(ctx context.Context, _ shape, _ int) ([]figure, error) {
	count, err := b.repo.git(ctx, "rev-list", "--count", "fairlead/status")
	if err != nil {
		return nil, err
	}
	var commits float64
	if _, err := fmt.Sscan(count, &commits); err != nil {
		return nil, err
	}
	clone := filepath.Join(b.dir, "status.git")
	started := time.Now()
	if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "--bare", "--single-branch", "--branch", "fairlead/status", b.source, clone).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git clone: %w: %s", err, out)
	}
	took := time.Since(started)
	size, err := repository{clone}.size(ctx)
	return []figure{{"commits", "", commits}, {"a clone", "s", took.Seconds()}, {"its size", "MB", size}}, err
}

// restart stops the agent, scales a cluster, and measures an agent that starts over all clusters: when it scales that
// cluster, and what it takes until all have been seen.
func (b *bench) restart(ctx context.Context, s shape, n int) ([]figure, error) {
	if err := b.agent.Stop(); err != nil {
		return nil, err
	}
	s.workers++
	if err := b.repo.commit("scale", s, n/3, n/3+1, false); err != nil {
		return nil, err
	}
	cloud, err := b.cloud.Usage()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := b.startAgent(ctx, "agent-again"); err != nil {
		return nil, err
	}
	log, err := b.agent.follow()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if _, err := log.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if err := log.until(ctx, "cluster=default/"+name(n/3), "action=CreateMachine"); err != nil {
		return nil, err
	}
	repaired := time.Since(started)
	if err := b.agent.until(ctx, every(n), provisioned(n)); err != nil {
		return nil, err
	}
	all := time.Since(started)
	used, err := b.agent.Usage()
	after, cloudErr := b.cloud.Usage()
	return []figure{
		{"to the first change", "s", repaired.Seconds()},
		{"to all clusters Provisioned", "s", all.Seconds()},
		{"agent CPU", "s", used.CPU},
		{"agent memory peak", "MiB", float64(used.Peak)},
		{"cloud CPU", "s", after.CPU - cloud.CPU},
	}, errors.Join(err, cloudErr)
}

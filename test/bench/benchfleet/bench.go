package main

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/test/bench/process"
)

const (
	oldVersion = "v1.33.5"
	newVersion = "v1.34.1"
)

// A figure is one number that was measured.
type figure struct {
	name  string // of what, such as "agent CPU"
	unit  string
	value float64
}

// A measurement is made with a fresh repository, Git server, cloud and agent.
type measurement struct {
	name     string
	do       func(context.Context, *bench) ([]figure, error)
	apart    bool // it is made only where it is named
	clusters int  // at most, where they may be too many for the in-memory cloud of the program: see serveCloud
}

// A bench is what one measurement uses.
type bench struct {
	repo   repository
	agent  *agent
	cloud  *process.Process
	binary string // the program
	source string // URL of the repository
	at     string // URL of the cloud
	listen string // address of the agent
	dir    string // for logs and secrets

	profiling bool
}

func measurements() []measurement {
	small := shape{controlPlanes: 1, workers: 1, version: oldVersion}
	var out []measurement
	for _, n := range []int{1, 10, 50, 100, 1000, 3000, 10000} {
		out = append(out, measurement{name: fmt.Sprintf("create-%d", n), apart: n > 1000, clusters: n, do: func(ctx context.Context, b *bench) ([]figure, error) {
			return b.create(ctx, small, n)
		}})
	}
	for _, n := range []int{100, 1000} {
		out = append(out, measurement{name: fmt.Sprintf("idle-%d", n), do: func(ctx context.Context, b *bench) ([]figure, error) {
			return b.idle(ctx, small, n)
		}})
	}
	for _, n := range []int{50, 100} {
		out = append(out, measurement{name: fmt.Sprintf("delete-%d", n), do: func(ctx context.Context, b *bench) ([]figure, error) {
			return b.remove(ctx, small, n)
		}})
	}
	for _, n := range []int{10, 100, 1000} {
		out = append(out, measurement{name: fmt.Sprintf("plan-%d", n), apart: true, do: func(ctx context.Context, b *bench) ([]figure, error) { return b.plan(ctx, small, n) }})
	}
	for _, n := range []int{100, 1000, 3000, 10000} {
		out = append(out, measurement{name: fmt.Sprintf("whole-%d", n), apart: true, clusters: n, do: func(ctx context.Context, b *bench) ([]figure, error) { return b.whole(ctx, small, n) }})
	}
	for _, n := range []int{40, 1000} {
		out = append(out, measurement{name: fmt.Sprintf("waves-%d", n), apart: true, do: func(ctx context.Context, b *bench) ([]figure, error) { return b.waves(ctx, n) }})
	}
	return append(out,
		measurement{name: "push-one-of-1000", do: func(ctx context.Context, b *bench) ([]figure, error) { return b.push(ctx, small, 1000) }},
		measurement{name: "scale", do: func(ctx context.Context, b *bench) ([]figure, error) { return b.push(ctx, small, 1) }},
		measurement{name: "create-3+10-and-upgrade", do: func(ctx context.Context, b *bench) ([]figure, error) { return b.upgrade(ctx) }},
	)
}

// provisioned returns a test for n clusters with all machines running.
func provisioned(n int) func(sample) bool {
	return func(s sample) bool { return s.count("Provisioned") >= n }
}

// every returns how often to sample n clusters, so that sampling stays cheap.
func every(n int) time.Duration {
	return max(50*time.Millisecond, time.Duration(n)*time.Millisecond)
}

// spent returns what agent and cloud used while do ran, and how long that took.
func (b *bench) spent(do func() error) ([]figure, error) {
	agent, err := b.agent.Usage()
	if err != nil {
		return nil, err
	}
	cloud, err := b.cloud.Usage()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := do(); err != nil {
		return nil, err
	}
	took := time.Since(started)
	agentAfter, err := b.agent.Usage()
	if err != nil {
		return nil, err
	}
	cloudAfter, err := b.cloud.Usage()
	return []figure{
		{"took", "s", took.Seconds()},
		{"agent CPU", "s", agentAfter.CPU - agent.CPU},
		{"agent memory peak", "MiB", float64(agentAfter.Peak)},
		{"agent memory", "MiB", float64(agentAfter.RSS)},
		{"cloud CPU", "s", cloudAfter.CPU - cloud.CPU},
		{"cloud memory peak", "MiB", float64(cloudAfter.Peak)},
	}, err
}

func (b *bench) create(ctx context.Context, s shape, n int) ([]figure, error) {
	var first, rest time.Duration // until the first hundred clusters, and all but a hundred
	out, err := b.spent(func() error {
		started := time.Now()
		if err := b.repo.commit("create", s, 0, n, false); err != nil {
			return err
		}
		return b.agent.until(ctx, every(n), func(seen sample) bool {
			have := seen.count("Provisioned")
			if first == 0 && have >= 100 {
				first = time.Since(started)
			}
			if rest == 0 && have >= n-100 {
				rest = time.Since(started)
			}
			return have >= n
		})
	})
	if n > 200 && err == nil {
		out = append(out, figure{"first 100", "s", first.Seconds()}, figure{"last 100", "s", out[0].value - rest.Seconds()})
	}
	return out, err
}

func (b *bench) idle(ctx context.Context, s shape, n int) ([]figure, error) {
	if _, err := b.create(ctx, s, n); err != nil {
		return nil, err
	}
	const settle, window = 30 * time.Second, 2 * time.Minute
	if err := wait(ctx, settle); err != nil {
		return nil, err
	}
	return b.spent(func() error { return wait(ctx, window) })
}

func (b *bench) remove(ctx context.Context, s shape, n int) ([]figure, error) {
	if _, err := b.create(ctx, s, n); err != nil {
		return nil, err
	}
	s.deleted = true
	return b.spent(func() error {
		if err := b.repo.commit("delete", s, 0, n, false); err != nil {
			return err
		}
		return b.agent.until(ctx, every(n), func(seen sample) bool { return seen.count("Deleted")+n-seen.all() >= n })
	})
}

// push scales one of n clusters. It measures, by the agent's log, when the new machine was
// requested and when it joined.
func (b *bench) push(ctx context.Context, s shape, n int) ([]figure, error) {
	if _, err := b.create(ctx, s, n); err != nil {
		return nil, err
	}
	if err := wait(ctx, 5*time.Second); err != nil {
		return nil, err
	}
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
	cluster := "cluster=default/" + name(n/2)
	if err := log.until(ctx, cluster, "action=CreateMachine"); err != nil {
		return nil, err
	}
	planned := time.Since(started)
	err = log.until(ctx, cluster, "action=SyncNode")
	return []figure{{"to the plan", "s", planned.Seconds()}, {"to the new machine joined", "s", time.Since(started).Seconds()}}, err
}

// upgrade creates one cluster and measures how it is upgraded by a minor.
func (b *bench) upgrade(ctx context.Context) ([]figure, error) {
	s := shape{controlPlanes: 3, workers: 10, version: oldVersion}
	created, err := b.create(ctx, s, 1)
	if err != nil {
		return nil, err
	}
	s.version = newVersion
	out, err := b.spent(func() error {
		if err := b.repo.commit("upgrade", s, 0, 1, false); err != nil {
			return err
		}
		if err := b.agent.until(ctx, 50*time.Millisecond, func(seen sample) bool { return seen.count("Provisioned") == 0 }); err != nil {
			return err
		}
		return b.agent.until(ctx, 50*time.Millisecond, provisioned(1))
	})
	if err != nil {
		return nil, err
	}
	return append([]figure{{"created in", "s", created[0].value}}, out...), nil
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

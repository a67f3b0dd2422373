package demo

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet-examples/inmemory"
)

// The two clusters of the example, and the versions that they run.
const (
	oldVersion = "v1.33.5"
	newVersion = "v1.34.1"

	prodValues    = "clusters/prod/eu-1/values.yaml"
	stagingValues = "clusters/staging/eu-2/values.yaml"
	stagingFolder = "clusters/staging/eu-2"
)

func prod() fleet.Key    { return fleet.Key{Namespace: "prod", Name: "eu-1"} }
func staging() fleet.Key { return fleet.Key{Namespace: "staging", Name: "eu-2"} }

// A step is one push, and what must follow from it.
type step struct {
	title  string
	commit string // message
	// proposal is a branch that it is reviewed on, with a plan, before it is merged; empty: it
	// is pushed at once.
	proposal string
	edit     func(r *repository) error
	// expect returns the condition to wait for, given the revision that was pushed and the
	// snapshot before.
	expect func(revision string, before snapshot) condition
	limit  time.Duration
}

// message is that of the commit that is pushed.
func (s step) message() string {
	if s.proposal != "" {
		return mergeMessage(s.proposal)
	}
	return s.commit
}

// inMemoryStory is the story on the in-memory infrastructure.
func inMemoryStory() *story {
	return &story{
		headline: "Git is the management cluster: seven pushes, and what becomes of them.",
		ending:   "seven pushes, each seen to its end",
		files:    inmemory.Files(), steps: steps(), clusters: []fleet.Key{prod(), staging()}, values: prodValues,
		inMemory: true, clean: func(context.Context) error { return nil },
	}
}

// steps are its pushes.
func steps() []step {
	firstRevision := ""
	return append([]step{
		{
			title: "Two clusters, out of nothing", commit: "Two clusters: prod/eu-1 and staging/eu-2",
			edit: func(r *repository) error {
				return r.add("fleet.yaml", "spec:\n  pullRequests:\n    refs: ["+proposalRefs+"]\n")
			},
			expect: func(rev string, _ snapshot) condition {
				return all(running(prod(), rev, oldVersion, 3, 3), running(staging(), rev, oldVersion, 1, 1))
			},
			limit: 40 * time.Second,
		},
		{
			title: "Scale prod/eu-1 from 3 to 4 workers", commit: "prod/eu-1: one more worker",
			edit: func(r *repository) error {
				return r.replace(prodValues, `WORKER_MACHINE_COUNT: "3"`, `WORKER_MACHINE_COUNT: "4"`)
			},
			expect: func(rev string, _ snapshot) condition {
				firstRevision = rev
				return running(prod(), rev, oldVersion, 3, 4)
			},
			limit: 30 * time.Second,
		},
		{
			title: "Upgrade Kubernetes of prod/eu-1 by a minor, rolling: first its plan, then the merge", proposal: "proposals/kubernetes", commit: "prod/eu-1: Kubernetes " + newVersion,
			edit: func(r *repository) error { return r.replace(prodValues, oldVersion, newVersion) },
			expect: func(rev string, before snapshot) condition {
				firstRevision = rev
				return all(
					running(prod(), rev, newVersion, 3, 4),
					replaced(prod(), before.names(prod())),
					untouched(staging(), before.names(staging())),
				)
			},
			limit: 60 * time.Second,
		},
		{
			title: "A bad push: it breaks prod/eu-1, staging/eu-2 goes on", commit: "More workers everywhere",
			edit: func(r *repository) error {
				if err := r.replace(prodValues, `WORKER_MACHINE_COUNT: "4"`, `WORKER_MACHINE_COUNT: "five"`); err != nil {
					return err
				}
				return r.replace(stagingValues, `WORKER_MACHINE_COUNT: "1"`, `WORKER_MACHINE_COUNT: "2"`)
			},
			expect: func(rev string, before snapshot) condition {
				return all(
					broken(prod(), "spec.replicas"),
					running(prod(), firstRevision, newVersion, 3, 4),
					untouched(prod(), before.names(prod())),
					running(staging(), rev, oldVersion, 1, 2),
				)
			},
			limit: 30 * time.Second,
		},
		{
			title: "Repair it: 5 workers, written as a number", commit: "prod/eu-1: five is a number",
			edit: func(r *repository) error { return r.replace(prodValues, `"five"`, `"5"`) },
			expect: func(rev string, _ snapshot) condition {
				return all(sound(prod()), running(prod(), rev, newVersion, 3, 5))
			},
			limit: 30 * time.Second,
		},
	}, deletion(staging(), stagingFolder, 30*time.Second, func(before snapshot) condition { return untouched(prod(), before.names(prod())) })...)
}

// deletion returns the steps that delete a cluster, and remove its folder. also holds all the while; nil: nothing has to.
func deletion(k fleet.Key, folder string, limit time.Duration, also func(before snapshot) condition) []step {
	if also == nil {
		also = func(snapshot) condition { return all() }
	}
	return []step{
		{
			title: "Delete " + k.String() + ": marked in Git, on purpose", commit: k.String() + ": not needed any more",
			edit: func(r *repository) error {
				return r.add(folder+"/kustomization.yaml", `patches:
  - target: {kind: Cluster}
    patch: |
      - op: add
        path: /metadata/annotations
        value: {`+fleet.DeleteAnnotation+`: "true"}
`)
			},
			expect: func(_ string, before snapshot) condition { return all(deleted(k), also(before)) },
			limit:  limit,
		},
		{
			title: "Remove its files: nothing is left of it", commit: k.String() + ": remove",
			edit:   func(r *repository) error { return r.remove(folder) },
			expect: func(_ string, before snapshot) condition { return all(gone(k), also(before)) },
			limit:  min(limit, time.Minute),
		},
	}
}

// A failure is a step that failed.
type failure struct {
	step  step
	cause error
	seen  snapshot
}

// Error implements error.
func (f *failure) Error() string { return fmt.Sprintf("step %q: %v", f.step.title, f.cause) }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// runStep pushes what s says, and shows the progress until its condition holds.
func (d *demo) runStep(ctx context.Context, s step) error {
	before, err := d.observer.look(ctx)
	if err != nil {
		return &failure{s, err, before}
	}
	if err := s.edit(d.repository); err != nil {
		return &failure{s, err, before}
	}
	d.screen.begin(s)
	push := d.repository.push
	if s.proposal != "" {
		push = func(ctx context.Context, _ string) (string, error) { return d.propose(ctx, s) }
	}
	revision, err := push(ctx, s.commit)
	if err != nil {
		return &failure{s, err, before}
	}
	d.screen.pushed(s, revision)
	want := s.expect(revision, before)
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	started := time.Now()
	for {
		seen, err := d.observer.look(ctx)
		var missing error
		if err == nil {
			d.screen.show(seen)
			if missing = want(seen); missing == nil {
				d.screen.done(seen, time.Since(started))
				if s.proposal == "" {
					return nil
				}
				if err := d.became(ctx, s); err != nil {
					return &failure{s, err, seen}
				}
				return nil
			}
		} else {
			missing = err
		}
		select {
		case <-tick.C:
		case err := <-d.ended:
			return &failure{s, fmt.Errorf("the agent ended: %w", err), seen}
		case <-ctx.Done():
			return &failure{s, missing, seen}
		}
	}
}

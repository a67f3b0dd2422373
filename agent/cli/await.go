package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// awaitTick is between two looks of somebody who waits.
const awaitTick = 500 * time.Millisecond

// An outcome says how far what was pushed is. The zero outcome is: every cluster is as
// the newest revision says.
type outcome struct {
	refused string // why it will not be, however long one waits
	lacks   string // what it is not yet
}

// err returns the error of a wait that ended so.
func (v outcome) err(wait time.Duration) error {
	switch {
	case v.refused != "":
		return &waitError{exitRefused, v.refused}
	case v.lacks != "":
		return &waitError{exitLate, fmt.Sprintf("not everything is as Git says after %s: %s", wait, v.lacks)}
	}
	return nil
}

// A waitError is a wait that did not end well.
type waitError struct {
	code int
	why  string
}

// Error implements error.
func (e *waitError) Error() string { return e.why }

// await reads the status until it says that what the source has is what every
// cluster is, or that it never will be, or wait is over. Without a wait it reads once,
// and nothing is judged. The source and the branch stay open throughout.
func (p part) await(ctx context.Context, branch string, wait time.Duration) (s status.Status, v outcome, err error) {
	b, err := p.settings.OpenBranch(branch)
	if err != nil {
		return s, v, err
	}
	if wait == 0 {
		s, err = p.statusOn(ctx, b)
		return s, v, err
	}
	source, err := p.settings.OpenSource()
	if err != nil {
		return s, v, err
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	tick := time.NewTicker(awaitTick)
	defer tick.Stop()
	for {
		rev, err := source.Resolve(ctx) // before the status: a push between the two is seen as one to wait for
		if err != nil {
			return s, v, err
		}
		if s, err = p.statusOn(ctx, b); err != nil {
			return s, v, err
		}
		v = p.judge(rev, s)
		if v.lacks == "" || v.refused != "" {
			return s, v, nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return s, v, nil
		case <-ctx.Done():
			return s, v, ctx.Err()
		}
	}
}

// statusOn returns what the status branch b says of the part.
func (p part) statusOn(ctx context.Context, b sources.Branch) (status.Status, error) {
	verify, err := p.settings.Verifier()
	if err != nil {
		return status.Status{}, err
	}
	_, tree, err := b.Read(ctx)
	if err != nil {
		return status.Status{}, err
	}
	s, err := status.Trusted(tree, verify)
	s.Clusters = slices.DeleteFunc(slices.Clone(s.Clusters), func(c status.Cluster) bool { return !p.has(c.Report.Overlay) })
	return s, err
}

// judge compares what s says of the part with rev, the newest revision of the source.
// A phase alone proves nothing: that of a cluster which no pass has seen since rev
// was pushed is of another revision.
func (p part) judge(rev fleet.Revision, s status.Status) outcome {
	f := s.Fleet
	switch {
	case s.Owner.Agent == "":
		return outcome{lacks: "no agent has followed this fleet yet"}
	case f.Revision.Digest != rev.Digest:
		return outcome{lacks: fmt.Sprintf("the agent has not seen revision %s yet, it is at %s", rev.Short(), f.Revision.Short())}
	case f.Applied.IsZero():
		return outcome{lacks: "the agent of this fleet is of a version that does not tell what it has applied"}
	case f.Applied.Digest != rev.Digest && !f.Broken:
		return outcome{lacks: fmt.Sprintf("the agent cannot get revision %s yet, everything is at %s: %s", rev.Short(), f.Applied.Short(), problems(f.Problems))}
	case f.Applied.Digest != rev.Digest:
		return outcome{refused: fmt.Sprintf("revision %s is refused, everything stays at %s: %s", rev.Short(), f.Applied.Short(), problems(f.Problems))}
	}
	if broken := p.brokenIn(f); len(broken) > 0 {
		return outcome{refused: fmt.Sprintf("revision %s is not applied as a whole: %s", rev.Short(), problems(broken))}
	}
	for _, k := range f.Behind {
		if c, known := s.Cluster(k); known || p.path == "." {
			return outcome{lacks: fmt.Sprintf("no look has found cluster %s as revision %s says yet%s", k, rev.Short(), waitsFor(c.Report))}
		}
	}
	for _, c := range s.Clusters {
		r := c.Report
		switch {
		case slices.Contains(f.Orphans, r.Cluster): // it vanished from Git, and stays as it is
		case r.Phase != fleet.PhaseProvisioned && r.Phase != fleet.PhaseDeleted && r.Phase != fleet.PhaseAbandoned:
			return outcome{lacks: fmt.Sprintf("cluster %s is %s%s", r.Cluster, r.Phase, waitsFor(r))}
		case r.Failure != "":
			return outcome{lacks: fmt.Sprintf("cluster %s: %s", r.Cluster, r.Failure)}
		case len(r.Problems) > 0:
			return outcome{lacks: fmt.Sprintf("cluster %s: %s", r.Cluster, problems(r.Problems))}
		}
	}
	return outcome{}
}

// brokenIn returns the problems of the applied revision that concern the part.
func (p part) brokenIn(f sources.FleetStatus) []fleet.Problem {
	if !f.Broken {
		return nil // what there is concerns what the agent does beside, such as the escrow
	}
	return slices.DeleteFunc(slices.Clone(f.Problems), func(q fleet.Problem) bool { return q.Overlay != "" && !p.has(q.Overlay) })
}

// problems says list on a line.
func problems(list []fleet.Problem) string {
	if len(list) == 0 {
		return "fairlead validate says why"
	}
	text, _, _ := strings.Cut(list[0].String(), "\n")
	if n := len(list) - 1; n > 0 {
		text += fmt.Sprintf(", and %s more", count(n, "problem"))
	}
	return text
}

// waitsFor says what keeps the cluster from being done, if that is known.
func waitsFor(r fleet.Report) string {
	switch {
	case r.Failure != "":
		return ": " + r.Failure
	case len(r.Waiting) > 0:
		return ", it waits for " + r.Waiting[0]
	}
	return ""
}

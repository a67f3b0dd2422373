package agent

import (
	"context"
	"sync"
	"time"

	"fairlead.dev/agent/plans/pullrequests"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// PullRequestParts are what pull requests are planned with. See pullrequests.Parts.
type PullRequestParts struct {
	Fleet     pullrequests.Fleet
	Plans     pullrequests.Plans
	Approvals pullrequests.Approvals
	Requests  pullrequests.Requests
	Recorded  func(ctx context.Context) (status.Status, error)
	Owner     func() (fleet.Owner, bool)
	Interval  func() time.Duration
	// Unreviewed is called with why reviews count for nothing; empty: they do, or are not to.
	Unreviewed func(why string)
	// Beside is called with another fleet whose statuses have the same names.
	Beside func(fleet.ID)
	// Limited is called with whether the forge limits requests.
	Limited func(is bool)
	// Refs says that fleet.yaml has refs planned, which needs no API of a forge.
	Refs bool
}

// pulls are the pull requests of a session, which are opened once fleet.yaml has them
// planned. It is safe for concurrent use.
type pulls struct {
	wake   chan struct{}
	notify func()

	mu      sync.Mutex
	open    *pullrequests.PullRequests // nil: not opened yet
	problem string                     // why they are not planned
	blind   string                     // why reviews count for nothing
	late    string                     // why plans are late
	beside  string                     // another fleet whose statuses have the same names
}

// polled is called after each poll of the source.
func (p *pulls) polled(context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open != nil {
		p.open.Wake()
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Problem says why pull requests are not planned, or reviews count for nothing, though fleet.yaml wants that, or
// that another fleet hides their plans.
func (p *pulls) Problem() (fleet.Problem, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.problem == "" && p.late != "" {
		return fleet.Problem{
			File: "fleet.yaml", Field: "spec.pullRequests", Message: "plans of pull requests are late: " + p.late,
			Hint: "see docs/guides/fleet/pull-requests.md",
		}, true
	}
	if p.problem == "" && p.blind != "" {
		return fleet.Problem{
			File: "fleet.yaml", Field: "spec.rollout", Message: "reviews approve of nothing: " + p.blind,
			Hint: "see docs/guides/fleet/rollouts.md",
		}, true
	}
	if p.problem == "" && p.beside != "" {
		return fleet.Problem{
			File: "fleet.yaml", Field: "spec.status.branch", Message: "plans of the fleet " + p.beside + " set the same commit statuses on pull requests: the later one hides the other",
			Hint: "name a status branch in all but one fleet of a repository: its statuses then have the name of the fleet",
		}, true
	}
	return fleet.Problem{
		File: "fleet.yaml", Field: "spec.pullRequests", Message: "pull requests are not planned: " + p.problem,
		Hint: "see docs/guides/fleet/pull-requests.md",
	}, p.problem != ""
}

// complain notes why pull requests are not planned; empty: they are, or are not to be.
func (p *pulls) complain(why string) { p.note(&p.problem, why) }

// unreviewed notes why reviews count for nothing; empty: they do, or are not to.
func (p *pulls) unreviewed(why string) { p.note(&p.blind, why) }

// besideOf notes another fleet whose statuses have the same names.
func (p *pulls) besideOf(id fleet.ID) { p.note(&p.beside, string(id)) }

// limited notes whether the forge limits requests.
func (p *pulls) limited(is bool) {
	why := ""
	if is {
		why = "the Git provider limits requests, and the agent waits"
	}
	p.note(&p.late, why)
}

func (p *pulls) note(what *string, why string) {
	p.mu.Lock()
	changed := *what != why
	*what = why
	p.mu.Unlock()
	if changed {
		p.notify()
	}
}

// planPullRequests plans pull requests, from when fleet.yaml says so until ctx ends.
func (s *session) planPullRequests(ctx context.Context) error {
	for {
		planned := s.decisions.Now().Config().PullRequests.Planned
		q, err := s.openPullRequests(planned)
		switch {
		case !planned:
			s.pulls.complain("")
		case err != nil:
			s.pulls.complain(err.Error())
		case q == nil:
			s.pulls.complain("the source has none: it is no repository of Git")
		default:
			s.pulls.complain("")
			return q.Run(ctx)
		}
		select {
		case <-s.pulls.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// openPullRequests returns what plans pull requests; nil: none are to be planned, or the
// source has none.
func (s *session) openPullRequests(planned bool) (*pullrequests.PullRequests, error) {
	if !planned || s.p.PullRequests == nil || s.branch.Plans == nil || s.branch.Approvals == nil {
		return nil, nil //nolint:nilnil // see above
	}
	q, err := s.p.PullRequests(PullRequestParts{
		Fleet: s.decisions, Plans: s.branch.Plans, Approvals: s.branch.Approvals, Requests: s.branch.Asks, Recorded: s.branch.Read,
		Unreviewed: s.pulls.unreviewed, Beside: s.pulls.besideOf, Limited: s.pulls.limited,
		Owner: func() (fleet.Owner, bool) {
			owner, owned := s.claim.Owner()
			return owner, owned && s.claim.May(fleet.Key{}) == nil
		},
		Interval: s.claim.Interval, Refs: len(s.decisions.Now().Config().PullRequests.Refs) > 0,
	})
	if err != nil {
		return nil, err
	}
	s.pulls.mu.Lock()
	defer s.pulls.mu.Unlock()
	s.pulls.open = q
	return q, nil
}

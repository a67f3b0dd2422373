package agent

import (
	"context"
	"fmt"
	"time"

	"fairlead.dev/agent/loop/begin"
	"fairlead.dev/agent/loop/desired"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
	"fairlead.dev/reconcile/rollout"
	"fairlead.dev/sources/status"
)

// act does what follows from a decision, beside passes over the clusters that changed.
func (s *session) act(d rollout.Decision) {
	for _, k := range d.Forgotten {
		s.reconciler.Forget(k)
		s.survey.Again()
	}
	if d.StatusChanged {
		s.publisher.PutFleet()
	}
	if d.AnswersDue {
		s.Poll()
	}
}

// restore has the fleet go on from what the status branch says, and from what people asked
// for. Single clusters that cannot be read are left alone until they are repaired.
func (s *session) restore(ctx context.Context) (fleet.Revision, error) {
	there, err := s.branch.Read(ctx)
	s.revisions().Remember(there.Fleet.Applied, there.Fleet.AppliedMade)
	record := &begin.Record{Err: err, Applied: there.Fleet.Applied}
	if damage, ok := err.(*status.FleetDamage); ok { //nolint:errorlint // beside other errors it does not count
		record.Err, record.Damage = nil, damage
	}
	step := begin.Decide(begin.Input{Flags: begin.Flags{Signed: s.revisions().Signed()}, At: s.branch.name, Owned: true, Record: record})
	if step.Do == begin.Retry {
		return fleet.Revision{}, step.Why
	}
	if record.Damage != nil {
		s.p.Log.Warn("fleet.yaml of the status branch cannot be read, going on without it and writing it again", "error", record.Damage)
	}
	in := rollout.Input{Before: desired.Recorded(there)}
	if record.Damage != nil || there.Fleet.Fleet == "" && len(there.Clusters) > 0 { // fleet.yaml was deleted, or is empty
		in.Before = in.Before.WithoutOrphans()
	}
	if s.requests != nil {
		q, err := s.requests.Read(ctx)
		if err != nil {
			return fleet.Revision{}, err
		}
		in.Requests = &q
	}
	if s.scales != nil {
		n, err := s.scales.Read(ctx)
		if err != nil {
			return fleet.Revision{}, err
		}
		in.Sizes = &n
	}
	recorded := make([]fleet.Report, len(there.Clusters))
	for i, c := range there.Clusters {
		recorded[i] = c.Report
	}
	s.p.Metrics.Restore(there.Clusters)
	s.home.Restore(there.Fleet.Home)
	s.decisions.Restore(rollout.Decide(in).State, recorded)
	return there.Fleet.Applied, nil
}

// repaired takes in a cluster that restore could not read.
func (s *session) repaired(c status.Cluster) {
	s.reports.Restore([]fleet.Report{c.Report})
	s.p.Metrics.Restore([]status.Cluster{c})
}

// owned says that the fleet is another agent's.
func (s *session) owned(ctx context.Context) error { return s.claim.Check(ctx, s.publisher.Flush) }

// revisionApplied has everything work by a new revision. The first one makes the agent
// ready.
func (s *session) revisionApplied() {
	s.markApplied()
	s.survey.Again()
	s.escrow.Check()
	s.home.Check()
}

// otherBranch says that f names another status branch than the one that is written to.
func (s *session) otherBranch(f fleet.Fleet) []fleet.Problem {
	want := f.Config.StatusBranch
	if s.p.OneStatusBranch || s.o.StatusBranch != "" || want == s.branch.name {
		return nil
	}
	return []fleet.Problem{{
		File: "fleet.yaml", Field: "spec.status.branch",
		Message: fmt.Sprintf("status stays on the branch %q as long as the agent runs", s.branch.name),
		Hint:    fmt.Sprintf("restart the agent to move it to %s. The agent has to be allowed to push to that branch, and may not follow it", want),
	}}
}

// ownerPolled tells what there is to tell of the owner, if that changed. It is called after each
// poll.
func (s *session) ownerPolled(context.Context) {
	if p, _ := s.claim.Problem(); p != s.ownerProblem {
		s.ownerProblem = p
		s.publisher.PutFleet()
	}
}

// A signpost tells where the status is, on the default status branch.
type signpost struct {
	written time.Time // zero: not yet
	failure string    // as last logged
}

// signpostAgain is how long a signpost is trusted to be there. People may delete the default status branch,
// which looks empty.
const signpostAgain = 15 * time.Minute

// signpostPolled writes the signpost, and writes it again where it is gone, if fleet.yaml names the branch and it
// has a signpost.
func (s *session) signpostPolled(ctx context.Context) {
	id := s.decisions.Now().ID()
	if time.Since(s.signpost.written) < signpostAgain || s.branch.Signpost == nil || s.o.StatusBranch != "" || id == "" || s.claim.May(fleet.Key{}) != nil {
		return
	}
	var err error
	if s.branch.Locate != nil { // a repository that shows no branch is given none, or it would not look empty any more
		_, err = s.branch.Locate(ctx)
	}
	if err == nil {
		err = s.branch.Signpost(ctx, id)
	}
	if err == nil {
		s.signpost = signpost{written: time.Now()}
	}
	if err != nil && ctx.Err() == nil && err.Error() != s.signpost.failure {
		s.signpost.failure = err.Error()
		s.p.Log.Warn("cannot write on the default status branch where the status is, trying again", "error", err)
	}
}

// declaredHome returns what fleet.yaml says of a home, and all clusters that are known.
func (s *session) declaredHome() (fleet.ID, fleet.Home, []fleet.Key) {
	now := s.decisions.Now()
	return now.ID(), now.Config().Home, now.Keys()
}

// wantedEscrow returns what is to be kept in escrow.
func (s *session) wantedEscrow() escrow.Wanted {
	now := s.decisions.Now()
	out := escrow.Wanted{Fleet: now.ID(), Escrow: now.Config().Escrow}
	if len(out.Escrow.Recipients) > 0 { // the lists go through the whole fleet
		out.Clusters, out.Secrets = now.Keys(), now.StoredSecrets()
	}
	return out
}

// recorded returns what the status branch says of cluster k; zero: nothing.
func (s *session) recorded(ctx context.Context, k fleet.Key) (fleet.Report, error) {
	c, _, err := s.branch.ReadCluster(ctx, k)
	return c.Report, err
}

// did has secrets that a pass changed kept in escrow.
func (s *session) did(actions []fleet.Action) {
	if escrow.ChangesSecrets(actions) {
		s.escrow.Check()
	}
}

// sized records how many machines the pools of c have that were never scaled.
func (s *session) sized(ctx context.Context, c *fleet.Cluster, r fleet.Report) {
	if owner, owned := s.claim.Owner(); owned && s.scales != nil && s.o.Only == (fleet.Key{}) {
		s.scales.First(ctx, owner, c, r)
	}
}

// pollRequests answers what people ask for, where the fleet is ours.
func (s *session) pollRequests(ctx context.Context) {
	if owner, owned := s.claim.Owner(); owned && s.requests != nil {
		s.requests.Poll(ctx, owner)
	}
}

// rollOn has what waits for its turn decided on again, where time alone brings that about.
func (s *session) rollOn(context.Context) {
	if config := s.decisions.Now().Config(); config.Waves.Declared() {
		s.decisions.DecideBulk(rollout.Input{})
	}
}

// pollScales takes in numbers of machines, where the fleet is ours.
func (s *session) pollScales(ctx context.Context) {
	if owner, owned := s.claim.Owner(); owned && s.scales != nil {
		s.scales.Poll(ctx, owner)
	}
}

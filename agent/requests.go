package agent

import (
	"context"
	"slices"
	"time"

	"fairlead.dev/fleet"
)

// keepAnswers is how long an answer stays on the status branch.
const keepAnswers = 7 * 24 * time.Hour

// Requests are what people ask for on the status branch. See
// sources/status.Requests.
type Requests interface {
	List(ctx context.Context) ([]fleet.Request, error)
	Answer(ctx context.Context, of fleet.Owner, list, gone []fleet.Request) error
}

// wishes are the requests that were accepted and are not done, and what passes
// found since.
type wishes struct {
	standing map[fleet.Key][]fleet.Request
	passed   map[fleet.Key]glance // of clusters that somebody wishes something of
	broken   string               // requests that nobody can read, and why
}

// A glance is the last pass over a cluster, and what it heeded.
type glance struct {
	heeded  []fleet.Request
	wishes  map[fleet.Rotation]string // with what was heeded
	granted map[fleet.SecretName]fleet.RotationState
}

// known returns the accepted ones of list by cluster.
func known(list []fleet.Request) map[fleet.Key][]fleet.Request {
	out := make(map[fleet.Key][]fleet.Request)
	for _, r := range list {
		if r.Stands() {
			out[r.Cluster] = append(out[r.Cluster], r)
		}
	}
	return out
}

// withDamaged returns now with the suspensions that stood before and of which list says
// that they cannot be read, so that nobody can tell whose they are: who has no key can
// stop no cluster by writing what cannot be read, and start none by damaging a file.
func (a *Agent) withDamaged(now map[fleet.Key][]fleet.Request, list []fleet.Request) map[fleet.Key][]fleet.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range list {
		if !r.Unreadable || r.Distrusted == "" || slices.ContainsFunc(now[r.Cluster], r.Same) {
			continue
		}
		if i := slices.IndexFunc(a.wishes.standing[r.Cluster], r.Same); i >= 0 {
			now[r.Cluster] = append(now[r.Cluster], a.wishes.standing[r.Cluster][i])
		}
	}
	return now
}

// recallWishes reads what stands before the first pass: a cluster that is
// suspended stays so when an agent starts.
func (a *Agent) recallWishes(ctx context.Context) error {
	if a.ledger.Requests == nil {
		return nil
	}
	list, err := a.ledger.Requests.List(ctx)
	if err != nil && fleet.KindOf(err) != fleet.Invalid { // of files that nobody can read suspensions stand, and nothing else
		return err
	}
	a.mu.Lock()
	a.wishes = wishes{standing: known(list), passed: make(map[fleet.Key]glance)}
	a.mu.Unlock()
	return nil
}

// heed answers what people ask for, and says what of it is done.
func (a *Agent) heed(ctx context.Context) {
	owner := a.owner.Load()
	if a.ledger.Requests == nil || owner == nil {
		return
	}
	list, err := a.ledger.Requests.List(ctx)
	if ctx.Err() != nil {
		return
	}
	a.complain(err)
	if err != nil && fleet.KindOf(err) != fleet.Invalid {
		return
	}
	now := time.Now()
	var answers, gone []fleet.Request
	for i, r := range list {
		answer := r.Answer
		switch {
		case r.Unreadable: // the file stays as it is, for somebody to repair
		case r.Distrusted != "" && r.Answer.State != fleet.RequestRefused: // whatever somebody wrote as its answer
			answer = refusal("%s: ask with --signing-key, and one of the keys that may ask", r.Distrusted)
		case r.Answer.State == "" && r.Signature != "" && now.Sub(r.At) > keepAnswers:
			answer = refusal("it was signed more than a week ago: ask again")
		case r.Answer.State == "":
			answer = a.consider(ctx, r, now)
		case r.Open():
			answer = a.fulfilled(r, now)
		case now.Sub(r.Answer.At) > keepAnswers && !r.Stands():
			gone = append(gone, r)
		}
		if answer.State != r.Answer.State {
			answer.At = now.UTC().Truncate(time.Second)
			r.Answer = answer
			list[i] = r
			answers = append(answers, r)
		}
	}
	if len(answers)+len(gone) > 0 {
		if err := a.ledger.Requests.Answer(ctx, *owner, answers, gone); err != nil {
			if ctx.Err() == nil {
				a.p.Log.Warn("cannot answer what people ask for, trying again", "error", err)
			}
			return
		}
		for _, r := range answers {
			a.p.Log.Info("answered a request", "request", r.String(), "by", r.By, "state", r.Answer.State, "message", r.Answer.Message)
		}
	}
	for _, k := range a.stand(a.withDamaged(known(list), list)) {
		a.queue.Add(k)
	}
	a.carryOut(list)
}

// complain tells of requests that cannot be read, when that changes.
func (a *Agent) complain(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	a.mu.Lock()
	changed := a.wishes.broken != text
	a.wishes.broken = text
	a.mu.Unlock()
	if !changed {
		return
	}
	if err != nil {
		a.p.Log.Warn("cannot read what people ask for", "error", err)
	}
	a.tell()
}

// unreadable adds requests and numbers of machines that nobody can go by to problems.
func (a *Agent) unreadable(problems []fleet.Problem) []fleet.Problem {
	a.mu.Lock()
	defer a.mu.Unlock()
	problems = slices.Clone(problems)
	if a.wishes.broken != "" {
		problems = append(problems, fleet.Problem{
			Message: "what people ask for cannot be read: " + a.wishes.broken, Hint: "repair or delete the file on the status branch",
		})
	}
	if a.scaling.broken != "" {
		problems = append(problems, fleet.Problem{
			Message: "numbers of machines on the status branch: " + a.scaling.broken, Hint: "decide again with fairlead scale, with --signing-key where agents have --request-keys, or repair the file",
		})
	}
	return problems
}

// stand holds to the accepted requests, and returns the clusters of which others
// stand now, sorted.
func (a *Agent) stand(now map[fleet.Key][]fleet.Request) []fleet.Key {
	a.mu.Lock()
	defer a.mu.Unlock()
	var changed []fleet.Key
	for k, list := range now {
		if slices.ContainsFunc(list, missingIn(a.wishes.standing[k])) {
			changed = append(changed, k)
		}
	}
	for k, old := range a.wishes.standing {
		over := slices.DeleteFunc(slices.Clone(old), func(r fleet.Request) bool { return r.Wish == fleet.WishReconcile })
		if slices.ContainsFunc(over, missingIn(now[k])) {
			changed = append(changed, k)
		}
		if len(now[k]) == 0 {
			delete(a.wishes.passed, k)
		}
	}
	a.wishes.standing = now
	slices.SortFunc(changed, fleet.Key.Compare)
	return slices.Compact(changed)
}

func missingIn(list []fleet.Request) func(fleet.Request) bool {
	return func(r fleet.Request) bool { return !slices.ContainsFunc(list, r.Is) }
}

// fulfilled says whether an accepted request is done.
func (a *Agent) fulfilled(r fleet.Request, now time.Time) fleet.Answer {
	a.mu.Lock()
	last, seen := a.wishes.passed[r.Cluster]
	h, ok := a.desired.clusters[r.Cluster]
	a.mu.Unlock()
	report, _ := a.reports.Last(r.Cluster)
	done := fleet.Answer{State: fleet.RequestDone}
	switch {
	case !ok && r.Wish == fleet.WishAbandon:
		done.Message = r.Answer.Message
		return done
	case !ok || h.orphan:
		done.Message = "the cluster is gone from the fleet"
		return done
	case r.Wish == fleet.WishSuspend && !r.Until.IsZero() && !now.Before(r.Until):
		done.Message = "the time is over"
		return done
	case !seen || !slices.ContainsFunc(last.heeded, r.Is):
		return r.Answer
	}
	switch r.Wish {
	case fleet.WishReconcile:
		done.Message = "looked at it: " + string(report.Phase)
		if report.Failure != "" {
			done.Message += ", " + report.Failure
		}
		return done
	case fleet.WishReplace, fleet.WishRemediate:
		there := func(m fleet.MachineReport) bool { return m.Machine.ProviderID == r.ProviderID }
		if report.Phase != "" && !slices.ContainsFunc(report.Machines, there) {
			done.Message = "the machine is gone"
			return done
		}
		if r.Wish == fleet.WishRemediate && remainsLast(h.cluster, report.Machines, r.ProviderID) {
			return refusal(lastMachine)
		}
	case fleet.WishRotate:
		if report.Phase == fleet.PhaseProvisioned && last.rotated(r.What) {
			return done
		}
	}
	return r.Answer
}

// granted returns c with what stands of it, and that.
func (a *Agent) granted(c *fleet.Cluster) (*fleet.Cluster, []fleet.Request) {
	a.mu.Lock()
	list := slices.Clone(a.wishes.standing[c.Key])
	a.mu.Unlock()
	return c.Heeding(list), list
}

// rotated reports whether what is as it was wished for. What has no stages is so
// once the machines are.
func (g glance) rotated(what fleet.Rotation) bool {
	if what.Authority() == "" {
		return true
	}
	now := g.granted[what.Authority()]
	return !now.UnderWay() && now.Wish == fleet.TrustMark([]byte(g.wishes[what]))
}

// took takes in what a pass found that heeded list, and has the requests answered
// that it fulfils.
func (a *Agent) took(c *fleet.Cluster, list []fleet.Request, granted map[fleet.SecretName]fleet.RotationState) {
	if len(list) == 0 {
		return
	}
	a.mu.Lock()
	a.wishes.passed[c.Key] = glance{list, c.Rotate, granted}
	a.mu.Unlock()
	now := time.Now()
	if slices.ContainsFunc(list, func(r fleet.Request) bool { return r.Open() && a.fulfilled(r, now).State != r.Answer.State }) {
		a.Poll()
	}
}

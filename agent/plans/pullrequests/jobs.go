package pullrequests

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

const (
	// atOnce is how many proposals are planned at the same time, and atOnceLast how many of those that
	// leave places for others.
	atOnce, atOnceLast = 4, 2
	// patience is how long the first plan of a head may take. It doubles with each failure, up to
	// longestPatience.
	patience        = time.Minute
	longestPatience = 8 * time.Minute
	// pollTime is how long a poll waits for plans. What takes longer goes on, and a later poll has it.
	pollTime = 30 * time.Second
)

// A job plans one proposal, in a goroutine of its own, which outlives the poll if it takes long.
type job struct {
	p      proposal
	wish   string // see wishOf
	key    string // see keyOf
	last   bool   // it leaves places for others, see comesLast
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{} // closed when made and err are set

	made made
	err  error
}

// made is a plan, and what it was made with.
type made struct {
	status.Plan

	facts string // what was known of its clusters
}

// plan plans those of t that have to be planned, several at once. It returns when all are planned, or
// after pollTime.
func (q *PullRequests) plan(ctx context.Context, t *poll) error {
	q.reap(t)
	timer := time.NewTimer(pollTime)
	defer timer.Stop()
	var due []proposal
	for _, p := range t.open {
		if _, busy := q.jobs[p.name()]; !busy && q.due(t, p) {
			due = append(due, p)
		}
	}
	slices.SortStableFunc(due, func(a, b proposal) int {
		if strange := t.strange(a); strange != t.strange(b) {
			return map[bool]int{false: -1, true: 1}[strange]
		}
		return cmp.Or(q.failures(a)-q.failures(b), q.of(a).at.Compare(q.of(b).at)) // those that were not planned for the longest time first
	})
	ended := make(chan *job, len(due))
	running := 0
	for {
		for i := 0; i < len(due); {
			if !q.free(q.comesLast(t, due[i])) {
				i++
				continue
			}
			q.begun(ctx, t, due[i], ended)
			running++
			due = append(due[:i:i], due[i+1:]...)
		}
		if running == 0 {
			return nil // what is left waits for jobs of an earlier poll
		}
		select {
		case j := <-ended:
			running--
			q.collect(t, j)
		case <-timer.C:
			if len(due) > 0 {
				q.Wake()
			}
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// wishOf identifies what people ask of a plan of p: its head, the policy, and what they accept.
func wishOf(t *poll, p proposal) string {
	_, accepted := t.approved(p, fleet.ApproveChanges)
	return fleet.DigestOf(p.Head, t.config, accepted)
}

// keyOf identifies what a plan of p is made of, but for what is seen of its clusters.
func keyOf(t *poll, p proposal) string { return fleet.DigestOf(wishOf(t, p), t.base, t.stands) }

// due reports whether p has to be planned now.
func (q *PullRequests) due(t *poll, p proposal) bool {
	k, key := q.of(p), keyOf(t, p)
	mended := k.failed.key != key && time.Since(k.failed.at) >= lookGap // by another base, perhaps
	if k.merged && key == k.key || !k.planning.due(p.Head) && !mended {
		return false
	}
	return key != k.key || q.facts(k.plan.Clusters) != k.facts && time.Since(k.at) >= lookGap
}

// failures returns how often the head of p could not be planned, in a row.
func (q *PullRequests) failures(p proposal) int {
	if k := q.of(p); k.planning.of == p.Head {
		return k.planning.failures
	}
	return 0
}

// comesLast reports whether p leaves places for others: its head could not be planned before, or a stranger
// can change it at any time.
func (q *PullRequests) comesLast(t *poll, p proposal) bool { return t.strange(p) || q.failures(p) > 0 }

// free reports whether another job may begin.
func (q *PullRequests) free(last bool) bool {
	n := 0
	for _, j := range q.jobs {
		if j.last {
			n++
		}
	}
	return len(q.jobs)+len(q.ending) < atOnce && (!last || n < atOnceLast)
}

// begun begins to plan p. Its end is sent to ended.
func (q *PullRequests) begun(ctx context.Context, t *poll, p proposal, ended chan<- *job) {
	wait := min(patience<<min(q.failures(p), 10), longestPatience)
	ctx, cancel := context.WithCancel(ctx)
	j := &job{p: p, wish: wishOf(t, p), key: keyOf(t, p), last: q.comesLast(t, p), began: time.Now(), cancel: cancel, done: make(chan struct{})}
	q.jobs[p.name()] = j
	q.p.Log.Info("planning a proposal", "proposal", p.name(), "head", p.Head, "base", t.base)
	go func() {
		defer cancel()
		j.made, j.err = q.patiently(ctx, wait, t, p)
		close(j.done)
		ended <- j
	}()
}

// patiently plans p. It takes no longer than wait from when it may merge.
func (q *PullRequests) patiently(ctx context.Context, wait time.Duration, t *poll, p proposal) (made, error) {
	if err := q.lock(ctx); err != nil {
		return made{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("planning took more than %s", wait))
	defer cancel()
	merged, err := q.p.Source.Merge(ctx, t.base, headOf(p))
	q.unlock()
	m, err := q.make(ctx, t, p, merged, err)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return m, err
}

// lock waits until nothing else merges: the source merges one at a time, and a head that the server does not
// send takes minutes.
func (q *PullRequests) lock(ctx context.Context) error {
	select {
	case q.merging <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (q *PullRequests) unlock() { <-q.merging }

// reap collects the jobs of earlier polls that ended, and ends those whose plan is of no use.
func (q *PullRequests) reap(t *poll) {
	open := make(map[string]string, len(t.open))
	for _, p := range t.open {
		open[p.name()] = wishOf(t, p)
	}
	q.ending = slices.DeleteFunc(q.ending, (*job).ended)
	for name, j := range q.jobs { // a plan onto an older base is completed: commits may come faster than plans
		if open[name] != j.wish {
			j.cancel()
			delete(q.jobs, name)
			q.ending = append(q.ending, j)
			continue
		}
		select {
		case <-j.done:
			q.collect(t, j)
		default:
		}
	}
}

// ended reports whether j has ended.
func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// wait ends all jobs.
func (q *PullRequests) wait() {
	for _, j := range slices.AppendSeq(q.ending, maps.Values(q.jobs)) {
		j.cancel()
		<-j.done
	}
}

// collect takes over what a job made.
func (q *PullRequests) collect(t *poll, j *job) {
	delete(q.jobs, j.p.name())
	k := q.of(j.p)
	if j.err != nil {
		q.p.Done("error", time.Since(j.began))
		q.p.Log.Warn("cannot plan a proposal, retrying", "proposal", j.p.name(), "head", j.p.Head, "error", j.err)
		k.planning.failed(j.p.Head)
		k.merged = false
		k.key, k.failed = "", failure{j.p.Head, document.Short("cannot be planned, trying again: "+fleet.StableText(j.err.Error()), forge.MaxText), j.key, time.Now()}
		return
	}
	k.planning.done()
	k.key, k.at, k.failed = j.key, time.Now(), failure{}
	if k.merged = j.made.Verdict == verdictMerged; k.merged {
		return
	}
	q.p.Done(j.made.Verdict, time.Since(j.began))
	k.plan, k.facts = j.made.Plan, j.made.facts
	if k.shown.Head == "" {
		k.shown, k.recorded = t.plan(j.p.name())
	}
	if !restates(k.shown, j.made) {
		comment := k.shown.Comment
		k.shown, k.recorded = j.made.Plan, false
		k.shown.Comment, k.shown.Text = comment, document.Markdown(k.shown)
	}
}

// restates reports whether a plan says what shown says, whatever either was planned onto.
func restates(shown status.Plan, m made) bool {
	again := m.Plan
	if (again.Tree == "") != (shown.Tree == "") || (again.Look == "") != (shown.Look == "") {
		return false
	}
	again.Base, again.Tree, again.Look, again.Comment, again.Text = shown.Base, shown.Tree, shown.Look, shown.Comment, shown.Text
	a, errA := json.Marshal(again)
	b, errB := json.Marshal(shown)
	return errA == nil && errB == nil && bytes.Equal(a, b) && slices.Equal(again.Clusters, shown.Clusters)
}

// Package forgetest has a forge in memory that behaves as badly as real ones, and the suite
// that every kind of forge passes.
package forgetest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
)

// A World is a forge in memory, with one repository. It is safe for concurrent use.
type World struct {
	Me string // who asks

	// Before, if not nil, is called before each call of a forge.Forge, and may fail it; and
	// After once it is done, and may keep its answer back.
	Before, After func(call string) error
	// Set, if not nil, is called with each status.
	Set func(s forge.Status)
	// Stale is how many of the newest comments a list does not show yet.
	Stale int

	mu       sync.Mutex
	pulls    []forge.PullRequest
	comments map[int][]forge.Comment
	statuses map[string][]forge.Status // by commit, the oldest first
	reviews  map[int][]Word            // by pull request, the oldest first
	heads    map[int][]Moment          // by pull request, the oldest first
	authors  map[int][]string          // by pull request, of each commit
	last     int                       // id of a comment
	writes   int
	second   int // of the forge's clock
}

var (
	_ forge.Forge = (*World)(nil)
	_ Site        = (*World)(nil)
)

// New returns a world in which me asks.
func New(me string) *World {
	return &World{
		Me: me, comments: make(map[int][]forge.Comment), statuses: make(map[string][]forge.Status), reviews: make(map[int][]Word), heads: make(map[int][]Moment), authors: make(map[int][]string),
	}
}

// Put sets a pull request.
func (w *World) Put(p forge.PullRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pulls = slices.DeleteFunc(w.pulls, func(o forge.PullRequest) bool { return o.Number == p.Number })
	w.pulls = append(w.pulls, p)
	if h := w.heads[p.Number]; len(h) == 0 || h[len(h)-1].Head != p.Head {
		w.heads[p.Number] = append(h, Moment{Head: p.Head, At: w.tick()})
	}
}

// A Verb is what somebody does with a pull request in a review.
type Verb string

// The verbs.
const (
	Approve  Verb = "approve"
	Refuse   Verb = "refuse"   // ask for changes
	Withdraw Verb = "withdraw" // take back what was said last, or have it dismissed
	Remark   Verb = "remark"   // comment
)

// A Word is one review.
type Word struct {
	Author, Commit string
	Verb           Verb
	At             time.Time
}

// A Moment is when a pull request came to have a head.
type Moment struct {
	Head string
	At   time.Time
}

// tick returns the next second of the forge's clock.
func (w *World) tick() time.Time {
	w.second++
	return time.Date(2026, 1, 2, 3, 4, w.second, 0, time.UTC)
}

// Review implements Site.
func (w *World) Review(_ testing.TB, number int, author string, verb Verb) {
	w.mu.Lock()
	defer w.mu.Unlock()
	heads := w.heads[number]
	w.reviews[number] = append(w.reviews[number], Word{author, heads[len(heads)-1].Head, verb, w.tick()})
}

// Push implements Site.
func (w *World) Push(_ testing.TB, p forge.PullRequest) forge.PullRequest {
	p.Head = Hash(5000 + len(w.Heads(p.Number)))
	w.Put(p)
	return p
}

// Words returns the reviews of a pull request, the oldest first.
func (w *World) Words(number int) []Word {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.reviews[number])
}

// Heads returns the heads of a pull request, the oldest first.
func (w *World) Heads(number int) []Moment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.heads[number])
}

// Last returns the last word of each author.
func (w *World) Last(number int) map[string]Word {
	last := make(map[string]Word)
	for _, r := range w.Words(number) {
		if r.Verb != Remark {
			last[r.Author] = r
		}
	}
	maps.DeleteFunc(last, func(_ string, r Word) bool { return r.Verb == Withdraw })
	return last
}

// Reviews implements forge.Forge.
func (w *World) Reviews(ctx context.Context, p forge.PullRequest) (out []forge.Review, err error) {
	err = w.do(ctx, "reviews", false, func() error { return nil })
	last := w.Last(p.Number)
	for _, who := range slices.Sorted(maps.Keys(last)) {
		out = append(out, forge.Review{Author: who, Commit: last[who].Commit, Approves: last[who].Verb == Approve})
	}
	return out, err
}

// Wrote has accounts write the commits of a pull request, one each. An empty one is not known.
func (w *World) Wrote(number int, accounts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.authors[number] = accounts
}

// Commits returns the accounts that wrote the commits of a pull request.
func (w *World) Commits(number int) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.authors[number])
}

// Authors implements forge.Forge.
func (w *World) Authors(ctx context.Context, p forge.PullRequest) ([]string, error) {
	err := w.do(ctx, "authors", false, func() error { return nil })
	list := slices.Compact(slices.Sorted(slices.Values(w.Commits(p.Number))))
	return slices.DeleteFunc(list, func(a string) bool { return a == "" }), err
}

// Say adds a comment of somebody, and returns its id.
func (w *World) Say(number int, author, text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	id := strconv.Itoa(w.last)
	w.comments[number] = append(w.comments[number], forge.Comment{ID: id, Author: author, Text: text})
	return id
}

// Pull implements Site.
func (w *World) Pull(_ testing.TB, state forge.State, fork bool) forge.PullRequest {
	n := len(w.pulls) + 1
	p := forge.PullRequest{Number: n, State: state, Author: "carol", Head: Hash(n), Base: "main", Fork: fork}
	if state == forge.Merged {
		p.Result = Hash(1000 + n)
	}
	w.Put(p)
	return p
}

// Remark implements Site.
func (w *World) Remark(_ testing.TB, number int, text string) { w.Say(number, "mallory", text) }

// Status implements Site.
func (w *World) Status(_ testing.TB, commit, name string) forge.Status {
	s, _ := w.Of(commit)
	if s.Name != name {
		return forge.Status{}
	}
	return s
}

// Said returns the comments of a pull request.
func (w *World) Said(number int) []forge.Comment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.comments[number])
}

// Of returns the newest status of a commit, and how often one was set.
func (w *World) Of(commit string) (forge.Status, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.statuses[commit]
	if len(list) == 0 {
		return forge.Status{}, 0
	}
	return list[len(list)-1], len(list)
}

// Writes counts what was written through a forge.Forge.
func (w *World) Writes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes
}

// do makes one call, which writes or not.
func (w *World) do(ctx context.Context, call string, writes bool, act func() error) error {
	if w.Before != nil {
		if err := w.Before(call); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fleet.Errorf(fleet.Unavailable, call, "%w", err)
	}
	w.mu.Lock()
	err := act()
	if writes && err == nil {
		w.writes++
	}
	w.mu.Unlock()
	if err == nil && w.After != nil {
		return w.After(call)
	}
	return err
}

// Self implements forge.Forge.
func (w *World) Self(ctx context.Context) (me string, err error) {
	return w.Me, w.do(ctx, "self", false, func() error { return nil })
}

// Open implements forge.Forge.
func (w *World) Open(ctx context.Context) (out []forge.PullRequest, err error) {
	err = w.do(ctx, "open", false, func() error {
		for _, p := range w.pulls {
			if p.State == forge.Open {
				out = append(out, p)
			}
		}
		slices.SortFunc(out, func(a, b forge.PullRequest) int { return a.Number - b.Number })
		return nil
	})
	return out, err
}

// PullRequest implements forge.Forge.
func (w *World) PullRequest(ctx context.Context, number int) (out forge.PullRequest, err error) {
	err = w.do(ctx, "pull request", false, func() error {
		i := slices.IndexFunc(w.pulls, func(p forge.PullRequest) bool { return p.Number == number })
		if i < 0 {
			return fleet.Errorf(fleet.NotFound, "get pull request", "there is no %d", number)
		}
		out = w.pulls[i]
		return nil
	})
	return out, err
}

// SetStatus implements forge.Forge.
func (w *World) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	return w.do(ctx, "status", true, func() error {
		w.statuses[commit] = append(w.statuses[commit], s)
		if w.Set != nil {
			w.Set(s)
		}
		return nil
	})
}

// Comments implements forge.Forge.
func (w *World) Comments(ctx context.Context, number int) (out []forge.Comment, err error) {
	err = w.do(ctx, "comments", false, func() error {
		all := w.comments[number]
		out = slices.Clone(all[:max(0, len(all)-w.Stale)])
		return nil
	})
	return out, err
}

// find returns the comment of that id, and the pull request that it is on.
func (w *World) find(id string) (number int, c forge.Comment, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for number, list := range w.comments {
		if i := slices.IndexFunc(list, func(c forge.Comment) bool { return c.ID == id }); i >= 0 {
			return number, list[i], nil
		}
	}
	return 0, forge.Comment{}, fleet.Errorf(fleet.NotFound, "get comment", "there is no %s", id)
}

// Comment implements forge.Forge.
func (w *World) Comment(ctx context.Context, number int, id string) (forge.Comment, error) {
	if err := w.do(ctx, "comment", false, func() error { return nil }); err != nil {
		return forge.Comment{}, err
	}
	on, c, err := w.find(id)
	if err == nil && on != number {
		return forge.Comment{}, fleet.Errorf(fleet.NotFound, "get comment", "%s is on another pull request", id)
	}
	return c, err
}

// Write implements forge.Forge.
func (w *World) Write(ctx context.Context, number int, text string) (id string, err error) {
	err = w.do(ctx, "write", true, func() error {
		w.last++
		id = strconv.Itoa(w.last)
		w.comments[number] = append(w.comments[number], forge.Comment{ID: id, Author: w.Me, Text: text})
		return nil
	})
	return id, err
}

// Edit implements forge.Forge.
func (w *World) Edit(ctx context.Context, number int, id, text string) error {
	return w.do(ctx, "edit", true, func() error {
		list := w.comments[number]
		i := slices.IndexFunc(list, func(c forge.Comment) bool { return c.ID == id })
		if i < 0 {
			return fleet.Errorf(fleet.NotFound, "edit comment", "there is no %s", id)
		}
		list[i].Text = text
		return nil
	})
}

// MayWrite implements forge.Forge.
func (w *World) MayWrite(ctx context.Context) (bool, error) {
	return true, w.do(ctx, "may write", false, func() error { return nil })
}

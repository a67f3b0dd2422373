package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A repository has the status branches of one fleet.
type repository struct {
	keys     bool // the agent signs
	mu       sync.Mutex
	branches map[string]fstest.MapFS
	heads    map[string]int

	protected string // the branch that accepts no push any more
	closed    string // the branch that accepts no push for now
}

func (r *repository) read(name string) (fleet.Revision, fstest.MapFS) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.heads[name] == 0 {
		return fleet.Revision{}, fstest.MapFS{}
	}
	return fleet.Revision{Ref: name, Digest: fmt.Sprintf("sha1:%040d", r.heads[name])}, maps.Clone(r.branches[name])
}

func (r *repository) commit(name string, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	if head, _ := r.read(name); head != base {
		return fleet.Revision{}, fleet.Errorf(fleet.Conflict, "commit", "another push came first")
	}
	r.mu.Lock()
	t := maps.Clone(r.branches[name])
	if t == nil {
		t = fstest.MapFS{}
	}
	for p, content := range c.Edits {
		if delete(t, p); content != nil {
			t[p] = &fstest.MapFile{Data: content}
		}
	}
	r.branches[name] = t
	r.heads[name]++
	r.mu.Unlock()
	head, _ := r.read(name)
	return head, nil
}

// arbiter returns that of branch b. Its signatures are hashes.
func (r *repository) arbiter(b sources.Branch) *status.Arbiter {
	a := status.NewArbiter(b)
	if r.keys {
		sum := func(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
		a.Sign = func(content []byte) (string, error) { return sum(content), nil }
		a.Verify = func(content []byte, signature string) (string, error) {
			if sum(content) != signature {
				return "", errors.New("nobody signed it")
			}
			return "me", nil
		}
	}
	return a
}

// moveAsBefore moves the status to the branch called name as earlier versions do, which copy it first, or does
// the first half of that.
func (r *repository) moveAsBefore(name string, wholly bool) {
	from := ""
	for at, t := range r.branches {
		if l, err := status.Locate(t); err == nil && l.MovedTo == "" && l.Owner.Agent != "" && at != name && at != "g" && at != "h" {
			from = at
		}
	}
	head, old := r.read(name)
	there, err := status.Locate(old)
	base, t := r.read(from)
	if from == "" || err != nil || there.Owner.Agent != "" && there.MovedTo == "" {
		return
	}
	edits := map[string][]byte{}
	for p := range old {
		edits[p] = nil
	}
	for p, f := range t {
		edits[p] = f.Data
	}
	if _, err := r.commit(name, head, sources.Commit{Edits: edits}); err == nil && wholly {
		_, _ = r.commit(from, base, sources.Commit{Edits: map[string][]byte{"moved.yaml": []byte("apiVersion: fairlead.dev/v1alpha1\nkind: Moved\nbranch: " + name + "\n")}})
	}
}

// isTarget reports whether the status is on its way to the branch of that name, or was.
func (r *repository) isTarget(name string) bool {
	for _, t := range r.branches {
		if l, _ := status.Locate(t); l.MovedTo == name {
			return true
		}
	}
	return false
}

// has reports whether the status is on the branch of that name, or an old copy of it.
func (r *repository) has(name string) bool {
	l, _ := status.Locate(r.branches[name])
	return l.Owner.Agent != "" && l.MovedTo == ""
}

// isMoving reports whether a move is decided and not complete.
func (r *repository) isMoving() bool {
	for _, t := range r.branches {
		from, _ := status.Locate(t)
		to, _ := status.Locate(r.branches[from.MovedTo])
		if from.MovedTo != "" && !to.HasArrived(from) {
			return true
		}
	}
	return false
}

// isPlain reports whether the status is on the branch of that name, also without its arrived.yaml: a process
// began there.
func (r *repository) isPlain(name string) bool {
	to, _ := status.Locate(r.branches[name])
	to.Arrived = 0
	for _, t := range r.branches {
		if from, _ := status.Locate(t); from.MovedTo == name && !to.HasArrived(from) {
			return false
		}
	}
	return to.MovedTo == ""
}

// A process is one process of the agent. Each of its reads and pushes waits until it is let go.
type process struct {
	*repository

	agent   *Agent
	waiting chan chan answer
	stop    context.CancelFunc
	ended   chan struct{}
	fleet   fleet.ID
	named   string // the status branch that fleet.yaml named when it began
	at      string // the branch that it acts by
	acts    int
}

// An answer says how a call of the repository goes.
type answer int

const (
	answered answer = iota
	lost            // done, and nobody hears of it
	unheard         // not done, and nobody hears of it
)

// await waits until the next call of p may go on.
func (p *process) await(ctx context.Context) (answer, error) {
	goOn := make(chan answer)
	select {
	case p.waiting <- goOn:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case a := <-goOn:
		return a, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// A gated branch is a status branch as p has it.
type gated struct {
	p    *process
	name string
}

func (g gated) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	if _, err := g.p.await(ctx); err != nil {
		return fleet.Revision{}, nil, err
	}
	head, t := g.p.read(g.name)
	return head, tree{t}, nil
}

func (g gated) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	how, err := g.p.await(ctx)
	if err != nil {
		return fleet.Revision{}, err
	}
	head := fleet.Revision{}
	if g.name == g.p.protected || g.name == g.p.closed {
		return fleet.Revision{}, fleet.Errorf(fleet.Unauthorized, "push", "protected branch hook declined")
	}
	if how != unheard {
		head, err = g.p.commit(g.name, base, c)
	}
	if how != answered {
		return fleet.Revision{}, fleet.Errorf(fleet.Unanswered, "push", "connection reset")
	}
	return head, err
}

// begin begins a process that finds the name of the branch in Git.
func (r *repository) begin(named string) *process { return r.beginFor("f", named, "here", Options{}) }

// beginFor begins a process for the fleet id, of an agent that has its secrets at place.
func (r *repository) beginFor(id fleet.ID, named, place string, o Options) *process {
	ctx, stop := context.WithCancel(context.Background())
	p := &process{repository: r, waiting: make(chan chan answer), stop: stop, ended: make(chan struct{}), fleet: id, named: named}
	w := newWorld(fleetOf("1", fleet.Prune{}))
	f := w.fleets["sha1:1"]
	f.ID, f.Config.StatusBranch = id, named
	w.fleets["sha1:1"] = f
	parts := w.parts()
	parts.Place = func(context.Context) (string, error) { return place, nil }
	parts.StatusBranch = func(name string) (StatusBranch, error) {
		b := gated{p, name}
		return StatusBranch{
			Arbiter: r.arbiter(b),
			Locate: func(ctx context.Context) (status.Location, error) {
				_, t, err := b.Read(ctx)
				if err != nil {
					return status.Location{}, err
				}
				return status.Locate(t)
			},
			MoveTo: func(ctx context.Context, to string) error {
				elected := func() error { return nil }
				return status.Move(ctx, status.Guarded(b, elected), gated{p, to}, to)
			},
			Post: func(ctx context.Context, id fleet.ID, was string, owner fleet.Owner) error {
				return status.Post(ctx, gated{p, fleet.DefaultStatusBranch}, id, was, name, owner)
			},
			Read: func(context.Context) (status.Status, error) { return status.Status{}, nil },
		}, nil
	}
	p.agent = New(w.options(o), parts)
	go func() {
		defer close(p.ended)
		p.run(ctx)
		p.agent.closeQueue(ctx)
	}()
	return p
}

// run does what Agent.Run does, with a count in place of passes.
func (p *process) run(ctx context.Context) {
	for ctx.Err() == nil {
		b, err := p.agent.locate(ctx)
		if b == nil || err != nil {
			return
		}
		owned, err := p.agent.claim.Acquire(ctx, b.ownership())
		if errors.Is(err, status.ErrMoved) {
			continue
		}
		if err == nil && owned && b.name != fleet.DefaultStatusBranch {
			_ = status.Signpost(ctx, gated{p, fleet.DefaultStatusBranch}, p.fleet, b.name)
		}
		for p.at = b.name; owned && err == nil && ctx.Err() == nil; {
			if err = p.agent.claim.Check(ctx, func(context.Context) error { return nil }); err == nil {
				p.act(ctx, gated{p, b.name}, b.Arbiter.(*status.Arbiter))
				select {
				case <-time.After(10 * time.Minute):
				case <-ctx.Done():
				}
			}
		}
		return
	}
}

// act counts, as the writer of the status does: onto a commit that names this process.
func (p *process) act(ctx context.Context, b gated, a *status.Arbiter) {
	head, t, err := b.Read(ctx)
	if err != nil {
		return
	}
	if owner, _ := p.agent.claim.Owner(); err == nil {
		if now, err := a.In(t); err != nil || now != owner {
			return
		}
	}
	_, err = b.Commit(ctx, head, sources.Commit{Edits: map[string][]byte{"count": []byte(strconv.Itoa(count(t) + 1)), "fleet.yaml": []byte("apiVersion: fairlead.dev/v1alpha1\nkind: FleetStatus\nfleet: " + string(p.fleet) + "\n")}})
	if err == nil {
		p.acts++
	}
}

func count(t sources.Tree) int {
	b, err := fs.ReadFile(t, "count")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(string(b))
	return n
}

// acting returns the processes that would still act after their next read, with where.
func acting(all []*process) (list []string) {
	for _, p := range all {
		owner, owned := p.agent.claim.Owner()
		select {
		case <-p.ended:
			continue
		default:
		}
		if !owned {
			continue
		}
		_, t := p.read(p.at)
		now, _, err := p.arbiter(fixed{t}).Succession(context.Background())
		if err == nil && now == owner {
			list = append(list, fmt.Sprintf("process %d on %s", owner.Incarnation, p.at))
		}
	}
	return list
}

// TestOneProcessActs: whatever names commits and flags give to the status branch, whenever processes of the
// agent begin, stop and lose answers, whoever waits for the fleet, and whatever other fleet the repository has, at most
// one of them acts for a fleet, and the last one has all that was written.
func TestOneProcessActs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		days := rapid.SliceOfN(rapid.Uint16(), 10, 120).Draw(rt, "days")
		var why string
		synctest.Test(t, func(*testing.T) { why = live(days) })
		if why != "" {
			rt.Fatal(why)
		}
	})
}

// live has processes live as days say, and returns what went wrong.
func live(days []uint16) string {
	names := []string{fleet.DefaultStatusBranch, "a", "b"}
	r := &repository{branches: map[string]fstest.MapFS{}, heads: map[string]int{}, keys: days[0]%2 == 0}
	var all []*process
	var waits *process    // nil: no agent waits
	var others []*process // of the other fleet
	defer func() {
		for _, p := range append(all, others...) {
			p.stop()
			<-p.ended
		}
	}()
	unanswered := 0
	release := func(p *process, how answer) {
		select {
		case goOn := <-p.waiting:
			goOn <- how
		default:
			time.Sleep(20 * time.Second) // it waits for time, or ended
		}
		synctest.Wait()
	}
	named := names[0]
	all = append(all, r.begin(named))
	acted := func() bool { return slices.ContainsFunc(all, func(p *process) bool { return p.acts > 0 }) }
	for _, day := range days {
		synctest.Wait()
		what, n := int(day%20), int(day/20)
		p := all[n%len(all)]
		switch n /= len(all); {
		case what == 0 && len(all) < 8:
			all = append(all, r.begin(named))
		case what == 7 && waits == nil && acted(): // an agent with other secrets waits for the fleet
			waits = r.beginFor("f", named, "there", Options{WaitForOwnership: true})
			all = append(all, waits)
		case what == 8 && len(all) < 8 && acted(): // somebody starts the agent with --status-branch, which leaves no signpost
			all = append(all, r.beginFor("f", named, "here", Options{StatusBranch: names[n%len(names)]}))
		case what == 9 && n%4 == 0 && len(others) < 4: // the repository has another fleet, of the same agent
			others = append(others, r.beginFor("g", []string{"g", "h"}[n/4%2], "here", Options{}))
		case what >= 9 && what < 12 && len(others) > 0:
			for range 1 + n%8 {
				release(others[n/8%len(others)], answered)
			}
		case what == 1 && r.protected == "":
			named = names[n%len(names)]
		case what == 2:
			p.stop()
		case what == 6 && n%8 == 0 && r.protected == "" && !r.isTarget(names[0]) && acted(): // somebody protects it, stops the agent, and names another one
			r.protected, named = names[0], names[1+n%2]
			for _, p := range all {
				p.stop()
			}
		case what == 3:
			release(p, []answer{lost, unheard}[n%2])
			unanswered++
		case what == 4 && len(all) == 1 && acted(): // a process of an earlier version began and stopped
			r.moveAsBefore(named, n%2 == 0)
		case what == 5: // somebody damages the file, or deletes it; without it, a reservation is a branch that was deleted
			at := names[n%len(names)]
			if head, t := r.read(at); t["arrived.yaml"] != nil && r.isPlain(at) && (n%2 == 1 || r.has(at)) {
				_, _ = r.commit(at, head, sources.Commit{Edits: map[string][]byte{"arrived.yaml": [][]byte{nil, []byte("<<<<")}[n%2]}})
			}
		case what == 7: // somebody protects a branch for a while, and not the one that has the status: only a leader may leave that
			if at := append(names, "")[n%(len(names)+1)]; !r.has(at) && acted() {
				r.closed = at
			}
		default:
			for range 1 + n%8 {
				release(p, answered)
			}
		}
		synctest.Wait()
		if list := acting(all); len(list) > 1 {
			return fmt.Sprintf("several processes act: %v", list)
		}
		if list := acting(others); len(list) > 1 {
			return fmt.Sprintf("several processes of the other fleet act: %v", list)
		}
		if waits != nil && waits.acts > 0 {
			return fmt.Sprintf("an agent that waits acts on %s, and the fleet has an owner", waits.at)
		}
	}
	if r.closed == named && r.protected == "" && !r.isMoving() && !r.has(named) { // care goes on where the status is
		next := r.begin(named)
		all = append(all, next)
		synctest.Wait()
		for range 200 {
			release(next, answered)
		}
		if next.acts == 0 {
			return fmt.Sprintf("nobody acts while %s accepts no push: the last one is at %q", named, next.at)
		}
	}
	r.closed = ""
	var last *process
	for range 2 { // a status that does not say its fleet yet is moved by the next start
		last = r.begin(named)
		all = append(all, last)
		synctest.Wait()
		for range 200 {
			if _, owned := last.agent.claim.Owner(); owned && last.acts > 0 {
				break
			}
			release(last, answered)
		}
		if last.at == named {
			break
		}
		last.stop()
	}
	if _, owned := last.agent.claim.Owner(); !owned || last.at != named {
		return fmt.Sprintf("the last process does not act on %s: %v on %q", named, owned, last.at)
	}
	acts := 0
	for _, p := range all {
		acts += p.acts
	}
	_, there := r.read(named)
	if got := count(tree{there}); got < acts || got > acts+unanswered {
		return fmt.Sprintf("%d were counted on %s, want %d: %v", got, named, acts, slices.Sorted(maps.Keys(there)))
	}
	if list := acting(all); len(list) != 1 {
		return fmt.Sprintf("in the end these act: %v", list)
	}
	return ""
}

// A fixed branch has one content.
type fixed struct{ t fstest.MapFS }

func (f fixed) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	return fleet.Revision{Ref: "x", Digest: "sha1:1"}, tree{f.t}, nil
}

func (fixed) Commit(context.Context, fleet.Revision, sources.Commit) (fleet.Revision, error) {
	return fleet.Revision{}, errors.New("not used")
}

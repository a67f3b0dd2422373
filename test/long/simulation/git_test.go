package simulation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"fairlead.dev/agent"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A tree is the content of one revision.
type tree struct{ fstest.MapFS }

// Digest implements sources.Tree.
func (t tree) Digest(path string) (string, error) {
	info, err := t.Stat(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t.MapFS)) {
		if name == path || path == "." || info.IsDir() && strings.HasPrefix(name, path+"/") {
			fmt.Fprintf(h, "%s\x00%x\x00", strings.TrimPrefix(name, path), sha256.Sum256(t.MapFS[name].Data))
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)), nil
}

// A repository is where people push to.
type repository struct {
	mu    sync.Mutex
	trees []fstest.MapFS
	lost  int             // number of first revisions that are gone
	why   fleet.ErrorKind // what the source says of those
}

// rewrite removes all revisions but the newest, as a forced push does. The server may have them still, and a key
// that signed them was withdrawn: then they are refused.
func (r *repository) rewrite(refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost, r.why = len(r.trees)-1, fleet.NotFound
	if refused {
		r.why = fleet.Invalid
	}
}

func revision(n int) fleet.Revision {
	return fleet.Revision{Ref: "main", Digest: fmt.Sprintf("sha1:%012x%028d", n, 0)}
}

// push makes files the newest revision.
func (r *repository) push(files map[string]string) fleet.Revision {
	t := fstest.MapFS{}
	for name, text := range files {
		t[name] = &fstest.MapFile{Data: []byte(text)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trees = append(r.trees, t)
	return revision(len(r.trees))
}

func (r *repository) resolve(context.Context) (fleet.Revision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return revision(len(r.trees)), nil
}

func (r *repository) fetch(rev fleet.Revision) (sources.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, t := range r.trees {
		switch {
		case rev.Digest != revision(i+1).Digest:
		case i < r.lost:
			return nil, fleet.Errorf(r.why, "fetch "+rev.String(), "history was rewritten")
		default:
			return tree{t}, nil
		}
	}
	return nil, fleet.Errorf(fleet.NotFound, "fetch "+rev.String(), "no such revision")
}

// A source is the repository as an agent reaches it.
type source struct{ in *incarnation }

var _ sources.Source = source{}

// Resolve implements sources.Source.
func (s source) Resolve(ctx context.Context) (fleet.Revision, error) {
	return through(ctx, s.in, theSource, "resolve", false, s.in.life.repository.resolve)
}

// Fetch implements sources.Source.
func (s source) Fetch(ctx context.Context, rev fleet.Revision) (sources.Tree, error) {
	return through(ctx, s.in, theSource, "fetch "+rev.Hash(), false, func(context.Context) (sources.Tree, error) {
		return s.in.life.repository.fetch(rev)
	})
}

// A branch is the status branch, where it really is.
type branch struct {
	mu      sync.Mutex
	commits int
	files   fstest.MapFS
}

var _ sources.Branch = (*branch)(nil)

func (b *branch) head() fleet.Revision {
	if b.commits == 0 {
		return fleet.Revision{}
	}
	return fleet.Revision{Ref: "fairlead/status", Digest: revision(b.commits).Digest}
}

// Read implements sources.Branch.
func (b *branch) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.head(), tree{b.files}, nil
}

// Commit implements sources.Branch.
func (b *branch) Commit(_ context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if base != b.head() {
		return fleet.Revision{}, fleet.Errorf(fleet.Conflict, "commit", "the branch is at another revision")
	}
	next := maps.Clone(b.files)
	if next == nil {
		next = fstest.MapFS{}
	}
	changed := false
	for path, content := range c.Edits {
		old, ok := next[path]
		switch {
		case content == nil && ok:
			delete(next, path)
			changed = true
		case content != nil && (!ok || !bytes.Equal(old.Data, content)):
			next[path] = &fstest.MapFile{Data: content}
			changed = true
		}
	}
	if changed {
		b.files = next
		b.commits++
	}
	return b.head(), nil
}

// count returns how many commits there are.
func (b *branch) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.commits
}

// texts returns the files of the branch by path.
func (b *branch) texts() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(map[string]string, len(b.files))
	for path, f := range b.files {
		out[path] = string(f.Data)
	}
	return out
}

// whoKey is the key of contexts for who makes a call.
type whoKey struct{}

func as(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

func who(ctx context.Context) string {
	s, _ := ctx.Value(whoKey{}).(string)
	return s
}

// A line is the status branch as an agent reaches it.
type line struct{ in *incarnation }

// Read implements sources.Branch.
func (l line) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	type head struct {
		rev  fleet.Revision
		tree sources.Tree
	}
	h, err := through(ctx, l.in, theBranch, "read for "+who(ctx), false, func(ctx context.Context) (head, error) {
		rev, t, err := l.in.life.branch.Read(ctx)
		l.in.read(who(ctx))
		return head{rev, t}, err
	})
	return h.rev, h.tree, err
}

// read notes that the agent reads what people ask for.
func (in *incarnation) read(by string) {
	if by == "requests" {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.readAt = time.Now()
	}
}

// Commit implements sources.Branch.
func (l line) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	subject, _, _ := strings.Cut(c.Message, "\n")
	name := fmt.Sprintf("commit for %s: %s", who(ctx), subject)
	return through(ctx, l.in, theBranch, name, true, func(ctx context.Context) (fleet.Revision, error) {
		return l.in.life.branch.Commit(ctx, base, c)
	})
}

// A named branch says who uses it.
type named struct {
	sources.Branch
	who string
}

// Read implements sources.Branch.
func (n named) Read(ctx context.Context) (fleet.Revision, sources.Tree, error) {
	return n.Branch.Read(as(ctx, n.who))
}

// Commit implements sources.Branch.
func (n named) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	return n.Branch.Commit(as(ctx, n.who), base, c)
}

// ledger returns the status branch with the real parts on it.
func (in *incarnation) ledger(string) (agent.StatusBranch, error) {
	watched := status.Watch(line{in})
	arbiter := status.NewArbiter(named{watched, "arbiter"})
	requests, scales := status.NewRequests(named{watched, "requests"}), status.NewScales(named{watched, "scales"})
	plans := status.NewPlans(named{watched, "plans"}) // lives have no forge, so that nobody plans for it, or asks there
	requests.Owner, scales.Owner, plans.Owner = arbiter.In, arbiter.In, arbiter.In
	return agent.StatusBranch{
		Arbiter: arbiter,
		Read: func(ctx context.Context) (status.Status, error) {
			_, t, err := watched.Read(as(ctx, "record"))
			if err != nil {
				return status.Status{}, err
			}
			return status.Read(t)
		},
		ReadCluster: func(ctx context.Context, k fleet.Key) (status.Cluster, bool, error) {
			_, t, err := watched.Read(as(ctx, "record"))
			if err != nil {
				return status.Cluster{}, false, err
			}
			return status.ReadCluster(t, k)
		},
		Requests:  requests,
		Scales:    scales,
		Plans:     plans,
		Approvals: status.NewApprovals(named{watched, "approvals"}),
		Asks:      status.NewRequests(named{watched, "asks"}),
		Writer: func(owner fleet.Owner, _ *status.Notifications) sources.StatusWriter {
			return status.NewWriter(watched, status.Options{Owner: owner, OwnerIn: arbiter.In, Random: func(d time.Duration) time.Duration { return d / 2 }})
		},
	}, nil
}

// TestLedgerIsWhole: lives have every part of the status branch that agents of people
// have, as few lives come to each.
func TestLedgerIsWhole(t *testing.T) {
	l, err := (&incarnation{life: &life{}}).ledger("")
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Wrote" && name != "Signed" && name != "Locate" && name != "MoveTo" && name != "Signpost" && name != "Post" { // lives have neither webhooks nor keys, and one status branch
			t.Errorf("the ledger of lives has no %s", name)
		}
	}
}

package ownership_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A server has the status branch of one fleet.
type server struct {
	mu      sync.Mutex
	files   fstest.MapFS
	commits int
	deleted time.Time // that somebody deleted the branch, or damaged a file
}

type files struct{ fstest.MapFS }

func (f files) Digest(p string) (string, error) {
	b, err := fs.ReadFile(f, p)
	return string(b), err
}

// A line is the server as one process reaches it: at times not at all, at times as it was before.
type line struct {
	of    *server
	mu    sync.Mutex
	away  bool
	stale *fstest.MapFS // what reads see; nil: what is there
	at    int           // commits of stale
	sound time.Time     // since when nothing is wrong
}

func revisionOf(n int) fleet.Revision {
	if n == 0 {
		return fleet.Revision{}
	}
	return fleet.Revision{Ref: "status", Digest: fmt.Sprintf("sha1:%040d", n)}
}

func (l *line) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.away:
		return fleet.Revision{}, nil, fleet.Errorf(fleet.Unavailable, "read", "no answer")
	case l.stale != nil:
		return revisionOf(l.at), files{*l.stale}, nil
	case len(l.of.files) == 0:
		return fleet.Revision{}, files{}, nil
	}
	return revisionOf(l.of.commits), files{l.of.files}, nil
}

func (l *line) Commit(_ context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	head := revisionOf(l.of.commits)
	if len(l.of.files) == 0 {
		head = fleet.Revision{}
	}
	switch {
	case l.away:
		return fleet.Revision{}, fleet.Errorf(fleet.Unavailable, "push", "no answer")
	case base != head:
		return fleet.Revision{}, fleet.Errorf(fleet.Conflict, "push", "the branch is at another revision")
	}
	next := maps.Clone(l.of.files)
	if next == nil {
		next = fstest.MapFS{}
	}
	for p, content := range c.Edits {
		delete(next, p)
		if content != nil {
			next[p] = &fstest.MapFile{Data: content}
		}
	}
	l.of.files = next
	l.of.commits++
	return revisionOf(l.of.commits), nil
}

// soundSince returns since when nothing is wrong with the line; false: something is.
func (l *line) soundSince() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sound, !l.away && l.stale == nil
}

// A process is one start of the agent.
type process struct {
	line  *line
	claim *ownership.Claim
	kill  context.CancelFunc
	done  chan struct{}

	mu    sync.Mutex
	began time.Time // zero: it does not own the fleet yet
	ended bool      // another process began, as it read
}

const everySo = 10 * time.Second // a process looks who owns the fleet

func (s *server) start() *process {
	p := &process{line: &line{of: s, sound: time.Now()}, done: make(chan struct{})}
	p.claim = ownership.New(ownership.Options{Self: "me", Interval: everySo}, ownership.Parts{Metrics: unseen{}, Ready: func(string) {}, Log: slog.New(slog.DiscardHandler)})
	var ctx context.Context
	ctx, p.kill = context.WithCancel(context.Background())
	go func() {
		defer close(p.done)
		owned, err := p.claim.Acquire(ctx, ownership.Branch{
			Arbiter: status.NewArbiter(status.Watch(p.line)), Read: func(context.Context) (status.Status, error) { return status.Status{}, nil },
		})
		if owned && err == nil {
			p.mu.Lock()
			p.began = time.Now()
			p.mu.Unlock()
		}
		for owned && err == nil && ctx.Err() == nil {
			if err = p.claim.Check(ctx, written); err == nil {
				select {
				case <-time.After(everySo):
				case <-ctx.Done():
				}
			}
		}
		p.mu.Lock()
		p.ended = err != nil
		p.mu.Unlock()
	}()
	return p
}

// acts reports whether the process changes a cluster now, and since when it owns the fleet.
func (p *process) acts() (since time.Time, is bool) {
	p.mu.Lock()
	began, ended := p.began, p.ended
	p.mu.Unlock()
	return began, !began.IsZero() && !ended && p.claim.MayAct(fleet.Key{Namespace: "prod", Name: "eu"}) == nil
}

// grace is how long two processes may both act: until the first one looks, or is looked for.
const grace = everySo + 5*time.Second

// A deed is what somebody does to the server, a line or a process.
type deed struct {
	kind  string
	which int           // process
	lasts time.Duration // until the next deed
}

// TestOneOwner: while processes of one agent start and are killed, servers lag or do not answer, and the
// branch is deleted or damaged, no two processes act for longer than it takes to look, a process that is
// alone acts all the time, and at the end one start is enough.
func TestOneOwner(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.SampledFrom([]string{"start", "start", "kill", "away", "lag", "sound", "sound", "delete", "damage", "nothing"})
		var deeds []deed
		for range rapid.IntRange(1, 12).Draw(r, "deeds") {
			deeds = append(deeds, deed{kind.Draw(r, "deed"), rapid.IntRange(0, 2).Draw(r, "process"), time.Duration(rapid.IntRange(1, 60).Draw(r, "seconds")) * time.Second})
		}
		var wrong string
		synctest.Test(t, func(*testing.T) { wrong = live(deeds) })
		if wrong != "" {
			r.Fatal(wrong)
		}
	})
}

// live does all deeds, and returns what went wrong.
func live(deeds []deed) string {
	s := &server{deleted: time.Now()}
	running := []*process{s.start()}
	lone := time.Now() // since when there is one process
	defer func() {
		for _, p := range running {
			p.kill()
			<-p.done
		}
	}()
	time.Sleep(grace)
	for n, d := range deeds {
		p := running[d.which%len(running)]
		switch d.kind {
		case "start":
			if len(running) < 3 {
				running = append(running, s.start())
			}
		case "kill":
			p.kill()
			<-p.done
			at := d.which % len(running)
			running = append(append([]*process{}, running[:at]...), running[at+1:]...)
			if len(running) == 0 {
				running = append(running, s.start())
			}
		default:
			s.do(d.kind, p.line)
		}
		if len(running) > 1 || d.kind == "kill" {
			lone = time.Now()
		}
		for end := time.Now().Add(d.lasts); time.Now().Before(end); time.Sleep(3 * time.Second) {
			synctest.Wait()
			if wrong := s.judge(running, lone); wrong != "" {
				return fmt.Sprintf("deed %d, %s: %s", n, d.kind, wrong)
			}
		}
	}
	for _, p := range running {
		p.kill()
		<-p.done
	}
	running = []*process{s.start()}
	time.Sleep(10 * time.Minute) // a start waits for pushes, and between tries
	if _, acts := running[0].acts(); !acts {
		return "at the end nobody acts"
	}
	return ""
}

func (s *server) do(kind string, l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch kind {
	case "away":
		l.away = true
	case "lag":
		was := maps.Clone(s.files)
		l.stale, l.at = &was, s.commits
	case "sound":
		l.away, l.stale, l.sound = false, nil, time.Now()
	case "delete":
		s.files, s.deleted = nil, time.Now()
	case "damage":
		if s.files != nil {
			s.files = maps.Clone(s.files)
			s.files["incarnation.yaml"] = &fstest.MapFile{Data: []byte("{")}
			s.commits++
			s.deleted = time.Now()
		}
	}
}

// judge returns what is wrong now. lone is since when there is one process.
func (s *server) judge(running []*process, lone time.Time) string {
	now := time.Now()
	old := func(t time.Time) bool { return now.Sub(t) > grace }
	owners := 0
	for _, p := range running {
		since, acts := p.acts()
		sound, is := p.line.soundSince()
		// A process that was cut off goes on for half a minute by what it read before.
		if acts && old(since) && is && now.Sub(sound) > grace+30*time.Second {
			owners++
		}
		p.mu.Lock()
		ended := p.ended
		p.mu.Unlock()
		if len(running) == 1 && !since.IsZero() && !since.Before(lone) && !acts {
			return fmt.Sprintf("the only process, which began %s ago, does not act; ended: %t", now.Sub(since), ended)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if owners > 1 && now.Sub(s.deleted) > grace+30*time.Second {
		return fmt.Sprintf("%d processes act", owners)
	}
	return ""
}

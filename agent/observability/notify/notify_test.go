package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/observability/notify"
	"fairlead.dev/fleet"
)

// A world is a status branch with events on it, and targets that take them or do not.
type world struct {
	mu      sync.Mutex
	pending []fleet.Notification
	sent    []string // "target: ids"
	fails   map[string]error
	targets []fleet.NotificationTarget
	notify  func([]fleet.Notification)
	changed int
	late    bool // the branch has what was told a while longer
	may     bool
	started time.Time
}

// Told implements notify.Told: the branch forgets, and says so.
func (w *world) Told(list []fleet.Notification) {
	w.mu.Lock()
	for _, told := range list {
		if w.late {
			break
		}
		for i, p := range w.pending {
			if p.ID == told.ID {
				w.pending[i].Targets = without(p.Targets, told.Targets[0])
			}
		}
	}
	left, late := append([]fleet.Notification(nil), w.pending...), w.late
	w.mu.Unlock()
	if !late {
		w.notify(left)
	}
}

func without(list []string, name string) (out []string) {
	for _, s := range list {
		if s != name {
			out = append(out, s)
		}
	}
	return out
}

type sender struct {
	*world
	name string
}

func (s sender) Send(ctx context.Context, m notify.Message) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, e := range m.Events {
		ids = append(ids, e.ID)
	}
	if err := s.fails[s.name]; err != nil {
		s.sent = append(s.sent, fmt.Sprintf("%s after %s: %s", s.name, time.Since(s.started).Round(time.Minute), "failed"))
		return 0, err
	}
	s.sent = append(s.sent, s.name+": "+strings.Join(ids, " "))
	return len(m.Events), ctx.Err()
}

func (w *world) event(id string, targets ...string) {
	w.mu.Lock()
	w.pending = append(w.pending, fleet.Notification{Event: fleet.Event{ID: id, Type: fleet.ClusterUpgraded, At: time.Now(), Cluster: eu1}, Targets: targets})
	left := append([]fleet.Notification(nil), w.pending...)
	w.mu.Unlock()
	w.notify(left)
	synctest.Wait()
}

func (w *world) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.sent
	w.sent = nil
	return out
}

// tell runs a notifier of chat and mail in a bubble, while do plays.
func tell(t *testing.T, do func(t *testing.T, w *world, n *notify.Notifier)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{may: true, fails: map[string]error{}, targets: []fleet.NotificationTarget{{Name: "chat"}, {Name: "mail"}}, started: time.Now()}
		n := notify.New(notify.Parts{
			Fleet: func() fleet.ID { return "edge" }, Known: func() bool { return true }, May: func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.may },
			Targets: func() []fleet.NotificationTarget { w.mu.Lock(); defer w.mu.Unlock(); return w.targets },
			Open:    func(t fleet.NotificationTarget) (notify.Sender, error) { return sender{w, t.Name}, nil },
			Count:   func(string, int, error) {}, Changed: func() { w.changed++ }, Log: slog.New(slog.DiscardHandler),
		})
		w.notify = n.Notifications().Pending
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- n.Run(ctx, w) }()
		synctest.Wait()
		do(t, w, n)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestRun: each target is told once, and one that fails holds up no other.
func TestRun(t *testing.T) {
	tell(t, func(t *testing.T, w *world, n *notify.Notifier) {
		w.event("1", "chat", "mail")
		got := w.said()
		if len(got) != 2 || got[0] == got[1] {
			t.Errorf("told %v", got)
		}
		time.Sleep(time.Hour)
		if got := w.said(); got != nil {
			t.Errorf("told again: %v", got)
		}

		w.fails["mail"] = errors.New("connection refused")
		w.event("2", "chat", "mail")
		w.event("3", "chat", "mail")
		w.event("4", "mail")
		var chat []string
		for _, s := range w.said() {
			if strings.HasPrefix(s, "chat") {
				chat = append(chat, s)
			}
		}
		if diff := cmp.Diff([]string{"chat: 2", "chat: 3"}, chat); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, there := n.Problem(); there {
			t.Error("a failure that may pass is a problem at once")
		}
		time.Sleep(20 * time.Minute)
		if p, there := n.Problem(); !there || !strings.Contains(p.Message, "mail: connection refused") || strings.Contains(p.Message, "chat") {
			t.Errorf("the problem is %q", p.Message)
		}
		if tries := len(w.said()); tries < 4 || tries > 10 {
			t.Errorf("%d tries in 20 minutes", tries)
		}
		delete(w.fails, "mail")
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff([]string{"mail: 2", "mail: 3 4"}, w.said()); diff != "" {
			t.Errorf("what may have been taken comes as it was, then the rest (-want +got):\n%s", diff)
		}
		if _, there := n.Problem(); there || w.changed != 2 {
			t.Errorf("the problem stays, or changed %d times", w.changed)
		}
	})
}

// TestDropped: what nobody took for a day goes, and what is for a target that Git has no
// more.
func TestDropped(t *testing.T) {
	tell(t, func(t *testing.T, w *world, _ *notify.Notifier) {
		w.fails["mail"] = errors.New("connection refused")
		w.event("1", "mail", "pager")
		if diff := cmp.Diff([]string{"mail"}, w.pending[0].Targets); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(23 * time.Hour)
		if len(w.pending[0].Targets) != 1 {
			t.Error("it is dropped early")
		}
		time.Sleep(2 * time.Hour)
		if len(w.pending[0].Targets) != 0 {
			t.Error("it is not dropped")
		}
	})
}

// TestToldOnce: what the branch has a while longer is not told again.
func TestToldOnce(t *testing.T) {
	tell(t, func(t *testing.T, w *world, _ *notify.Notifier) {
		w.late = true
		w.event("1", "chat")
		w.event("2", "chat")
		if diff := cmp.Diff([]string{"chat: 1", "chat: 2"}, w.said()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestMayNot: an agent whose fleet is another's tells nobody.
func TestMayNot(t *testing.T) {
	tell(t, func(t *testing.T, w *world, _ *notify.Notifier) {
		w.may = false
		w.event("1", "chat")
		time.Sleep(time.Hour)
		if got := w.said(); got != nil {
			t.Errorf("told %v", got)
		}
		w.mu.Lock()
		w.may = true
		w.mu.Unlock()
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff([]string{"chat: 1"}, w.said()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestRetryAfter: a target that says when it may be asked again is left alone until then.
func TestRetryAfter(t *testing.T) {
	tell(t, func(t *testing.T, w *world, n *notify.Notifier) {
		w.fails["chat"] = notify.Refused(429, time.Hour)
		w.event("1", "chat")
		time.Sleep(59 * time.Minute)
		if diff := cmp.Diff([]string{"chat after 0s: failed"}, w.said()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Minute)
		if diff := cmp.Diff([]string{"chat after 1h0m0s: failed"}, w.said()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.fails["mail"] = notify.Refused(403, 0)
		w.event("2", "mail")
		if p, there := n.Problem(); !there || !strings.Contains(p.Message, "mail: it answers 403") {
			t.Errorf("a refusal is no problem at once: %q", p.Message)
		}
	})
}

// TestRefusedIsNotTaken: what a target refused was not taken, so all that waits comes in one message.
func TestRefusedIsNotTaken(t *testing.T) {
	tell(t, func(t *testing.T, w *world, _ *notify.Notifier) {
		w.fails["mail"] = notify.Refused(403, 0)
		w.event("1", "mail")
		w.event("2", "mail")
		w.mu.Lock()
		delete(w.fails, "mail")
		w.sent = nil
		w.mu.Unlock()
		time.Sleep(10 * time.Minute)
		if diff := cmp.Diff([]string{"mail: 1 2"}, w.said()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

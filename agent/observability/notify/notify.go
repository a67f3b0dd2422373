package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

const (
	// first and most are the waits after a target could not be told.
	first, most = 5 * time.Second, 5 * time.Minute
	// keep is how long an event waits for its target.
	keep = 24 * time.Hour
)

// Parts are what a Notifier is put together from. All are required.
type Parts struct {
	Fleet   func() fleet.ID
	Targets func() []fleet.NotificationTarget // of now
	Known   func() bool                       // reports whether Targets are known yet
	// Open returns what tells a target. It is asked again for each message.
	Open func(t fleet.NotificationTarget) (Sender, error)
	May  func() bool // reports whether the fleet is this agent's
	// Count is called with each message: how many events a target got, or why not.
	Count func(target string, events int, err error)
	// Changed is called when Problem changes.
	Changed func()
	Log     *slog.Logger
}

// A Notifier tells the targets of one fleet. It is safe for concurrent use.
type Notifier struct {
	p    Parts
	wake chan struct{}

	mu       sync.Mutex
	pending  []fleet.Notification
	problems map[string]string // why a target is not told, by its name
}

// New returns a notifier that has sent nothing yet.
func New(p Parts) *Notifier {
	return &Notifier{p: p, wake: make(chan struct{}, 1), problems: map[string]string{}}
}

// Notifications returns what a writer of the status branch needs.
func (n *Notifier) Notifications() *status.Notifications {
	return &status.Notifications{
		Events: Events, Pending: n.put,
		Enabled: func() (enabled, known bool) { return len(n.p.Targets()) > 0, n.p.Known() },
		Targets: func(e fleet.Event) []string {
			var names []string
			for _, t := range n.p.Targets() {
				if t.Wants(e) {
					names = append(names, t.Name)
				}
			}
			return names
		},
	}
}

// put takes what is to be told.
func (n *Notifier) put(list []fleet.Notification) {
	n.mu.Lock()
	n.pending = list
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// A Told takes what people were told, so that they are not told again. See status.Writer.
type Told interface{ Told([]fleet.Notification) }

// A delivery is one target with what it is to be told.
type delivery struct {
	busy   bool
	after  time.Time // not before
	waits  *wait.Backoff
	done   map[string]bool // ids that were told and are still on the branch
	events []fleet.Event   // that wait
	tried  map[string]bool // ids of a message that may have been taken; empty: none
}

// result is how a message ended.
type result struct {
	target string
	told   []fleet.Event
	left   []fleet.Event // of the message
	err    error
}

// Run tells targets until ctx ends.
func (n *Notifier) Run(ctx context.Context, w Told) error {
	deliveries, ended := map[string]*delivery{}, make(chan result)
	var sending sync.WaitGroup
	defer sending.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			go func() { sending.Wait(); close(ended) }()
			for r := range ended { // what was told is noted
				n.finish(deliveries, r, w)
			}
			return nil
		case r := <-ended:
			n.finish(deliveries, r, w)
		case <-n.wake:
		case <-timer.C:
		}
		if !n.p.May() {
			timer.Reset(most)
			continue
		}
		if next := n.start(ctx, deliveries, w, &sending, ended); next > 0 {
			timer.Reset(next)
		}
	}
}

// start sends what waits for targets that are not busy, and returns when the next can
// start; 0: nothing waits.
func (n *Notifier) start(ctx context.Context, deliveries map[string]*delivery, w Told, sending *sync.WaitGroup, ended chan<- result) time.Duration {
	targets := n.p.Targets()
	n.assign(targets, deliveries, w)
	next := time.Duration(0)
	for _, t := range targets {
		l := deliveries[t.Name]
		if l.busy || len(l.events) == 0 {
			continue
		}
		if d := time.Until(l.after); d > 0 {
			if next == 0 || d < next {
				next = d
			}
			continue
		}
		l.busy = true
		m := Message{Fleet: n.p.Fleet(), Events: l.message()}
		sending.Go(func() {
			told, err := n.send(ctx, t, m)
			ended <- result{target: t.Name, told: m.Events[:told], left: m.Events[told:], err: err}
		})
	}
	return next
}

// message returns the events of the next message: those of one that may have been taken, and no others, so
// that it has the same id; or all.
func (l *delivery) message() []fleet.Event {
	again := slices.DeleteFunc(slices.Clone(l.events), func(e fleet.Event) bool { return !l.tried[e.ID] })
	if len(again) > 0 {
		return again
	}
	return l.events
}

// assign gives what is to be told to the targets. What is too old, or for a target
// that is none any more, is dropped.
func (n *Notifier) assign(targets []fleet.NotificationTarget, deliveries map[string]*delivery, w Told) {
	n.mu.Lock()
	pending := slices.Clone(n.pending)
	n.mu.Unlock()
	for _, t := range targets {
		if deliveries[t.Name] == nil {
			deliveries[t.Name] = &delivery{done: map[string]bool{}, waits: backoff.New(first, most)}
		}
	}
	there := map[string]bool{}
	for _, l := range deliveries {
		l.events = nil
	}
	var dropped []fleet.Notification
	for _, p := range pending {
		for _, name := range p.Targets {
			there[name+" "+p.ID] = true
			known := slices.ContainsFunc(targets, func(t fleet.NotificationTarget) bool { return t.Name == name })
			switch {
			case known && deliveries[name].done[p.ID]:
			case known && time.Since(p.At) < keep:
				deliveries[name].events = append(deliveries[name].events, p.Event)
			default:
				dropped = append(dropped, fleet.Notification{Event: p.Event, Targets: []string{name}})
				n.p.Log.Warn("event not delivered to any target", "target", name, "subject", p.Subject(), "event", p.Type, "message", p.Message,
					"reason", map[bool]string{true: "it could not be told for a day", false: "fleet.yaml has no such target any more"}[known])
			}
		}
	}
	for name, l := range deliveries {
		for id := range l.done {
			if !there[name+" "+id] {
				delete(l.done, id)
			}
		}
	}
	if len(dropped) > 0 {
		w.Told(dropped)
		n.mu.Lock()
		n.pending = withoutAll(n.pending, dropped)
		n.mu.Unlock()
	}
}

// withoutAll returns list without the targets in dropped.
func withoutAll(list, dropped []fleet.Notification) []fleet.Notification {
	var out []fleet.Notification
	for _, p := range list {
		p.Targets = slices.DeleteFunc(slices.Clone(p.Targets), func(name string) bool {
			return slices.ContainsFunc(dropped, func(d fleet.Notification) bool { return d.ID == p.ID && d.Targets[0] == name })
		})
		out = append(out, p)
	}
	return out
}

// send tells t.
func (n *Notifier) send(ctx context.Context, t fleet.NotificationTarget, m Message) (int, error) {
	s, err := n.p.Open(t)
	if err != nil {
		return 0, unusable{err}
	}
	n.p.Log.Info("notifying", "target", t.Name, "type", t.Type, "events", len(m.Events))
	return s.Send(ctx, m)
}

// finish notes how a message ended.
func (n *Notifier) finish(deliveries map[string]*delivery, r result, w Told) {
	l := deliveries[r.target]
	l.busy = false
	n.p.Count(r.target, len(r.told), r.err)
	var told []fleet.Notification
	for _, e := range r.told {
		l.done[e.ID] = true
		told = append(told, fleet.Notification{Event: e, Targets: []string{r.target}})
	}
	if len(told) > 0 {
		w.Told(told)
	}
	l.tried = make(map[string]bool, len(r.left))
	if no, ok := errors.AsType[*refusal](r.err); !ok || no.status >= http.StatusInternalServerError {
		for _, e := range r.left {
			l.tried[e.ID] = true
		}
	}
	if r.err == nil {
		l.waits, l.after = backoff.New(first, most), time.Time{}
		n.complain(r.target, "")
		return
	}
	d := backoff.Jitter(l.waits.Step())
	if no, ok := errors.AsType[*refusal](r.err); ok {
		d = max(d, min(no.after, keep))
	}
	l.after = time.Now().Add(d)
	n.p.Log.Warn("cannot notify, retrying", "target", r.target, "error", r.err, "after", d)
	if lasts(r.err) || time.Since(oldest(l.events)) > most {
		n.complain(r.target, fleet.OneLine(r.err))
	}
}

// unusable is why a target cannot be used with its configuration.
type unusable struct{ error }

// lasts reports whether err will not pass by itself.
func lasts(err error) bool {
	if _, ok := errors.AsType[unusable](err); ok {
		return true
	}
	no, ok := errors.AsType[*refusal](err)
	return ok && no.status < http.StatusInternalServerError && no.status != http.StatusTooManyRequests && no.status != http.StatusRequestTimeout
}

// oldest returns when the first of events was noted.
func oldest(events []fleet.Event) time.Time {
	if len(events) == 0 {
		return time.Now()
	}
	return events[0].At
}

// complain notes why a target is not told; empty: it is.
func (n *Notifier) complain(target, why string) {
	n.mu.Lock()
	old := n.problems[target]
	n.problems[target] = why
	n.mu.Unlock()
	if old != why {
		n.p.Changed()
	}
}

// Problem tells of targets that cannot be told; false: there are none.
func (n *Notifier) Problem() (fleet.Problem, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var parts []string
	for _, t := range n.p.Targets() {
		if why := n.problems[t.Name]; why != "" {
			parts = append(parts, fmt.Sprintf("%s: %s", t.Name, why))
		}
	}
	if len(parts) == 0 {
		return fleet.Problem{}, false
	}
	return fleet.Problem{
		File: "fleet.yaml", Field: "spec.notifications", Message: "events are not delivered: " + strings.Join(parts, "; "),
		Hint: "docs/guides/fleet/notifications.md says what each type of target needs",
	}, true
}

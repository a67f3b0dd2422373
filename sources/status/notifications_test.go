package status_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// listener tells two targets of each cluster that gets another phase.
type listener struct {
	enabled, known bool
	pending        []fleet.Notification
}

func (l *listener) notifications() *status.Notifications {
	return &status.Notifications{
		Events: func(c status.Change) (out []fleet.Event) {
			for _, of := range c.Clusters {
				if of.Old.Phase != of.New.Phase {
					out = append(out, fleet.Event{Type: fleet.ClusterUpgraded, Cluster: of.New.Cluster, Message: of.Upgraded + " " + string(of.New.Phase), Revision: of.New.Revision})
				}
			}
			return out
		},
		Targets: func(fleet.Event) []string { return []string{"chat", "mail"} },
		Enabled: func() (bool, bool) { return l.enabled, l.known },
		Pending: func(list []fleet.Notification) { l.pending = list },
	}
}

func (l *listener) told() (out []string) {
	for _, n := range l.pending {
		out = append(out, fmt.Sprintf("%s: %s %v", n.Subject(), n.Message, n.Targets))
	}
	return out
}

// flushed writes r with the writer of another agent, as after a restart.
func flushed(t *testing.T, b *branch, l *listener, told []fleet.Notification, reports ...fleet.Report) *status.Writer {
	t.Helper()
	w := writer(b, status.Options{Notifications: l.notifications(), Now: clock})
	for _, r := range reports {
		w.Put(r)
	}
	w.PutFleet(sources.FleetStatus{Fleet: "demo"})
	w.Told(told)
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestNotifications: an event stays on the branch until each target was told of it, over
// restarts, with the same id.
func TestNotifications(t *testing.T) {
	b, l := owned(t), &listener{enabled: true, known: true}
	flushed(t, b, l, nil, report(fleet.PhaseWorkers))
	if diff := cmp.Diff([]string{"prod/eu-1:  Workers [chat mail]"}, l.told()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	first := l.pending[0]
	if first.ID == "" || !first.At.Equal(clock()) || first.Revision.IsZero() {
		t.Errorf("the event has no id, time or revision: %+v", first)
	}

	l.pending = nil
	first.Targets = []string{"chat"}
	flushed(t, b, l, []fleet.Notification{first}, report(fleet.PhaseWorkers))
	first.Targets = []string{"mail"}
	if diff := cmp.Diff([]fleet.Notification{first}, l.pending); diff != "" {
		t.Errorf("after a restart, one target told (-want +got):\n%s", diff)
	}
	if got := b.last().Message; got != "notifications: chat told" {
		t.Errorf("the commit says %q", got)
	}

	flushed(t, b, l, []fleet.Notification{first}, report(fleet.PhaseProvisioned))
	if diff := cmp.Diff([]string{"prod/eu-1:  Provisioned [chat mail]"}, l.told()); diff != "" {
		t.Errorf("what was told stays, or the next is missing (-want +got):\n%s", diff)
	}
	flushed(t, b, l, l.pending, report(fleet.PhaseControlPlane))
	if diff := cmp.Diff([]string{"prod/eu-1: " + report("").Version + " ControlPlane [chat mail]"}, l.told()); diff != "" {
		t.Errorf("the version that it was provisioned with is not known (-want +got):\n%s", diff)
	}
}

// TestNotificationsOfAnOldFleet: what is as Git says when people begin to be told is no news.
func TestNotificationsOfAnOldFleet(t *testing.T) {
	b := owned(t)
	flushed(t, b, &listener{known: true}, nil, report(fleet.PhaseProvisioned))
	if _, files := b.head(); files["notifications.yaml"] != nil {
		t.Error("a fleet that tells nobody has the file")
	}
	l := &listener{enabled: true, known: true}
	flushed(t, b, l, nil, report(fleet.PhaseProvisioned))
	flushed(t, b, l, nil, report(fleet.PhaseControlPlane))
	if diff := cmp.Diff([]string{"prod/eu-1: " + report("").Version + " ControlPlane [chat mail]"}, l.told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	flushed(t, b, &listener{}, nil, report(fleet.PhaseWorkers))
	if _, files := b.head(); files["notifications.yaml"] == nil {
		t.Error("what is to be told is gone before it is known whether anybody is told")
	}
	flushed(t, b, &listener{known: true}, nil, report(fleet.PhaseWorkers))
	if _, files := b.head(); files["notifications.yaml"] != nil {
		t.Error("the file stays where nobody is told any more")
	}
}

// TestNotificationsOfAClusterThatWent: one of the same name that comes later is another.
func TestNotificationsOfAClusterThatWent(t *testing.T) {
	b, l := owned(t), &listener{enabled: true, known: true}
	w := flushed(t, b, l, nil, report(fleet.PhaseProvisioned))
	w.Forget(eu1)
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	flushed(t, b, l, l.pending, report(fleet.PhaseWorkers))
	if diff := cmp.Diff([]string{"prod/eu-1:  Workers [chat mail]"}, l.told()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNotificationsAreBounded: of too many that nobody takes, the oldest go.
func TestNotificationsAreBounded(t *testing.T) {
	b, l := owned(t), &listener{enabled: true, known: true}
	var reports []fleet.Report
	for i := range 1100 {
		r := report(fleet.PhaseWorkers)
		r.Cluster.Name = fmt.Sprintf("c-%04d", i)
		reports = append(reports, r)
	}
	var log strings.Builder
	w := writer(b, status.Options{Notifications: l.notifications(), Now: clock, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, r := range reports {
		w.Put(r)
	}
	w.PutFleet(sources.FleetStatus{Fleet: "demo"})
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "event not delivered"); n != 100 || !strings.Contains(log.String(), "prod/c-0000") || strings.Contains(log.String(), "prod/c-0100") {
		t.Errorf("the log names %d that go:\n%.500s", n, log.String())
	}
	if n := len(l.pending); n != 1000 || l.pending[0].Cluster.Name != "c-0100" {
		t.Errorf("%d wait, the first of %s", n, l.pending[0].Cluster)
	}
}

// TestManyProblems: a commit that breaks 1,000 clusters is one notification, for each who is told of the same
// clusters. Other events, and few problems, are told one by one.
func TestManyProblems(t *testing.T) {
	const broken = 1000
	b, l := owned(t), &listener{enabled: true, known: true}
	n := l.notifications()
	key := func(i int) fleet.Key { return fleet.Key{Namespace: "prod", Name: fmt.Sprintf("c-%04d", i)} }
	n.Events = func(status.Change) []fleet.Event {
		list := []fleet.Event{{Type: fleet.ClusterDeleted, Cluster: key(0), Message: "it is deleted"}}
		for _, of := range []fleet.EventType{fleet.ProblemFound, fleet.ProblemSolved} {
			for i := range broken {
				list = append(list, fleet.Event{Type: of, Cluster: key(i), Message: "its base is broken"})
			}
		}
		return list
	}
	n.Targets = func(e fleet.Event) []string {
		switch e.Cluster.Name {
		case "c-0998", "c-0999":
			return []string{"chat", "mail"}
		}
		return []string{"chat"}
	}
	w := writer(b, status.Options{Notifications: n, Now: clock})
	w.PutFleet(sources.FleetStatus{Fleet: "demo"})
	if _, err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	const all = "fleet: 998 problems, of prod/c-0000, prod/c-0001, prod/c-0002 and 995 more. The first: its base is broken [chat]"
	two := []string{"prod/c-0998: its base is broken [chat mail]", "prod/c-0999: its base is broken [chat mail]"}
	want := slices.Concat([]string{"prod/c-0000: it is deleted [chat]", all}, two, []string{all}, two)
	if d := cmp.Diff(want, l.told()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	ids := map[string]bool{}
	for _, p := range l.pending {
		ids[p.ID] = true
	}
	if len(ids) != len(want) {
		t.Errorf("%d ids of %d notifications", len(ids), len(want))
	}
}

// TestNotificationsOfALostRace: an event of a push that lost is told once, and one of a push
// that was not answered is, too.
func TestNotificationsOfALostRace(t *testing.T) {
	for name, lose := range map[string]func(b *branch){
		"another writer comes first": func(b *branch) {
			b.before = func() error {
				b.before = nil
				return fleet.Errorf(fleet.Conflict, "commit", "lost the race")
			}
		},
		"no answer": func(b *branch) {
			b.after = func() error {
				b.after = nil
				return fleet.Errorf(fleet.Unanswered, "commit", "no answer")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, l := owned(t), &listener{enabled: true, known: true}
			lose(b)
			flushed(t, b, l, nil, report(fleet.PhaseWorkers))
			if diff := cmp.Diff([]string{"prod/eu-1:  Workers [chat mail]"}, l.told()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDamagedNotifications: a file that cannot be read is written again.
func TestDamagedNotifications(t *testing.T) {
	b, l := owned(t), &listener{enabled: true, known: true}
	flushed(t, b, l, nil, report(fleet.PhaseWorkers))
	rev, _ := b.head()
	if _, err := b.Commit(t.Context(), rev, sources.Commit{Edits: map[string][]byte{"notifications.yaml": []byte("pending: {a: [")}}); err != nil {
		t.Fatal(err)
	}
	flushed(t, b, l, nil, report(fleet.PhaseProvisioned))
	if got := l.told(); len(got) != 1 || !strings.Contains(got[0], "Provisioned") {
		t.Errorf("told of %v", got)
	}
}

// TestNotificationsGivenBack: what was told is not forgotten by a flush that fails.
func TestNotificationsGivenBack(t *testing.T) {
	b, l := owned(t), &listener{enabled: true, known: true}
	w := flushed(t, b, l, nil, report(fleet.PhaseWorkers))
	b.before = func() error {
		b.before = nil
		return fleet.Errorf(fleet.Unavailable, "commit", "%w", errors.New("the server is away"))
	}
	w.Told(l.pending)
	if _, err := w.Flush(t.Context()); err == nil {
		t.Fatal("the flush did not fail")
	}
	if _, err := w.Flush(t.Context()); err != nil || len(l.pending) > 0 {
		t.Errorf("%v waits, error %v", l.told(), err)
	}
}

package status

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// notificationsPath is the file with what people are still to be told.
const notificationsPath = "notifications.yaml"

// maxPending bounds the notifications that wait. Of more, the oldest go.
const maxPending = 1000

// mostProblems is how many problems by one commit are reported one by one. More of them are one notification.
const mostProblems = 20

// Notifications say what people learn of a commit. Events are written with the commit
// that they happened by, and stay on the branch until somebody says that they were told: an
// agent that ends between the two tells them again, with the same id, and loses none.
type Notifications struct {
	// Events returns what happened by a change, without ids and times. It is pure.
	Events func(Change) []fleet.Event
	// Targets returns those that receive e, sorted.
	Targets func(e fleet.Event) []string
	// Enabled reports whether any notifications are sent, and whether that is known yet:
	// until it is, what the branch says stays.
	Enabled func() (enabled, known bool)
	// Pending is called with what is to be sent, the oldest first, whenever that may be new. It
	// must not block.
	Pending func([]fleet.Notification)
}

// A Change is what a commit changes.
type Change struct {
	Clusters []ClusterChange // sorted by key
	// Problems of the fleet before and after.
	Before, After []fleet.Problem
	// Stages of the fleet's rollout, before and after.
	StagesBefore, StagesAfter []fleet.StageStatus
	Revision                  fleet.Revision // of the fleet
}

// A ClusterChange is what is new of one cluster.
type ClusterChange struct {
	Old, New fleet.Report
	Fresh    bool // it had no status before
	Gone     bool // it is forgotten: New is zero
	Actions  []string
	// Upgraded is the version that the cluster last was provisioned with; empty: it never
	// was, or it was not recorded.
	Upgraded string
}

// outbox is what notificationsPath says.
type outbox struct {
	versions map[fleet.Key]string // that clusters last were provisioned with
	pending  []fleet.Notification // the oldest first
	there    bool
	sum      checksum
}

// notificationsFile is notificationsPath.
type notificationsFile struct {
	typeMeta
	Versions map[string]string  `json:"versions,omitempty"` // by namespace/name
	Pending  []notificationItem `json:"pending,omitempty"`
}

// notificationItem is a fleet.Notification.
type notificationItem struct {
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	At       string    `json:"at"` // RFC 3339
	Cluster  string    `json:"cluster,omitempty"`
	Machine  string    `json:"machine,omitempty"`
	Message  string    `json:"message,omitempty"`
	Revision *revision `json:"revision,omitempty"`
	Targets  []string  `json:"targets"`
}

// readOutbox returns what the branch says. A file that cannot be read counts as missing.
func readOutbox(t fs.FS) outbox {
	o := outbox{versions: map[fleet.Key]string{}, sum: sumOf(t, notificationsPath)}
	b, err := fs.ReadFile(t, notificationsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return o
	}
	o.there = true
	var f notificationsFile
	if err != nil || notificationsKind.decode(b, &f) != nil {
		return o
	}
	for name, version := range f.Versions {
		if k, err := fleet.ParseKey(name); err == nil {
			o.versions[k] = version
		}
	}
	for _, i := range f.Pending {
		n := fleet.Notification{Targets: i.Targets, Event: fleet.Event{
			ID: i.ID, Type: fleet.EventType(i.Type), Machine: fleet.MachineName(i.Machine), Message: i.Message, Revision: i.Revision.fleet(),
		}}
		if n.At, err = time.Parse(time.RFC3339, i.At); err != nil || i.ID == "" {
			continue
		}
		n.At = n.At.UTC()
		n.Cluster, _ = fleet.ParseKey(i.Cluster)
		o.pending = append(o.pending, n)
	}
	return o
}

// encode returns the file.
func (o outbox) encode() ([]byte, error) {
	f := notificationsFile{typeMeta: notificationsKind.meta(), Versions: map[string]string{}}
	for k, version := range o.versions {
		f.Versions[k.String()] = version
	}
	for _, n := range o.pending {
		i := notificationItem{
			ID: n.ID, Type: string(n.Type), At: n.At.UTC().Format(time.RFC3339), Machine: string(n.Machine),
			Message: oneLine(n.Message, 500), Revision: revisionOf(n.Revision), Targets: n.Targets,
		}
		if n.Cluster != (fleet.Key{}) {
			i.Cluster = n.Cluster.String()
		}
		f.Pending = append(f.Pending, i)
	}
	return notificationsKind.encode("notifications", f)
}

// notifications adds to d what people are to be told of it, and takes out what they were
// told.
func (n *known) notifications(d *draft, told []fleet.Notification, now time.Time) error {
	d.outbox = n.outbox
	enabled, known := false, true
	if n.notify != nil {
		enabled, known = n.notify.Enabled()
	}
	if !enabled {
		if !known {
			return nil
		}
		if n.outbox.there {
			d.edits[notificationsPath] = nil
		}
		d.outbox = outbox{versions: map[fleet.Key]string{}}
		return nil
	}
	o := outbox{versions: maps.Clone(n.outbox.versions), pending: without(n.outbox.pending, told), there: true}
	if !n.outbox.there { // what is as Git says already is no news
		for k, c := range n.clusters {
			if r := c.cluster.Report; r.Phase == fleet.PhaseProvisioned {
				o.versions[k] = r.Version
			}
		}
	}
	var fresh []fleet.Notification
	for _, e := range n.notify.Events(o.change(d)) {
		if targets := n.notify.Targets(e); len(targets) > 0 {
			fresh = append(fresh, fleet.Notification{Event: e, Targets: targets})
		}
	}
	for _, f := range summarized(fresh) {
		f.At = now.UTC().Truncate(time.Second)
		f.ID = eventID(n.head, f.Event)
		o.pending = append(o.pending, f)
	}
	over := max(0, len(o.pending)-maxPending)
	d.dropped, o.pending = o.pending[:over], o.pending[over:]
	o.note(d)
	content, err := o.encode()
	if err != nil {
		return err
	}
	if o.sum = sha256.Sum256(content); o.sum != n.outbox.sum {
		d.edits[notificationsPath] = content
	}
	d.outbox = o
	return nil
}

// change returns what d changes.
func (o outbox) change(d *draft) Change {
	c := Change{Before: d.fleetOld.Problems, After: d.fleet.Problems, Revision: d.fleet.Revision}
	c.StagesBefore, c.StagesAfter = d.fleetOld.Rollout.Stages, d.fleet.Rollout.Stages
	for _, of := range d.changes {
		c.Clusters = append(c.Clusters, ClusterChange{
			Old: of.old, New: of.new, Fresh: of.fresh, Gone: of.gone, Actions: of.actions, Upgraded: o.versions[of.key],
		})
	}
	return c
}

// note keeps the versions that clusters are provisioned with now.
func (o outbox) note(d *draft) {
	for _, c := range d.changes {
		switch {
		case c.gone:
			delete(o.versions, c.key)
		case c.new.Phase == fleet.PhaseProvisioned:
			o.versions[c.key] = c.new.Version
		}
	}
}

// summarized returns list with one notification in the place of many problems that the same targets are
// told of, as if a base of many clusters breaks.
func summarized(list []fleet.Notification) []fleet.Notification {
	type audience struct {
		of      fleet.EventType
		targets string
	}
	alike := make(map[audience][]fleet.Notification)
	of := func(n fleet.Notification) audience { return audience{n.Type, strings.Join(n.Targets, " ")} }
	for _, n := range list {
		if n.Type == fleet.ProblemFound || n.Type == fleet.ProblemSolved {
			alike[of(n)] = append(alike[of(n)], n)
		}
	}
	var out []fleet.Notification
	for _, n := range list {
		switch group := alike[of(n)]; {
		case len(group) <= mostProblems:
			out = append(out, n)
		case n.Event == group[0].Event:
			n.Cluster, n.Message = fleet.Key{}, summary(group)
			out = append(out, n)
		}
	}
	return out
}

// summary returns the number of the problems of list, the first clusters, and the first message.
func summary(list []fleet.Notification) string {
	const most = 3
	var names []string
	for _, n := range list[:most] {
		names = append(names, n.Subject())
	}
	return fmt.Sprintf("%d problems, of %s and %d more. The first: %s", len(list), strings.Join(names, ", "), len(list)-most, list[0].Message)
}

// eventID identifies an event that happens by a commit on head.
func eventID(head fleet.Revision, e fleet.Event) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", head.Hash(), e.Type, e.Subject(), e.Machine, e.Message))
	return hex.EncodeToString(sum[:12])
}

// without returns list without what was told.
func without(list, told []fleet.Notification) []fleet.Notification {
	var out []fleet.Notification
	for _, n := range list {
		n.Targets = slices.Clone(n.Targets)
		for _, t := range told {
			if t.ID == n.ID {
				n.Targets = slices.DeleteFunc(n.Targets, func(name string) bool { return slices.Contains(t.Targets, name) })
			}
		}
		if len(n.Targets) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// Told says that those targets of each of list were told of it.
func (w *Writer) Told(list []fleet.Notification) {
	w.add(func() bool {
		w.waiting.told = append(w.waiting.told, list...)
		return false
	})
}

// pending tells what is to be told.
func (w *Writer) pending() {
	if n := w.options.Notifications; n != nil {
		n.Pending(slices.Clone(w.known.outbox.pending))
	}
}

// toldOf describes a commit that says nothing new but what people were told.
func (d *draft) toldOf() string {
	var targets []string
	for _, n := range d.told {
		targets = append(targets, n.Targets...)
	}
	slices.Sort(targets)
	return "notifications: " + strings.Join(slices.Compact(targets), ", ") + " told"
}

package status

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// known is the content of the branch at head, as far as the writer knows.
type known struct {
	head      fleet.Revision
	stale     bool // somebody else may have written since
	owner     fleet.Owner
	ownerIn   func(fs.FS) (fleet.Owner, error)
	fleet     sources.FleetStatus
	fleetSum  checksum
	clusters  map[fleet.Key]*cached
	hosts     map[fleet.Key]cachedHost
	cache     cache
	notify    *Notifications // nil: no notifications
	oversized oversized
	outbox    outbox
}

// load reads the branch. Files of clusters and of the fleet that cannot be read count as
// missing, and are written again.
func (n *known) load(ctx context.Context, b sources.Branch) error {
	head, t, err := b.Read(ctx)
	if err != nil {
		return err
	}
	owner, err := ownerIn(t, n.ownerIn)
	if err != nil {
		return err
	}
	s, _ := n.cache.read(t, nil)
	n.head, n.stale, n.owner, n.fleet = head, false, owner, s.Fleet
	n.fleet.Problems = withoutTooLarge(n.fleet.Problems)
	n.fleetSum, n.outbox = sumOf(t, fleetPath), readOutbox(t)
	n.clusters = make(map[fleet.Key]*cached, len(s.Clusters))
	for _, f := range n.cache.files {
		if f.err == nil {
			n.clusters[f.cluster.Report.Cluster] = f
		}
	}
	n.hosts = make(map[fleet.Key]cachedHost, len(n.cache.hosts))
	for _, f := range n.cache.hosts {
		if f.err == nil {
			n.hosts[f.host.Key()] = f
		}
	}
	return nil
}

// A draft is a commit that is being made.
type draft struct {
	edits     map[string][]byte
	changes   []change // sorted by key
	clusters  map[fleet.Key]*cached
	removed   map[fleet.Key]bool
	hosts     map[fleet.Key]cachedHost // all of them
	moved     []hostChange             // sorted by key
	fleet     sources.FleetStatus
	fleetOld  sources.FleetStatus
	fleetSum  checksum
	revision  fleet.Revision
	outbox    outbox
	told      []fleet.Notification
	oversized oversized
	dropped   []fleet.Notification // too many wait
}

// A change is what is new of one cluster.
type change struct {
	key      fleet.Key
	old, new fleet.Report
	fresh    bool // the cluster had no status before
	gone     bool
	actions  []string
}

// draft makes the files that differ from what is known.
func (n *known) draft(b batch, now time.Time) (*draft, error) {
	d := &draft{edits: map[string][]byte{}, clusters: map[fleet.Key]*cached{}, removed: map[fleet.Key]bool{}, fleet: n.fleet, fleetOld: n.fleet, told: b.told, oversized: maps.Clone(n.oversized)}
	if d.oversized == nil {
		d.oversized = make(oversized)
	}
	if b.fleet != nil {
		d.fleet = *b.fleet
	}
	d.revision = d.fleet.Revision
	for _, k := range slices.SortedFunc(maps.Keys(b.reports), fleet.Key.Compare) {
		r := b.reports[k]
		old, had := n.clusters[k]
		if !had {
			old = &cached{}
		}
		c := newCluster(r, old.cluster, now)
		content, err := encodeCluster(c)
		if d.oversized.left(ClusterPath(k), k, err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		if had && sum == old.sum {
			continue
		}
		d.edits[ClusterPath(k)] = content
		d.clusters[k] = &cached{sum: sum, cluster: c}
		d.changes = append(d.changes, change{key: k, old: old.cluster.Report, new: c.Report, fresh: !had, actions: r.Actions})
		if d.revision.IsZero() {
			d.revision = r.Revision
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(b.forgets), fleet.Key.Compare) {
		delete(d.oversized, ClusterPath(k))
		if old, had := n.clusters[k]; had {
			d.edits[ClusterPath(k)] = nil
			d.removed[k] = true
			d.changes = append(d.changes, change{key: k, old: old.cluster.Report, gone: true})
		}
	}
	if err := n.draftHosts(d, &b); err != nil {
		return nil, err
	}
	content, err := n.fleetFile(d)
	if err != nil {
		return nil, err
	}
	if d.fleetSum = sha256.Sum256(content); d.fleetSum != n.fleetSum {
		d.edits[fleetPath] = content
	}
	return d, n.notifications(d, b.told, now)
}

// mostLines is how many clusters fleet.yaml lists: each commit writes it again.
const mostLines = 1000

// fleetFile returns fleet.yaml with d applied.
func (n *known) fleetFile(d *draft) ([]byte, error) {
	phases := map[string]int{}
	var keys []fleet.Key
	for k, c := range n.with(d) {
		keys = append(keys, k)
		if p := c.cluster.Report.Phase; p != "" {
			phases[string(p)]++
		}
	}
	var lines [][]byte
	if len(keys) <= mostLines {
		slices.SortFunc(keys, fleet.Key.Compare)
		for _, k := range keys {
			line, err := cmp.Or(d.clusters[k], n.clusters[k]).lineOf()
			if err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
	}
	return encodeFleet(d.oversized.with(d.fleet), phases, lines)
}

// with returns the clusters with d applied, in no order.
func (n *known) with(d *draft) iter.Seq2[fleet.Key, *cached] {
	return func(yield func(fleet.Key, *cached) bool) {
		for k, c := range n.clusters {
			if d.clusters[k] == nil && !d.removed[k] && !yield(k, c) {
				return
			}
		}
		for k, c := range d.clusters {
			if !yield(k, c) {
				return
			}
		}
	}
}

// apply notes that d was committed as head.
func (n *known) apply(d *draft, head fleet.Revision) {
	n.head, n.fleet, n.fleetSum, n.hosts, n.outbox, n.oversized = head, d.fleet, d.fleetSum, d.hosts, d.outbox, d.oversized
	maps.Copy(n.clusters, d.clusters)
	for k := range d.removed {
		delete(n.clusters, k)
	}
}

// maxBody bounds the lines of a commit message.
const maxBody = 200

// message returns subject and body of the commit.
func (d *draft) message() string {
	var body []string
	for _, c := range d.changes {
		for _, a := range c.actions {
			body = append(body, oneLine(c.key.String()+": "+a, 300))
		}
		if c.new.Failure != "" && c.new.Failure != c.old.Failure {
			body = append(body, oneLine(c.key.String()+": "+c.new.Failure, 300))
		}
		for _, p := range c.new.Problems {
			had := func(o fleet.Problem) bool { return o.WithoutLine() == p.WithoutLine() }
			if !slices.ContainsFunc(c.old.Problems, had) {
				body = append(body, oneLine(c.key.String()+": "+p.String(), 300))
			}
		}
	}
	for _, c := range d.moved {
		body = append(body, oneLine(c.String(), 300))
	}
	if n := len(body); n > maxBody {
		body = append(body[:maxBody], fmt.Sprintf("and %d more lines", n-maxBody))
	}
	return strings.TrimSpace(d.subject() + "\n\n" + strings.Join(body, "\n"))
}

// subject describes the changes in one line.
func (d *draft) subject() string {
	switch len(d.changes) {
	case 0:
		return d.fleetSubject()
	case 1:
		return oneLine(d.changes[0].key.String()+": "+d.changes[0].headline(), 100)
	}
	counts := map[string]int{}
	for _, c := range d.changes {
		counts[c.class()]++
	}
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[class], class))
	}
	return oneLine(fmt.Sprintf("%d clusters: %s", len(d.changes), strings.Join(parts, ", ")), 100)
}

func (d *draft) fleetSubject() string {
	switch {
	case d.fleet.Revision != d.fleetOld.Revision:
		return "fleet: at " + d.fleet.Revision.Short()
	case len(d.moved) == 1:
		return oneLine(d.moved[0].String(), 100)
	case len(d.moved) > 1:
		return fmt.Sprintf("%d hosts changed", len(d.moved))
	case len(d.fleet.Problems) != len(d.fleetOld.Problems):
		return fmt.Sprintf("fleet: %d problems", len(d.fleet.Problems))
	case len(d.told) > 0 && d.edits[fleetPath] == nil:
		return d.toldOf()
	}
	return "fleet: status"
}

// headline describes what is new of one cluster.
func (c change) headline() string {
	switch {
	case c.gone:
		return "gone"
	case c.fresh:
		return cmp.Or(string(c.new.Phase), "new")
	case c.new.Phase != c.old.Phase:
		return string(c.old.Phase) + " → " + string(c.new.Phase)
	case c.new.Failure != "" && c.old.Failure == "":
		return "failed: " + c.new.Failure
	case len(c.new.Problems) > 0 && len(c.old.Problems) == 0:
		return fmt.Sprintf("%s is not applied: %d problems", c.new.Problems[0].Overlay, len(c.new.Problems))
	case c.new.Failure == "" && c.old.Failure != "":
		return "recovered"
	case len(c.new.Problems) == 0 && len(c.old.Problems) > 0:
		return "problems solved"
	case len(c.actions) > 0:
		return c.actions[0]
	}
	return cmp.Or(string(c.new.Phase), "status")
}

// class names the kind of change in a word or two, for counting.
func (c change) class() string {
	switch {
	case c.gone:
		return "gone"
	case c.fresh || c.new.Phase != c.old.Phase:
		return "→ " + string(c.new.Phase)
	case c.new.Failure != "" && c.old.Failure == "":
		return "failed"
	case len(c.new.Problems) > 0 && len(c.old.Problems) == 0:
		return "not applied"
	}
	return "changed"
}

package openstack

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
)

// watched is what this process looked at: the clusters whose changes it tells.
type watched struct {
	mu       *sync.Mutex
	clusters map[cloud.Owner]looked
}

// looked is when a cluster was looked at, and where it is.
type looked struct {
	at       time.Time
	projects []*cloud.Project
}

// forgetAfter is how long a cluster is watched that nobody looks at any more.
const forgetAfter = time.Hour

func newWatched() watched {
	return watched{mu: new(sync.Mutex), clusters: make(map[cloud.Owner]looked)}
}

// set notes that o was looked at in projects, and no longer elsewhere.
func (w *watched) set(o cloud.Owner, projects []*cloud.Project) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clusters[o] = looked{time.Now(), projects}
}

// list returns the projects that this process uses.
func (w *watched) list() []*cloud.Project {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*cloud.Project
	for o, l := range w.clusters {
		if time.Since(l.at) > forgetAfter {
			delete(w.clusters, o)
			continue
		}
		for _, p := range l.projects {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

func (w *watched) has(p *cloud.Project, o cloud.Owner) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.clusters[o].projects, p)
}

// tell calls changed for every cluster that uses p.
func (w *watched) tell(p *cloud.Project, changed func(fleet.Key)) {
	w.mu.Lock()
	var keys []fleet.Key
	for o, c := range w.clusters {
		if slices.Contains(c.projects, p) {
			keys = append(keys, o.Cluster)
		}
	}
	w.mu.Unlock()
	for _, k := range keys {
		changed(k)
	}
}

// idleTicks is how many ticks pass between two looks at a project in which
// nothing is on its way.
const idleTicks = 3

// lookFailures is how many looks in a row fail before clusters are told of that: a
// cloud may fail now and then.
const lookFailures = 3

// Watch implements providers.Watcher: it looks at every project in use, once a
// tick while something is on its way there, else seldom, and tells of clusters
// that look different, and of all in a project that cannot be looked at any more.
// Each project is looked at by itself: one that does not answer delays no other.
func (p *Provider) Watch(ctx context.Context, changed func(fleet.Key)) error {
	looks := make(map[*cloud.Project]*watch)
	var running sync.WaitGroup
	defer running.Wait()
	for {
		projects := p.watched.list()
		maps.DeleteFunc(looks, func(p *cloud.Project, w *watch) bool { return !slices.Contains(projects, p) && !w.busy.Load() })
		for _, project := range projects {
			w := looks[project]
			if w == nil {
				w = new(watch)
				looks[project] = w
			}
			if !w.due() {
				continue
			}
			running.Go(func() {
				defer w.busy.Store(false)
				p.watch(ctx, project, w, changed)
			})
		}
		timer := time.NewTimer(p.sessions.Tick())
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// A watch is how a project looked when it was last looked at. One look at a time
// has it.
type watch struct {
	busy   atomic.Bool // a look is under way
	rest   int         // ticks until the next look
	failed int         // looks in a row
	prints map[cloud.Owner]string
}

// due reports whether to look now, and takes that upon the caller.
func (w *watch) due() bool {
	if !w.busy.CompareAndSwap(false, true) {
		return false
	}
	if w.rest--; w.rest > 0 {
		w.busy.Store(false)
		return false
	}
	return true
}

// watch looks at a project and tells what changed.
func (p *Provider) watch(ctx context.Context, project *cloud.Project, w *watch, changed func(fleet.Key)) {
	s, err := project.Snapshot(ctx, cloud.Owner{})
	if err != nil {
		if w.failed++; w.failed == lookFailures && ctx.Err() == nil {
			p.watched.tell(project, changed)
		}
		return
	}
	now, known := fingerprints(s), w.prints != nil
	for o := range union(w.prints, now) {
		if known && w.prints[o] != now[o] && p.watched.has(project, o) {
			changed(o.Cluster)
		}
	}
	w.prints, w.rest, w.failed = now, idleTicks, 0
	if busy(s) || !known {
		w.rest = 1
	}
}

func union(a, b map[cloud.Owner]string) map[cloud.Owner]bool {
	out := make(map[cloud.Owner]bool, len(a)+len(b))
	for o := range a {
		out[o] = true
	}
	for o := range b {
		out[o] = true
	}
	return out
}

// busy reports whether something of a fleet is on its way in s.
func busy(s *cloud.Snapshot) bool {
	for _, o := range s.Servers.Owners() {
		for _, v := range s.Servers.Of(o) {
			if v.TaskState != "" || v.Status == "BUILD" {
				return true
			}
		}
	}
	for _, o := range s.LoadBalancers.Owners() {
		for _, lb := range s.LoadBalancers.Of(o) {
			if strings.HasPrefix(lb.ProvisioningStatus, "PENDING") {
				return true
			}
		}
	}
	return false
}

// fingerprints are equal for clusters of which nothing changed.
func fingerprints(s *cloud.Snapshot) map[cloud.Owner]string {
	out := make(map[cloud.Owner]string)
	for _, o := range s.Clusters() {
		h := sha256.New()
		e := json.NewEncoder(h)
		for _, all := range []any{
			byID(s.Servers.Of(o)), byID(s.Ports.Of(o)), byID(s.Networks.Of(o)), byID(s.Subnets.Of(o)), byID(s.Routers.Of(o)),
			byID(s.SecurityGroups.Of(o)), byID(s.FloatingIPs.Of(o)), byID(s.Trunks.Of(o)), byID(s.LoadBalancers.Of(o)),
			byID(s.Listeners.Of(o)), byID(s.Pools.Of(o)), byID(s.Volumes.Of(o)),
		} {
			_ = e.Encode(all) // what cannot be written is no reason to look
		}
		out[o] = string(h.Sum(nil))
	}
	return out
}

// byID encodes each of all and sorts that: listings come in no order.
func byID[T any](all []*T) []string {
	var out []string
	for _, t := range all {
		if b, err := json.Marshal(t); err == nil {
			out = append(out, string(b))
		}
	}
	slices.Sort(out)
	return out
}

// Clusters implements providers.Lister. It looks at the projects that this
// process uses.
func (p *Provider) Clusters(ctx context.Context, id fleet.ID) ([]fleet.Key, error) {
	var out []fleet.Key
	for _, project := range p.watched.list() {
		s, err := project.Snapshot(ctx, cloud.Owner{})
		if err != nil {
			return nil, cloud.WrapLook("list clusters", err)
		}
		for _, o := range s.Clusters() {
			if o.Fleet == id {
				out = append(out, o.Cluster)
			}
		}
	}
	slices.SortFunc(out, fleet.Key.Compare)
	return slices.Compact(out), nil
}

package page

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"fairlead.dev/agent/loop/reports"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// FeedParts are what a Feed is put together from. Verify and Facts may be nil.
type FeedParts struct {
	Branch   sources.Branch // the status branch; its past is shown where it has one
	Verify   status.Verify
	Interval time.Duration // between looks at the branch
	Facts    func() []Fact // about the process
	Log      *slog.Logger
}

// A Feed brings what the status branch says to a page, and, in the process that works on
// the fleet, what passes report before it is on the branch. It is safe for concurrent use.
type Feed struct {
	page     *Page
	p        FeedParts
	reading  status.Reading
	requests *status.Requests
	plans    *status.Plans

	mu      sync.Mutex
	pending map[fleet.Key]reports.Change // newer than what is shown
	told    chan struct{}                // something is pending
	written chan struct{}                // this process committed to the branch
	over    bool                         // what was reported is another process's now

	news News
	live map[fleet.Key]status.Cluster // as passes of this process reported; zero: gone
}

// commits is the time from a commit of this process until the branch is read: later commits of that
// time are read with it.
const commits = 2 * time.Second

// How much of the past is read.
const (
	mostHistory = 200
	someHistory = 30
)

// NewFeed returns a feed of page that has read nothing yet.
func NewFeed(page *Page, p FeedParts) *Feed {
	q := status.NewRequests(p.Branch)
	q.Verify = p.Verify
	return &Feed{
		page: page, p: p, reading: status.Reading{Verify: p.Verify}, requests: q, plans: status.NewPlans(p.Branch), pending: map[fleet.Key]reports.Change{}, told: make(chan struct{}, 1),
		written: make(chan struct{}, 1), live: map[fleet.Key]status.Cluster{},
	}
}

// Changed takes in what is new of a cluster. It does not wait.
func (f *Feed) Changed(c reports.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.pending[c.Cluster]
	if c.Pass == nil && !c.Gone {
		c.Pass = old.Pass
	}
	c.Report.Addons = fleet.AddonsAfter(c.Report.Addons, old.Report.Addons)
	f.pending[c.Cluster] = c
	f.tell()
}

// Over forgets what was reported here: another process works on the fleet.
func (f *Feed) Over() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	clear(f.pending)
	f.tell()
}

func (f *Feed) tell() { signal(f.told) }

// Written says that this process committed to the branch: the feed reads it now, and not with the
// next interval. It does not wait. Refused clusters and problems are on the branch only.
func (f *Feed) Written() { signal(f.written) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run shows what is new until ctx ends, and closes the page.
func (f *Feed) Run(ctx context.Context) error {
	defer f.page.Close()
	tick := time.NewTicker(f.p.Interval)
	defer tick.Stop()
	var due <-chan time.Time
	for f.read(ctx); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.read(ctx)
		case <-f.written:
			if due == nil {
				due = time.After(commits)
			}
		case <-due:
			due = nil
			f.read(ctx)
		case <-f.told:
			f.take(time.Now())
			f.show()
			select { // what comes meanwhile is shown at once
			case <-time.After(gather):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// read shows what the branch says, where that is new.
func (f *Feed) read(ctx context.Context) {
	head, tree, err := f.p.Branch.Read(ctx)
	if ctx.Err() != nil {
		return
	}
	before, facts := f.news, f.facts()
	if err == nil && head == before.Head && before.Trouble == "" && !head.IsZero() && equal(facts, before.Facts) {
		return
	}
	f.news.Facts, f.news.Trouble = facts, ""
	if err == nil {
		err = f.decode(ctx, head, tree)
	}
	if err != nil {
		f.news.Trouble = fleet.OneLine(err)
		if f.news.Trouble != before.Trouble {
			f.p.Log.Warn("cannot read the status branch for the page", "error", err)
		}
	}
	f.show()
}

func (f *Feed) facts() []Fact {
	if f.p.Facts == nil {
		return nil
	}
	return f.p.Facts()
}

func equal(a, b []Fact) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// decode takes in the tree of the branch at head. What can be read is taken in, whatever
// else cannot be.
func (f *Feed) decode(ctx context.Context, head fleet.Revision, tree sources.Tree) error {
	s, err := f.reading.Read(tree)
	if err != nil && fleet.KindOf(err) != fleet.Invalid {
		return err
	}
	f.news.Status, f.news.Head = s, head
	list, errRequests := f.requests.List(ctx)
	if errRequests == nil || fleet.KindOf(errRequests) == fleet.Invalid {
		f.news.Requests = list
	}
	log, errLog := f.past(ctx, head)
	if errLog == nil {
		f.news.History = log
	}
	plans, errPlans := f.plans.List(ctx)
	if errPlans == nil || fleet.KindOf(errPlans) == fleet.Invalid {
		f.news.Plans = plans
	}
	for _, e := range []error{err, errRequests, errPlans, errLog} {
		if e != nil {
			return e
		}
	}
	return nil
}

// past returns the newest commits up to head. Of those that are known only the newer ones
// are asked for.
func (f *Feed) past(ctx context.Context, head fleet.Revision) ([]sources.Entry, error) {
	b, ok := f.p.Branch.(sources.Logged)
	if !ok {
		return nil, nil
	}
	if known := f.news.History; len(known) > 0 {
		list, err := b.Log(ctx, head, someHistory)
		if err != nil {
			return nil, err
		}
		for i, e := range list {
			if e.Commit == known[0].Commit {
				list = append(list[:i:i], known...)
				return list[:min(len(list), mostHistory)], nil
			}
		}
	}
	return b.Log(ctx, head, mostHistory)
}

// take takes in what is pending.
func (f *Feed) take(now time.Time) {
	f.mu.Lock()
	pending, over := f.pending, f.over
	f.pending, f.over = map[fleet.Key]reports.Change{}, false
	f.mu.Unlock()
	if over {
		clear(f.live)
	}
	for k, c := range pending {
		if c.Gone {
			f.live[k] = status.Cluster{}
			continue
		}
		old, known := f.live[k]
		if !known {
			old, _ = f.news.Status.Cluster(k)
		}
		made, err := status.ClusterOf(c.Report, old, now)
		if err != nil {
			f.p.Log.Warn("cannot show the report of a reconciliation", "cluster", k, "error", err)
			continue
		}
		switch { // the status branch has no certificate of a single server
		case c.Pass != nil && c.Pass.NotAfter != nil:
			made.Report.Certificates = c.Pass.NotAfter
		case known:
			made.Report.Certificates = old.Report.Certificates
		}
		f.live[k] = made
	}
}

// show shows what is known: of each cluster, what passes of this process reported, else
// what the branch says.
func (f *Feed) show() {
	n := f.news
	if len(f.live) > 0 {
		merged := make(map[fleet.Key]status.Cluster, len(n.Status.Clusters)+len(f.live))
		for _, c := range n.Status.Clusters {
			merged[c.Report.Cluster] = c
		}
		for k, c := range f.live {
			merged[k] = c
			if c.Report.Cluster == (fleet.Key{}) {
				delete(merged, k)
			}
		}
		n.Status.Clusters = make([]status.Cluster, 0, len(merged))
		for _, c := range merged {
			n.Status.Clusters = append(n.Status.Clusters, c)
		}
	}
	f.page.Show(n)
}

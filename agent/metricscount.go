package agent

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

func result(err error) string {
	if err == nil {
		return "ok"
	}
	return string(fleet.KindOf(err))
}

// observe counts d, with the trace that ctx is part of.
func (m *Metrics) observe(ctx context.Context, o prometheus.Observer, d time.Duration) {
	if m.traceID != nil {
		if id := m.traceID(ctx); id != "" {
			if e, ok := o.(prometheus.ExemplarObserver); ok {
				e.ObserveWithExemplar(d.Seconds(), prometheus.Labels{"trace_id": id})
				return
			}
		}
	}
	o.Observe(d.Seconds())
}

func (m *Metrics) stamp(g prometheus.Gauge) { g.Set(seconds(m.now())) }

// seconds returns t as Prometheus has times: seconds since 1970.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// Follow names the source, that fairlead_fleet_info tells without credentials.
func (m *Metrics) Follow(source string) {
	if u, err := url.Parse(source); err == nil && u.Scheme != "" {
		u.User, u.RawQuery = nil, ""
		source = u.String()
	}
	m.source = source
}

// Workers says how many clusters are worked on at once.
func (m *Metrics) Workers(n int) { m.workers.Set(float64(n)) }

// Fetched counts a request to the source.
func (m *Metrics) Fetched(ctx context.Context, operation string, err error, took time.Duration) {
	m.fetches.WithLabelValues(operation, result(err)).Inc()
	m.observe(ctx, m.fetchSeconds.WithLabelValues(operation), took)
	if err == nil {
		m.stamp(m.fetchSuccess)
	}
}

// Pinned counts a try to get a pinned source.
func (m *Metrics) Pinned(err error, took time.Duration) {
	m.fetches.WithLabelValues("pinned", result(err)).Inc()
	m.observe(context.Background(), m.fetchSeconds.WithLabelValues("pinned"), took)
}

// Rendered counts a rendered revision.
func (m *Metrics) Rendered(ctx context.Context, err error, took time.Duration) {
	m.renders.WithLabelValues(result(err)).Inc()
	m.observe(ctx, m.renderSeconds, took)
}

// Overlays counts the overlays of a rendered revision.
func (m *Metrics) Overlays(built, cached int) {
	m.overlays.WithLabelValues("built").Add(float64(built))
	m.overlays.WithLabelValues("cached").Add(float64(cached))
}

// Told shows the fleet as a whole, of which so many clusters are known, and so
// many are to be deleted and are not.
func (m *Metrics) Told(s sources.FleetStatus, clusters, blocked int) {
	m.fleet.Reset()
	m.fleet.WithLabelValues(string(s.Fleet), m.source, s.Revision.Ref, s.Revision.Digest).Set(1)
	m.fleetHeld.Set(float64(clusters))
	m.problems.Set(float64(len(s.Problems)))
	m.orphans.Set(float64(len(s.Orphans)))
	m.blocked.Set(float64(blocked))
}

// Refused says whether the newest revision cannot be used at all.
func (m *Metrics) Refused(refused bool) {
	m.refused.Set(number(refused))
	if !refused {
		m.stamp(m.fleetSuccess)
	}
}

// Passed counts a pass, and shows what it found.
func (m *Metrics) Passed(ctx context.Context, p Pass) {
	m.passes.WithLabelValues(string(p.Report.Phase), result(p.Err)).Inc()
	m.observe(ctx, m.passSeconds, p.Took)
	for _, a := range p.Actions {
		m.actions.WithLabelValues(string(a.Kind)).Inc()
	}
	if old, known := m.clusters.put(p, m.now()); known {
		m.lived(old, p.Report)
	}
}

// lived counts how long took what happened between two reports of a cluster.
func (m *Metrics) lived(old, now fleet.Report) {
	for _, l := range now.Milestones.Legs()[min(len(old.Milestones.Legs()), len(now.Milestones.Legs())):] {
		m.phaseSeconds.WithLabelValues(string(l.Phase)).Observe(l.Took.Seconds())
	}
	was := make(map[fleet.MachineName]bool, len(old.Machines))
	for _, o := range old.Machines {
		was[o.Machine.Name] = o.Joined.IsZero() && !was[o.Machine.Name]
	}
	for _, n := range now.Machines {
		if took := n.Joined.Sub(n.Machine.Created); was[n.Machine.Name] && !n.Joined.IsZero() && !n.Machine.Created.IsZero() && took >= 0 {
			m.joinSeconds.WithLabelValues(string(n.Machine.Role)).Observe(took.Seconds())
		}
	}
}

// Forget drops the series of a cluster.
func (m *Metrics) Forget(k fleet.Key) { m.clusters.forget(k) }

// Called counts a call of a provider, and the kind of its error, if it had one.
func (m *Metrics) Called(ctx context.Context, provider, operation string, kind fleet.ErrorKind, took time.Duration) {
	m.calls.WithLabelValues(provider, operation, cmp.Or(string(kind), "ok")).Inc()
	m.observe(ctx, m.callSeconds.WithLabelValues(provider, operation), took)
}

// Requested counts a request of a provider to its cloud. Status 0 says that
// there was no answer.
func (m *Metrics) Requested(provider, service, method string, status int, took time.Duration) {
	code := "none"
	if status != 0 {
		code = strconv.Itoa(status)
	}
	m.requests.WithLabelValues(provider, service, method, code).Inc()
	m.requestSeconds.WithLabelValues(provider, service).Observe(took.Seconds())
}

// Owner says who owns the fleet, where it is this agent; a zero owner that it
// does not. What it knows of the fleet and of clusters is another's to show
// then: of a replica that led once nothing may be left that wakes somebody.
func (m *Metrics) Owner(o fleet.Owner) {
	m.owner.Reset()
	m.leader.Set(number(o.Agent != ""))
	if o.Agent == "" {
		m.resign()
		return
	}
	m.standby.Set(0)
	m.owner.WithLabelValues(o.Agent).Set(float64(o.Epoch))
}

// resign takes back what only the agent shows that owns the fleet. Counters
// stay: what was done was done.
func (m *Metrics) resign() {
	m.clusters.reset()
	m.fleet.Reset()
	m.queueDepth.Store(nil)
	for _, g := range []prometheus.Gauge{
		m.fleetHeld, m.problems, m.orphans, m.blocked, m.refused, m.pushFailing, m.workers, m.queue.unfinished, m.queue.longest,
	} {
		g.Set(0)
	}
	m.Unescrowed()
	m.status.reset()
}

// Standby says that another agent owns the fleet, for which this one waits.
func (m *Metrics) Standby() { m.standby.Set(1) }

// Pushed counts a commit to the status branch. Lag is the age of the oldest
// report in it.
func (m *Metrics) Pushed(took, lag time.Duration) {
	m.pushes.WithLabelValues("ok").Inc()
	m.pushSeconds.Observe(took.Seconds())
	m.pushLag.Observe(lag.Seconds())
	m.stamp(m.pushSuccess)
}

// Pushing says whether status can be written: not, where err is not nil.
func (m *Metrics) Pushing(err error) {
	m.pushFailing.Set(number(err != nil))
	if err != nil {
		m.pushes.WithLabelValues(result(err)).Inc()
	}
}

// Raced counts a commit to the status branch that lost against another.
func (m *Metrics) Raced() { m.pushRaces.Inc() }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func port(p int32) string {
	if p == 0 {
		return ""
	}
	return strconv.Itoa(int(p))
}

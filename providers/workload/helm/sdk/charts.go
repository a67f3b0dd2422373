package sdk

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"helm.sh/helm/v4/pkg/release/common"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/workload/bearer"
	"fairlead.dev/providers/workload/helm"
)

// Charts are a helm.Installer through the SDK of Helm.
type Charts struct {
	o     helm.Options
	cache *ChartCache
	slots chan struct{}

	ctx    context.Context //nolint:containedctx // of everything that runs, until Close
	cancel context.CancelFunc
	runs   sync.WaitGroup

	mu       sync.Mutex
	attempts map[fleet.Key]map[fleet.ReleaseRef]*attempt
}

// A try is a change that runs or that failed last.
type attempt struct {
	fleet.ReleaseTry
	cancel context.CancelFunc
}

var _ helm.Installer = (*Charts)(nil)

// NewCharts returns Charts that know of nothing, and get charts from l.
func NewCharts(o helm.Options, l *ChartCache) *Charts {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Parallel == 0 {
		o.Parallel = 8
	}
	c := &Charts{o: o, cache: l, slots: make(chan struct{}, o.Parallel), attempts: make(map[fleet.Key]map[fleet.ReleaseRef]*attempt)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close ends everything that runs and waits for it.
func (c *Charts) Close() {
	c.cancel()
	c.runs.Wait()
}

// slack is what a change may take beside what its timeout is for.
const slack = 5 * time.Minute

// Install implements providers.Charts.
func (c *Charts) Install(_ context.Context, a providers.Access, r fleet.Release) error {
	// A hook before and one after, and what is waited for.
	limit := 3*r.Options.Timeout + slack
	return c.begin(a, fleet.ReleaseTry{ReleaseRef: r.ReleaseRef, Digest: r.Digest}, "Install", limit, func(ctx context.Context, client *Client) error { //nolint:contextcheck // it goes on when the call is over
		return c.install(ctx, client, r)
	})
}

// Uninstall implements providers.Charts.
func (c *Charts) Uninstall(_ context.Context, a providers.Access, ref fleet.ReleaseRef) error {
	return c.begin(a, fleet.ReleaseTry{ReleaseRef: ref}, "Uninstall", 3*removalTimeout+slack, func(ctx context.Context, client *Client) error { //nolint:contextcheck // it goes on when the call is over
		return client.uninstall(ctx, ref)
	})
}

// Tries implements providers.Charts.
func (c *Charts) Tries(k fleet.Key) []fleet.ReleaseTry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []fleet.ReleaseTry
	for _, t := range c.attempts[k] {
		out = append(out, t.ReleaseTry)
	}
	slices.SortFunc(out, func(a, b fleet.ReleaseTry) int { return a.Compare(b.ReleaseRef) })
	return out
}

// Forget implements providers.Charts.
func (c *Charts) Forget(k fleet.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range maps.Values(c.attempts[k]) {
		t.cancel()
	}
	delete(c.attempts, k)
}

// begin has do change a release in a goroutine of its own, unless one is changed
// already.
func (c *Charts) begin(a providers.Access, t fleet.ReleaseTry, operation string, limit time.Duration, do func(context.Context, *Client) error) error {
	var over atomic.Bool // what Helm leaves running may change nothing any more
	var lost atomic.Bool // a change got no answer
	client, err := open(a.Kubeconfig.Reveal(), c.o.Log.With("cluster", a.Cluster, "release", t.ReleaseRef), func(rt http.RoundTripper) http.RoundTripper {
		if a.Tokens != nil {
			rt = bearer.New(rt, a.Tokens, time.Now)
		}
		return &fence{answers{rt, &lost}, func() error {
			if over.Load() {
				return context.Canceled
			}
			if c.o.May != nil {
				return c.o.May(a.Cluster)
			}
			return nil
		}}
	})
	if err != nil {
		return fleet.Errorf(fleet.Invalid, "reach the API server of "+a.Cluster.String(), "%w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ctx.Err(); err != nil {
		return fleet.Errorf(fleet.Unavailable, "change release "+t.String(), "not begun: %w", err)
	}
	mine := c.attempts[a.Cluster]
	if mine == nil {
		mine = make(map[fleet.ReleaseRef]*attempt)
		c.attempts[a.Cluster] = mine
	}
	now := time.Now()
	t.Running, t.Since = true, now
	if was, ok := mine[t.ReleaseRef]; ok {
		if was.Running {
			return nil
		}
		if was.Digest == t.Digest {
			t.Since, t.Tried, t.Failure, t.Message = was.Since, was.Tried, was.Failure, was.Message
		}
	}
	ctx, cancel := context.WithTimeout(c.ctx, limit)
	this := &attempt{t, cancel}
	mine[t.ReleaseRef] = this
	c.runs.Go(func() {
		defer cancel()
		err := c.turn(ctx, func() error { return do(ctx, client) })
		over.Store(true)
		kind := fleet.ErrorKind("")
		if err != nil {
			kind = kindOfTry(err, lost.Load())
		}
		if c.o.Ended != nil {
			c.o.Ended(ctx, operation, kind, time.Since(now))
		}
		c.end(a.Cluster, this, kind, err)
	})
	return nil
}

// turn calls do when there is room for it. A chart that Helm trips over is no
// reason for the agent to fall.
func (c *Charts) turn(ctx context.Context, do func() error) (err error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() {
		if p := recover(); p != nil {
			err = fleet.Errorf(fleet.Invalid, "render the chart", "Helm fell over it: %v", p)
		}
	}()
	return do()
}

// end notes what came of t, unless it was forgotten: err, of that kind.
func (c *Charts) end(k fleet.Key, t *attempt, kind fleet.ErrorKind, err error) {
	c.mu.Lock()
	known := c.attempts[k][t.ReleaseRef] == t
	if known && err == nil {
		delete(c.attempts[k], t.ReleaseRef)
	}
	if known && err != nil {
		t.Running, t.Tried = false, time.Now()
		t.Failure, t.Message = kind, errorText(err)
	}
	c.mu.Unlock()
	if known && c.o.Changed != nil {
		c.o.Changed(k)
	}
}

// errorText returns the text of an error on one line, bounded.
func errorText(err error) string {
	const most = 1000
	text := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\t' }), " ")
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return text
}

// removalTimeout is that of hooks of a release that goes.
const removalTimeout = 10 * time.Minute

// install brings r to its desired state.
func (c *Charts) install(ctx context.Context, client *Client, r fleet.Release) error {
	cfg, err := client.configuration(r.Namespace)
	if err != nil {
		return err
	}
	old, err := last(cfg, r.Name)
	if err != nil {
		return err
	}
	if old != nil && old.Info.Status != common.StatusUninstalled {
		_, ours := old.Labels[fleet.ReleaseProxyLabel]
		switch {
		case !ours && !r.Options.TakeOwnership:
			return fleet.Errorf(fleet.Conflict, "install release "+r.String(), "%w: remove it, choose another releaseName, or set options.takeOwnership to take it over", errForeign)
		case old.Info.Status == common.StatusDeployed && carries(old.Labels, r.Labels(old.Version)):
			return nil
		}
	}
	chart, err := c.cache.Chart(ctx, r.Chart, r.Access)
	if err != nil {
		return err
	}
	values := map[string]any{}
	if err := json.Unmarshal(r.Values.Reveal(), &values); err != nil {
		return fleet.Errorf(fleet.Invalid, "read the values of release "+r.String(), "%w", err)
	}
	return client.installOrUpgrade(ctx, cfg, old, change{
		ReleaseRef: r.ReleaseRef, ReleaseOptions: r.Options,
		chart: chart, values: values, labels: r.Labels, force: true,
	})
}

// carries reports whether have has all of want.
func carries(have, want map[string]string) bool {
	for key, value := range want {
		if got, ok := have[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// uninstall removes a release that is ours, as its labels say.
func (c *Client) uninstall(ctx context.Context, ref fleet.ReleaseRef) error {
	cfg, err := c.configuration(ref.Namespace)
	if err != nil {
		return err
	}
	old, err := last(cfg, ref.Name)
	if err != nil || old == nil {
		return err
	}
	if _, ours := old.Labels[fleet.ReleaseProxyLabel]; !ours {
		return fleet.Errorf(fleet.Conflict, "remove release "+ref.String(), "%w", errForeign)
	}
	o := fleet.Removal(old.Labels)
	o.Timeout = removalTimeout
	return uninstall(ctx, cfg, ref.Name, o)
}

// A fence lets no request through once there is a reason.
type fence struct {
	http.RoundTripper
	closed func() error
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := f.closed(); err != nil {
		return nil, err
	}
	return f.RoundTripper.RoundTrip(r)
}

package maas_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/maas"
	"fairlead.dev/providers/infrastructure/maas/maastest"
	"fairlead.dev/providers/infrastructure/maas/region"
)

// How much one account of MAAS has: 1,000 machines of 50 clusters. MAAS sends 17 kB of each.
const thousand, fifty, sent = 1000, 50, 17_000

// deployed returns a region in which 50 clusters have 20 machines each, and the clusters.
func deployed(t testing.TB) (*world, []*fleet.Cluster) {
	t.Helper()
	w := newWorld(t, 0)
	w.SetTimes(maastest.Times{})
	credential, err := region.ReadCredential("Secret", maastest.URL, w.user.Key(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := region.New(credential, region.Options{Base: w.Region, Rate: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	var out []*fleet.Cluster
	for n := range fifty {
		of := w.c
		of.Key.Name = fmt.Sprintf("c%d", n)
		out = append(out, &of)
	}
	for n := range thousand {
		id := w.Add(maastest.Machine{Hostname: fmt.Sprintf("m%03d", n), Description: strings.Repeat("x", sent-1300)}).SystemID
		of := out[n%fifty]
		name := fleet.MachineName(fmt.Sprintf("%s-md-%d", of.Key.Name, n/fifty))
		tags, err := json.Marshal(request(of, name).Tags("op"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Allocate(t.Context(), id, string(name), "", region.Constraints{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Annotate(t.Context(), id, map[string]string{"fairlead": string(tags)}); err != nil {
			t.Fatal(err)
		}
		if err := c.Deploy(t.Context(), id, "ubuntu/jammy", nil, false); err != nil {
			t.Fatal(err)
		}
	}
	return w, out
}

// recorded answers a listing of machines as base answered the first one, so that a benchmark measures who asks.
type recorded struct {
	base  http.RoundTripper
	mu    sync.Mutex
	calls int
	size  int
	body  []byte
}

func (r *recorded) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	listing := q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, "/machines/")
	if listing && r.body != nil {
		r.calls, r.size = r.calls+1, r.size+len(r.body)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(r.body)), Request: q}, nil
	}
	res, err := r.base.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	r.calls, r.size = r.calls+1, r.size+len(body)
	if listing {
		r.body = body
	}
	return res, nil
}

// TestThousandMachines: a look of 50 clusters at 1,000 machines is one listing.
func TestThousandMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("1,000 machines are deployed")
	}
	w, clusters := deployed(t)
	p := w.providerOf(maas.Options{Relist: time.Hour})
	w.ResetCalls()
	var all sync.WaitGroup
	for _, c := range clusters {
		all.Go(func() {
			if got, err := p.Observe(t.Context(), c); err != nil || len(got.Machines) != thousand/fifty {
				t.Errorf("%s has %d machines, %v", c.Key, len(got.Machines), err)
			}
		})
	}
	all.Wait()
	if n := w.calls("GET machines/"); n != 1 {
		t.Errorf("%d clusters that look at %d machines list them %d times: %+v", fifty, thousand, n, w.Calls())
	}
}

// BenchmarkThousand reports what a look at 1,000 machines brings and costs if MAAS has new events, and what one
// cluster makes of a listing that there is. docs/operations/performance.md has the figures.
//
//	go test ./providers/infrastructure/maas -run '^$' -bench Thousand -benchtime 20x
func BenchmarkThousand(b *testing.B) {
	w, clusters := deployed(b)
	look := func(b *testing.B, o maas.Options) {
		base := &recorded{base: w.Region}
		o.Region.Base = base
		p := w.providerOf(o)
		if _, err := p.Observe(b.Context(), clusters[0]); err != nil {
			b.Fatal(err)
		}
		base.calls, base.size = 0, 0
		for b.Loop() {
			if _, err := p.Observe(b.Context(), clusters[0]); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(base.calls)/float64(b.N), "calls/look")
		b.ReportMetric(float64(base.size)/float64(b.N), "B/look")
	}
	b.Run("listing", func(b *testing.B) { look(b, maas.Options{Relist: 1, Tick: time.Nanosecond}) })
	b.Run("events", func(b *testing.B) { look(b, maas.Options{Relist: time.Hour, Tick: time.Nanosecond}) })
	b.Run("shared", func(b *testing.B) { look(b, maas.Options{Relist: time.Hour, Tick: time.Hour}) })
}

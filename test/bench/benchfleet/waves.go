package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// waves has a class change under n clusters in five stages. In the third of them one cluster
// never becomes whole, which halts it; people pass over that one, all others are changed,
// and in the end it is fixed. What the cloud has is compared with the stages meanwhile.
func (b *bench) waves(ctx context.Context, n int) ([]figure, error) {
	all := rings(n)
	bad := all[1].to
	slow := map[int]string{bad: "1h"}
	if err := b.repo.write("create", waveFiles(n, 0, n, false, slow), false); err != nil {
		return nil, err
	}
	if err := b.agent.until(ctx, every(n), provisioned(n)); err != nil {
		return nil, fmt.Errorf("create: %w", err)
	}
	truth := &observer{cloud: b.at, rings: all, n: n, bad: name(bad)}
	if err := truth.begin(ctx); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { truth.watch(watching, every(n)) })
	defer func() { stop(); wg.Wait() }()
	var toHalt, toEnd time.Duration
	out, err := b.spent(func() error {
		var err error
		if toHalt, err = b.halted(ctx, truth, n, slow); err != nil {
			return err
		}
		toEnd, err = b.released(ctx, truth, n, bad)
		return err
	})
	stop()
	wg.Wait()
	if err := errors.Join(err, truth.err()); err != nil {
		return nil, err
	}
	out = append(out, figure{"from the push to the halt", "s", toHalt.Seconds()}, figure{"from the release to the end", "s", toEnd.Seconds()})
	for i, r := range all {
		out = append(out, figure{fmt.Sprintf("stage %s: most of %d clusters at once, of %d that may be", r.name, r.to-from(all, i), r.limit), "", float64(truth.most[i])})
	}
	return out, nil
}

// from returns the index of the first cluster of ring i.
func from(all []ring, i int) int {
	if i == 0 {
		return 0
	}
	return all[i-1].to
}

// halted pushes the change, and returns how long it took until the third stage was halted. It
// fails where something begins after that.
func (b *bench) halted(ctx context.Context, truth *observer, n int, slow map[int]string) (time.Duration, error) {
	started := time.Now()
	if err := b.repo.write("change the class", waveFiles(n, 0, 0, true, slow), false); err != nil {
		return 0, err
	}
	if err := b.says(ctx, `fairlead_rollout_stage{stage="third",state="Halted"} 1`); err != nil {
		return 0, fmt.Errorf("nothing halted: %w", err)
	}
	took := time.Since(started)
	if err := wait(ctx, 2*time.Second); err != nil { // what began in that moment shows
		return 0, err
	}
	before := truth.begun()
	if err := wait(ctx, 5*time.Second); err != nil {
		return 0, err
	}
	if after := truth.begun(); after != before {
		return 0, fmt.Errorf("%d clusters had begun at the halt, and %d some seconds later", before, after)
	}
	return took, nil
}

// released passes over the cluster that failed, and fixes it once all others are done.
func (b *bench) released(ctx context.Context, truth *observer, n, bad int) (time.Duration, error) {
	started := time.Now()
	truth.skip()
	out, err := exec.CommandContext(ctx, b.binary, "release", "default/"+name(bad), "--skip", "--reason", "its machines do not start", "--source", b.source, "--wait", "2m").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("release: %w: %s", err, out)
	}
	if err := truth.until(ctx, n-1); err != nil {
		return 0, err
	}
	took := time.Since(started)
	if err := b.repo.write("mend it", waveFiles(n, bad, bad+1, true, nil), false); err != nil {
		return 0, err
	}
	if err := truth.until(ctx, n); err != nil {
		return 0, err
	}
	return took, b.agent.until(ctx, every(n), provisioned(n))
}

// says waits until the metrics of the agent have the line.
func (b *bench) says(ctx context.Context, line string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.agent.listen+"/metrics", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("\n"+line+"\n")) {
			return nil
		}
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			var stages []string
			for l := range strings.Lines(string(text)) {
				if strings.HasPrefix(l, "fairlead_rollout_") && !strings.HasSuffix(l, " 0\n") {
					stages = append(stages, strings.TrimSpace(l))
				}
			}
			return fmt.Errorf("%w: %s", err, strings.Join(stages, ", "))
		}
	}
}

// An observer knows from the cloud alone which clusters are being changed.
type observer struct {
	cloud string
	rings []ring
	n     int
	bad   string // the cluster that fails: later stages need not wait for it

	old map[string]map[string]bool // by cluster, the ids of the machines before the change

	mu       sync.Mutex
	most     []int // clusters that were seen to be changed at once, by ring
	started  int   // clusters that began, done or not
	finished int
	skipped  bool // people have the bad cluster passed over: it takes no place
	wrong    error
}

// A vm is a machine of the cloud.
type vm struct {
	ID   string
	Tags map[string]string
}

// machines lists those of the cloud, by cluster.
func (o *observer) machines(ctx context.Context) (map[string]map[string]bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.cloud+"/v1/vms/list", strings.NewReader("{}"))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var list []vm
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		return nil, err
	}
	out := make(map[string]map[string]bool, o.n)
	for _, m := range list {
		c := strings.TrimPrefix(m.Tags["fairlead.dev/cluster"], "default/")
		if out[c] == nil {
			out[c] = make(map[string]bool)
		}
		out[c][m.ID] = true
	}
	return out, nil
}

// begin notes what is there before the change.
func (o *observer) begin(ctx context.Context) error {
	var err error
	o.old, err = o.machines(ctx)
	if err == nil && len(o.old) != o.n {
		err = fmt.Errorf("the cloud has machines of %d clusters, want %d", len(o.old), o.n)
	}
	o.most = make([]int, len(o.rings))
	return err
}

// watch looks until ctx ends.
func (o *observer) watch(ctx context.Context, every time.Duration) {
	for wait(ctx, every) == nil {
		now, err := o.machines(ctx)
		if err == nil {
			o.judge(now)
		}
	}
}

// judge holds one look against the stages.
func (o *observer) judge(now map[string]map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	changing, unfinished := make([]int, len(o.rings)), make([]int, len(o.rings))
	o.started, o.finished = 0, 0
	first := len(o.rings) // ring of the first cluster that is not done
	for i := range o.n {
		at, c := ringOf(o.rings, i), name(i)
		begun, done := progress(o.old[c], now[c])
		switch {
		case done:
			o.finished++
		case begun && (c != o.bad || !o.skipped):
			changing[at]++
		}
		if begun {
			o.started++
		}
		if !done && c != o.bad {
			unfinished[at]++
			first = min(first, at)
		}
		if begun && !done && at > first {
			o.fault(fmt.Errorf("%s of stage %s is changed, and stage %s is not done", c, o.rings[at].name, o.rings[first].name))
		}
	}
	for i, r := range o.rings {
		o.most[i] = max(o.most[i], changing[i])
		if changing[i] > r.limit {
			o.fault(fmt.Errorf("%d clusters of stage %s are changed at once, and %d may be", changing[i], r.name, r.limit))
		}
	}
}

func (o *observer) fault(err error) {
	if o.wrong == nil {
		o.wrong = err
	}
}

// progress says how far a cluster is that had the machines old: whether one of them is gone
// or another one is there, and whether all are others.
func progress(old, now map[string]bool) (begun, done bool) {
	left := 0
	for id := range now {
		if old[id] {
			left++
		}
	}
	return left != len(old) || len(now) != len(old), left == 0 && len(now) == len(old)
}

// skip notes that the bad cluster is passed over from now on.
func (o *observer) skip() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.skipped = true
}

func (o *observer) begun() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.started
}

func (o *observer) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wrong
}

// until waits until so many clusters are done.
func (o *observer) until(ctx context.Context, done int) error {
	for {
		o.mu.Lock()
		have, wrong := o.finished, o.wrong
		o.mu.Unlock()
		if wrong != nil || have >= done {
			return wrong
		}
		if err := wait(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d clusters are done: %w", have, done, err)
		}
	}
}

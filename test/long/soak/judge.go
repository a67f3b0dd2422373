package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// settles is how long a process may go on with changes after another one began: it reads who acts before each
	// change, if the last read is older than seconds.
	settles = 5 * time.Second
	// longestPause is how long no process may look at the cloud. A start asks the Git server half a dozen times, and
	// waits up to a minute after each failure.
	longestPause = 2 * time.Minute
)

// A judge is between the processes of the agent and the cloud. It sees that one of them acts at a time, and that
// somebody cares for the clusters all the time.
type judge struct {
	cloud *httputil.ReverseProxy

	mu      sync.Mutex
	begun   map[int]time.Time // the first change of each process
	looked  time.Time         // when a process last looked at the machines; zero: none did yet
	changes int
	pause   time.Duration // the longest one
	wrong   error         // the first thing that went wrong
	found   chan struct{} // is closed when something went wrong
}

func newJudge(cloud string) (*judge, error) {
	u, err := url.Parse(cloud)
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.FlushInterval = -1                    // watches
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a process that was killed leaves its requests
	return &judge{cloud: proxy, begun: make(map[int]time.Time), found: make(chan struct{})}, nil
}

// ServeHTTP serves the cloud of process N below /N.
func (j *judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	process, call, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	n, err := strconv.Atoi(process)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	switch _, what, _ := strings.Cut(strings.TrimPrefix(call, "v1/"), "/"); what {
	case "list":
		j.look(call)
	case "create", "delete", "set", "stop", "start", "update", "scale":
		j.change(n, call)
	}
	r.URL.Path = "/" + call
	j.cloud.ServeHTTP(w, r)
}

// look notes that a process looks at the cloud.
func (j *judge) look(call string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if call != "v1/vms/list" {
		return
	}
	j.paused()
	j.looked = time.Now()
}

// paused notes how long no agent looked. The caller holds j.mu.
func (j *judge) paused() {
	if j.looked.IsZero() {
		return
	}
	since := time.Since(j.looked)
	if j.pause = max(j.pause, since); since > longestPause {
		j.fail(fmt.Errorf("nobody cared for the clusters for %s: see agent.log", since.Round(time.Second)))
	}
}

// change notes that process n changes something.
func (j *judge) change(n int, call string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changes++
	if _, known := j.begun[n]; !known {
		j.begun[n] = time.Now()
	}
	for later, since := range j.begun {
		if late := time.Since(since); later > n && late > settles {
			j.fail(fmt.Errorf("two processes act: start %d asked for %s %s after start %d began to change things: see agent.log", n, call, late.Round(time.Millisecond), later))
		}
	}
}

// fail notes the first thing that went wrong. The caller holds j.mu.
func (j *judge) fail(err error) {
	if j.wrong == nil {
		j.wrong = err
		close(j.found)
	}
}

// verdict returns what went wrong.
func (j *judge) verdict() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.paused()
	return j.wrong
}

// String tells what was seen.
func (j *judge) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return fmt.Sprintf("%d changes by %d processes, one at a time; the longest pause of their care was %s", j.changes, len(j.begun), j.pause.Round(100*time.Millisecond))
}

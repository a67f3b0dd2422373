package ha

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What replicas write to.
const (
	theStatus = "the status branch"
	theCloud  = "the cloud"
)

// actors records who changed what, in order.
type actors struct {
	mu     sync.Mutex
	count  map[string]int           // by replica
	last   map[string]string        // replica by subject: theStatus or theCloud
	turns  map[string][]string      // replicas, each for as long as no other changed anything
	inside func(replica string)     // see inACreate
	held   map[string]chan struct{} // by replica: closed when its creates are answered again
	check  func(who, on string)     // if set, called before each change
}

func newActors() *actors {
	return &actors{count: make(map[string]int), last: make(map[string]string), turns: make(map[string][]string), held: make(map[string]chan struct{})}
}

func (a *actors) act(replica, on string) {
	if a.check != nil {
		a.check(replica, on)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count[replica]++
	if a.last[on] != replica {
		a.last[on] = replica
		a.turns[on] = append(a.turns[on], replica)
	}
}

// acts returns how many changes the given replicas made; without any, all replicas.
func (a *actors) acts(replicas ...string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for replica, count := range a.count {
		if len(replicas) == 0 || slices.Contains(replicas, replica) {
			n += count
		}
	}
	return n
}

// inACreate calls do once, with the replica that creates the next machine: the machine
// exists then, and the replica has no answer yet. Its other permitted requests are
// completed before do is called, since nobody can stop them.
func (w *world) inACreate(do func(replica string)) <-chan string {
	who := make(chan string, 1)
	w.actors.mu.Lock()
	defer w.actors.mu.Unlock()
	w.actors.inside = func(replica string) {
		do(replica)
		who <- replica
	}
	return who
}

// answer returns when the replica may get the answer to its create.
func (a *actors) answer(replica string) {
	a.mu.Lock()
	held, inside := a.held[replica], a.inside
	if held == nil && inside != nil {
		a.inside = nil
		a.held[replica] = make(chan struct{})
	}
	a.mu.Unlock()
	switch {
	case held != nil:
		<-held
	case inside != nil:
		for acts := -1; acts != a.acts(replica); time.Sleep(quietTime) {
			acts = a.acts(replica)
		}
		inside(replica)
		a.mu.Lock()
		defer a.mu.Unlock()
		close(a.held[replica])
		delete(a.held, replica)
	}
}

// quietTime is how long a replica makes no change after its last machine.
const quietTime = 300 * time.Millisecond

// gitFor returns the repository as the replica called name reaches it.
func (w *world) gitFor(name string) string {
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			w.actors.act(name, theStatus)
		}
		w.git.ServeHTTP(out, r)
	}))
	w.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + "/fleet.git"
}

// cloudFor returns the cloud as the replica called name reaches it.
func (w *world) cloudFor(name string) string {
	to, err := url.Parse(w.cloudURL)
	w.must(err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1 // a watch tells at once
	proxy.ErrorLog = quiet()
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path != "/v1/vms/create" {
			return nil
		}
		w.actors.answer(name)
		return nil
	}
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if changes(r.URL.Path) {
			w.actors.act(name, theCloud)
		}
		proxy.ServeHTTP(out, r)
	}))
	w.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// changes reports whether a call of the cloud at path changes anything.
func changes(path string) bool {
	return !strings.HasSuffix(path, "/list") && !strings.HasSuffix(path, "/get") && !strings.HasSuffix(path, "/watch")
}

// oneActs fails where a replica acted without the right to. A replica that acts after
// another one must have acquired the Lease in between. A Lease counts its holders, so there
// may not be more turns than holders.
func (w *world) oneActs(what string) {
	w.t.Helper()
	holders, err := w.holders()
	w.must(err)
	w.actors.mu.Lock()
	defer w.actors.mu.Unlock()
	for _, on := range slices.Sorted(maps.Keys(w.actors.turns)) {
		if turns := w.actors.turns[on]; len(turns) > holders {
			w.t.Errorf("%s: %s acted on %s in turn, and the Lease had but %d holders", what, turns, on, holders)
		}
	}
}

// holders returns how many holders the Lease had.
func (w *world) holders() (int, error) {
	l, err := w.api.Leases.Leases(w.namespace).Get(w.t.Context(), lease, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	n := 1
	if l.Spec.LeaseTransitions != nil {
		n += int(*l.Spec.LeaseTransitions)
	}
	return n, nil
}

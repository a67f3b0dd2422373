package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// queueLimit is how many events may wait for a client that does not read.
	queueLimit = 4096
	// bookmarkEvery is as often as a real API server sends bookmarks.
	bookmarkEvery = time.Minute
)

// A watcher queues the events that one client has still to be sent. It takes no
// memory while nothing happens.
type watcher struct {
	kind      *kind
	namespace string
	wake      chan struct{} // has room for one

	mu    sync.Mutex
	queue []event
	lost  bool
}

func (w *watcher) wants(k key) bool {
	return k.kind == w.kind && (w.namespace == "" || k.namespace == w.namespace)
}

func (w *watcher) push(e event) {
	if !w.wants(e.key) {
		return
	}
	w.mu.Lock()
	if w.lost = w.lost || len(w.queue) >= queueLimit; !w.lost {
		w.queue = append(w.queue, e)
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) take() (events []event, lost bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events, w.queue = w.queue, nil
	return events, w.lost
}

// subscribe returns a watcher for the changes after the revision from, with
// those that were already. Without a revision, it begins with what is.
func (s *Server) subscribe(q request) (w *watcher, initial bool, now uint64, err error) {
	w = &watcher{kind: q.kind, namespace: q.namespace, wake: make(chan struct{}, 1)}
	rv := q.query.Get("resourceVersion")
	initial = rv == "" || rv == "0" || q.query.Get("sendInitialEvents") == "true"
	st := &s.store
	st.mu.Lock()
	defer st.mu.Unlock()
	if initial {
		for _, it := range s.itemsLocked(q.kind, q.namespace) {
			w.push(event{key: it.key, new: it.raw})
		}
	} else {
		from, err := strconv.ParseUint(rv, 10, 64)
		if err != nil {
			return nil, false, 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version %q", rv))
		}
		if oldest := st.history[0].revision; from+1 < oldest {
			return nil, false, 0, tooOld(rv, oldest)
		}
		for _, e := range st.history {
			if e.revision > from {
				w.push(e)
			}
		}
	}
	if st.watchers == nil {
		st.watchers = make(map[*watcher]struct{})
	}
	st.watchers[w] = struct{}{}
	return w, initial, st.revision, nil
}

func tooOld(rv string, oldest uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %s (%d)", rv, oldest))
}

func (s *Server) unsubscribe(w *watcher) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	delete(s.store.watchers, w)
}

func (s *Server) serveWatch(w http.ResponseWriter, q request) error {
	sel, err := parseSelector(q)
	if err != nil {
		return err
	}
	in, initial, now, err := s.subscribe(q)
	if err != nil {
		return err
	}
	defer s.unsubscribe(in)

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := stream{server: s, q: q, sel: sel, w: w, flush: http.NewResponseController(w)}
	bookmarks := q.query.Get("allowWatchBookmarks") == "true"

	var end <-chan time.Time
	if seconds, _ := strconv.Atoi(q.query.Get("timeoutSeconds")); seconds > 0 {
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		defer timer.Stop()
		end = timer.C
	}
	var tick <-chan time.Time
	if bookmarks {
		ticker := time.NewTicker(bookmarkEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	if q.query.Get("sendInitialEvents") == "true" && initial {
		events, _ := in.take()
		out.send(events)
		out.bookmark(now, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	for {
		events, lost := in.take()
		out.send(events)
		if lost {
			out.error(tooOld("the watch lagged behind", 0))
			return nil
		}
		if out.flush.Flush() != nil {
			return nil
		}
		select {
		case <-in.wake:
		case <-tick:
			out.bookmark(s.revisionNow(in), nil)
		case <-end:
			if bookmarks {
				out.bookmark(s.revisionNow(in), nil)
			}
			return nil
		case <-q.Context().Done():
			return nil
		}
	}
}

// revisionNow returns the revision up to which a watcher has been sent
// everything, or 0 where something waits for it.
func (s *Server) revisionNow(w *watcher) uint64 {
	s.store.mu.RLock()
	defer s.store.mu.RUnlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) > 0 {
		return 0
	}
	return s.store.revision
}

// A stream writes the events of one watch.
type stream struct {
	server *Server
	q      request
	sel    selector
	w      http.ResponseWriter
	flush  *http.ResponseController
}

func (o stream) send(events []event) {
	for _, e := range events {
		was := e.old != nil && o.sel.matches(e.old)
		is := e.new != nil && o.sel.matches(e.new)
		switch {
		case is && was:
			o.object(watch.Modified, e.key, e.new)
		case is:
			o.object(watch.Added, e.key, e.new)
		case was:
			// The last state, with the revision of the end: clients resume from it.
			u := decode(e.old)
			u.SetResourceVersion(strconv.FormatUint(e.revision, 10))
			o.object(watch.Deleted, e.key, encode(u))
		}
	}
}

func (o stream) object(typ watch.EventType, at key, raw []byte) {
	if wantsTable(o.q.Request) {
		raw, _ = json.Marshal(o.server.table(o.q, []item{{at, raw}}, ""))
	}
	o.write(typ, raw)
}

func (o stream) bookmark(revision uint64, annotations map[string]string) {
	if revision == 0 {
		return
	}
	m := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.FormatUint(revision, 10), Annotations: annotations,
	}}
	m.SetGroupVersionKind(o.q.kind.GroupVersionKind)
	raw, _ := json.Marshal(&m)
	o.write(watch.Bookmark, raw)
}

func (o stream) error(err error) {
	if st, ok := err.(apierrors.APIStatus); ok {
		s := st.Status()
		s.TypeMeta = statusType()
		raw, _ := json.Marshal(&s)
		o.write(watch.Error, raw)
	}
}

func (o stream) write(typ watch.EventType, raw []byte) {
	e := metav1.WatchEvent{Type: string(typ), Object: runtime.RawExtension{Raw: raw}}
	line, _ := json.Marshal(&e)
	_, _ = o.w.Write(append(line, '\n'))
}

package workload

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Between attempts to watch again.
const (
	watchPauseMin = 500 * time.Millisecond
	watchPauseMax = 30 * time.Second
)

// A nodeWatch is the watch of one cluster's nodes. It survives a change of the
// kubeconfig.
type nodeWatch struct {
	cancel context.CancelFunc
	done   <-chan struct{} // of its context

	mu   sync.Mutex
	conn *conn
	stop context.CancelFunc // of the stream that is open
}

// use makes the watch go on over n.
func (w *nodeWatch) use(n *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = n
	if w.stop != nil {
		w.stop()
	}
}

// Watch implements providers.Workload. It returns at once; ctx is the life of
// the watch. While one of the cluster runs, a call only renews its access, and
// keeps the ctx and changed of the first. changed must not block.
func (c *Client) Watch(ctx context.Context, a providers.Access, changed func()) {
	n, err := c.conn(a)
	if err != nil {
		c.o.Log.Warn("cannot watch nodes", "cluster", a.Cluster, "error", err)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.watch != nil {
		select {
		case <-n.watch.done:
		default:
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &nodeWatch{cancel: cancel, done: ctx.Done(), conn: n}
	n.watch = w
	c.wg.Go(func() { c.runWatch(ctx, a.Cluster, w, changed) })
}

func (c *Client) runWatch(ctx context.Context, k fleet.Key, w *nodeWatch, changed func()) {
	pause := newPause()
	resume := cached
	seen := make(map[types.UID]uint64)
	for ctx.Err() == nil {
		rv, err := w.stream(ctx, resume, seen, func() { pause = newPause(); changed() })
		if rv != "" {
			resume = rv
		}
		if err == nil && rv != "" {
			continue // the server ends each watch after a while
		}
		if ctx.Err() != nil {
			return
		}
		c.o.Log.Debug("watching nodes again", "cluster", k, "error", err)
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			// Anything may have happened: begin again with what is.
			resume = cached
			clear(seen)
		}
		changed()
		t := time.NewTimer(pause.Step())
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

func newPause() *wait.Backoff {
	return &wait.Backoff{Duration: watchPauseMin, Factor: 2, Jitter: 0.5, Steps: 10, Cap: watchPauseMax}
}

// stream reads events after the revision resume until the stream ends, and
// returns the revision that it came to. A clean end is no error.
func (w *nodeWatch) stream(ctx context.Context, resume string, seen map[types.UID]uint64, changed func()) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w.mu.Lock()
	w.stop = stop
	n := w.conn
	w.mu.Unlock()

	o := metav1.ListOptions{Watch: true, ResourceVersion: resume, AllowWatchBookmarks: true}
	body, err := ref{resource: "nodes"}.request(n.rest.Get()).VersionedParams(&o, scheme.ParameterCodec).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }()
	rv := ""
	for in := json.NewDecoder(body); ; {
		var e nodeEvent
		if err := in.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return rv, nil
			}
			return rv, err
		}
		if e.Type == watch.Error {
			return "", apierrors.FromObject(&metav1.Status{
				Status: metav1.StatusFailure, Code: e.Object.Code, Reason: e.Object.Reason, Message: e.Object.Message,
			})
		}
		rv = e.Object.Metadata.ResourceVersion
		if e.changes(seen) {
			changed()
		}
	}
}

// A nodeEvent is an event with as much of a Node as matters.
type nodeEvent struct {
	Type   watch.EventType
	Object struct {
		Metadata struct {
			UID               types.UID
			ResourceVersion   string
			DeletionTimestamp *metav1.Time
			Labels            map[string]string
			Annotations       map[string]string
		}
		Spec struct {
			ProviderID    string
			Unschedulable bool
			Taints        []corev1.Taint
		}
		Status nodeStatus

		// Of a Status.
		Code    int32
		Reason  metav1.StatusReason
		Message string
	}
}

type nodeStatus struct {
	Conditions []struct {
		Type   corev1.NodeConditionType
		Status corev1.ConditionStatus
	}
	NodeInfo struct{ KubeletVersion string }
}

// UnmarshalJSON implements json.Unmarshaler: the status of an error is a word.
func (s *nodeStatus) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return nil
	}
	type plain nodeStatus
	return json.Unmarshal(raw, (*plain)(s))
}

// changes notes what e says, and reports whether it is new: heartbeats are not.
func (e *nodeEvent) changes(seen map[types.UID]uint64) bool {
	id := e.Object.Metadata.UID
	switch e.Type {
	case watch.Bookmark:
		return false
	case watch.Deleted:
		delete(seen, id)
		return true
	}
	o := e.Object
	o.Metadata.ResourceVersion = ""
	raw, err := json.Marshal(o)
	if err != nil {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write(raw)
	old, known := seen[id]
	seen[id] = h.Sum64()
	return !known || old != seen[id]
}

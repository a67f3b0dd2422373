package rancher

import (
	"context"
	"io"
	"regexp"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/providers/workload"
)

// Certificates of a machine are renewed when its service starts, in the last 120 days of
// their year (90 in older versions). Each machine looks at its own and warns of those that
// come into these days by an event of its Node. What the API server of K3s serves with
// tells nothing of them: all servers share that certificate, and it is renewed while they
// run.
// Source: k3s, pkg/certmonitor and pkg/cluster/https.go.
const (
	eventsPath    = "/api/v1/namespaces/default/events"
	eventsOfNodes = "involvedObject.kind=Node,reason="
	expiryWarned  = "CertificateExpirationWarning"
	expiryFine    = "CertificateExpirationOK" // said once, as the service starts

	// eventsFresh is how long events that were read are taken for what there is.
	eventsFresh = 10 * time.Minute
	// warningHolds is how long a warning is believed that is not repeated: events are kept
	// for an hour, and older versions look every twelve hours.
	warningHolds = 13 * time.Hour
)

// A warning is one that a machine gave of its certificates.
type warning struct {
	notAfter time.Time // of the first of them
	at       time.Time // by the clock of the cluster
	seen     time.Time // by the agent's, last
}

// kept is stored with the connection to a cluster.
type kept struct {
	mu     sync.Mutex
	read   time.Time          // when events were read last
	warned map[string]warning // by the name of the Node; never changed once it is here
}

func keptOf(n *workload.Conn) *kept {
	return n.Keep(func() io.Closer { return &kept{} }).(*kept) //nolint:forcetypeassert // nothing else is kept for this kind of cluster
}

// Close implements io.Closer.
func (*kept) Close() error { return nil }

// warnings returns those that hold, by the name of the Node. What cannot be read now is
// read with the next look.
func (k *kept) warnings(ctx context.Context, n *workload.Conn) map[string]warning {
	now := n.Now()
	k.mu.Lock()
	read, old := k.read, k.warned
	k.mu.Unlock()
	if !read.IsZero() && now.Sub(read) < eventsFresh {
		return old
	}
	var warned, fine corev1.EventList
	if n.GetSelected(ctx, eventsPath, eventsOfNodes+expiryWarned, &warned) != nil ||
		n.GetSelected(ctx, eventsPath, eventsOfNodes+expiryFine, &fine) != nil {
		return old
	}
	next := updateWarnings(old, warned.Items, fine.Items, now)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read, k.warned = now, next
	return next
}

// updateWarnings returns the present warnings; old are the former ones.
func updateWarnings(old map[string]warning, warned, fine []corev1.Event, now time.Time) map[string]warning {
	out := make(map[string]warning)
	for node, w := range old {
		if now.Sub(w.seen) < warningHolds {
			out[node] = w
		}
	}
	for i := range warned {
		node, at := warned[i].InvolvedObject.Name, saidAt(&warned[i])
		if first := firstExpiry(warned[i].Message); !first.IsZero() && !at.Before(out[node].at) {
			out[node] = warning{notAfter: first, at: at, seen: now}
		}
	}
	for i := range fine {
		node := fine[i].InvolvedObject.Name
		if saidAt(&fine[i]).After(out[node].at) {
			delete(out, node)
		}
	}
	return out
}

// saidAt is when e was said last.
func saidAt(e *corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	if !e.EventTime.IsZero() {
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// firstExpiry returns the earliest of the times at which certificates expire, or have
// expired, as a warning says; zero where it says none.
func firstExpiry(message string) time.Time {
	var first time.Time
	for _, m := range expiryText.FindAllStringSubmatch(message, -1) {
		at, err := time.Parse(time.RFC3339, m[1])
		if err == nil && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

var expiryText = regexp.MustCompile(`(?:expired|will expire within \d+ days) at (\S+)`)

package rancher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFollowWarnings: a warning holds until it is not repeated for longer than any version
// waits, or its service starts with certificates that are well.
func TestFollowWarnings(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	event := func(node, message string, ago time.Duration) corev1.Event {
		return corev1.Event{InvolvedObject: corev1.ObjectReference{Name: node}, Message: message, LastTimestamp: metav1.NewTime(now.Add(-ago))}
	}
	const soon = "Node certificates require attention: api-server/serving-kube-apiserver.crt: certificate CN=kube-apiserver will expire within 120 days at 2027-01-02T00:00:00Z\n" +
		"kubelet/client-kubelet.crt: certificate CN=system:node:a,O=system:nodes expired at 2026-10-31T00:00:00Z\n" +
		"etcd/client.crt: certificate CN=etcd-client is not valid before 2020-01-01T00:00:00Z"
	first := time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC)
	before := func(seen time.Duration) map[string]warning {
		return map[string]warning{"a": {notAfter: first, at: now.Add(-20 * time.Hour), seen: now.Add(-seen)}}
	}
	for reason, tc := range map[string]struct {
		old          map[string]warning
		warned, fine []corev1.Event
		want         map[string]time.Time
	}{
		"nothing is said":                   {nil, nil, nil, map[string]time.Time{}},
		"the first of several counts":       {nil, []corev1.Event{event("a", soon, time.Minute)}, nil, map[string]time.Time{"a": first}},
		"a text without a time":             {nil, []corev1.Event{event("a", "renew them", time.Minute)}, nil, map[string]time.Time{}},
		"the last of several is believed":   {nil, []corev1.Event{event("a", "x expired at 2026-10-01T00:00:00Z", time.Hour), event("a", soon, time.Minute)}, nil, map[string]time.Time{"a": first}},
		"it is not repeated for half a day": {before(12*time.Hour + time.Minute), nil, nil, map[string]time.Time{"a": first}},
		"nor for longer":                    {before(13 * time.Hour), nil, nil, map[string]time.Time{}},
		"the service started since":         {before(time.Hour), []corev1.Event{event("a", soon, time.Hour)}, []corev1.Event{event("a", "OK", time.Minute)}, map[string]time.Time{}},
		"it was well once":                  {nil, []corev1.Event{event("a", soon, time.Minute)}, []corev1.Event{event("a", "OK", time.Hour)}, map[string]time.Time{"a": first}},
	} {
		t.Run(reason, func(t *testing.T) {
			got := make(map[string]time.Time)
			for node, w := range updateWarnings(tc.old, tc.warned, tc.fine, now) {
				got[node] = w.notAfter
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

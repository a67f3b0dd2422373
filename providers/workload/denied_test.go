package workload_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
)

// TestDeniedEviction: what an admission webhook denies of one pod is told of that pod, with who
// denies it, and holds up no other. A right that is missing is of the whole drain.
func TestDeniedEviction(t *testing.T) {
	c := start(t)
	c.put(t, node("w-1", corev1.ConditionTrue, nil), pod("default", "db", "w-1", nil), pod("default", "web", "w-1", nil))
	message := `admission webhook "guard.example.com" denied the request: the backup runs`
	real := c.access
	c.access = c.front(t, func(rw http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/pods/db/eviction") {
			return false
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(rw).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: message,
		})
		return true
	})
	defer func() { c.access = real }()
	c.drain(t, "w-1")
	got := remaining(observeNode(t, c, "w-1"))
	if len(got) == 0 || got[0] != "default/db: "+message {
		t.Errorf("what remains: %q, want db with who denies its eviction", got)
	}
	for _, p := range got[1:] {
		if !strings.HasSuffix(p, "web: terminating") {
			t.Errorf("what remains besides: %q, want nothing that is not on its way", p)
		}
	}
	message = `pods "db" is forbidden: User "fairlead" cannot create resource "pods/eviction" in API group "" in the namespace "default"`
	if err := c.Drain(t.Context(), c.access, "w-1", nil); fleet.KindOf(err) != fleet.Unauthorized || !strings.Contains(err.Error(), message) {
		t.Errorf("without the right to evict: %v, want an error of kind Unauthorized", err)
	}
}

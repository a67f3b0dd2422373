package workload_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
)

// TestCertificates: when the certificates of control-plane nodes expire is seen
// through each API server's own pod, and only where it is asked for.
func TestCertificates(t *testing.T) {
	c := start(t)
	made := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, o := range controlPlane("cp-0") {
		if p, ok := o.(*corev1.Pod); ok {
			p.CreationTimestamp = metav1.NewTime(made)
		}
		c.put(t, o)
	}
	c.put(t, controlPlane("cp-1")...)
	silent := get[corev1.Pod](t, c, "Pod", "kube-system", "kube-apiserver-cp-1")
	silent.TypeMeta, silent.Annotations["kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"] = metav1.TypeMeta{}, "10.0.0.2:1"
	c.put(t, &silent, node("worker", corev1.ConditionTrue, nil))

	expiry := func() map[string]time.Time {
		t.Helper()
		w, err := c.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]time.Time{}
		for _, s := range w.Servers {
			out[s.Node] = s.CertificatesNotAfter
		}
		return out
	}
	if got := expiry(); !got["cp-0"].IsZero() {
		t.Errorf("certificates %v, nobody asked for them", got)
	}
	c.access.Certificates = true
	got := expiry()
	if want := made.AddDate(1, 0, 0); !got["cp-0"].Equal(want) {
		t.Errorf("certificates of cp-0 expire %s, want %s", got["cp-0"], want)
	}
	if !got["cp-1"].IsZero() || !got["worker"].IsZero() {
		t.Errorf("certificates %v, want none of what shows none", got)
	}
}

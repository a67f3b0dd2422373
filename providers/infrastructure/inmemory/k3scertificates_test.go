package inmemory

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestK3sCertificates: a machine warns of its certificates in the last 120 days of their
// year, and a start of its service makes them anew then, and not before.
func TestK3sCertificates(t *testing.T) {
	inK3sLabs(t, CloudOptions{}, func(t *testing.T, l *k3sLab) {
		v := l.servers(1)[0]
		made := time.Now()
		const day = 24 * time.Hour
		if l.event("s-0.certificates-ok") == nil {
			t.Error("it does not say that its certificates are well")
		}
		l.pass(200 * day)
		l.reboot(v)
		l.pass(44 * day)
		if e := l.event("s-0.certificates-warning"); e != nil {
			t.Errorf("after 244 days it warns: %s", e.Message)
		}
		l.pass(2 * day)
		e := l.event("s-0.certificates-warning")
		if e == nil || e.Reason != "CertificateExpirationWarning" || !strings.Contains(e.Message, "will expire within 120 days at "+made.Add(365*day).UTC().Format(time.DateOnly)) {
			t.Fatalf("after 246 days: %+v", e)
		}
		l.pass(121 * day)
		if e = l.event("s-0.certificates-warning"); !strings.Contains(e.Message, "expired at") || time.Since(e.LastTimestamp.Time) > time.Hour {
			t.Errorf("after their year: %+v", e)
		}
		l.reboot(v)
		l.pass(time.Minute)
		if ok := l.event("s-0.certificates-ok"); !ok.LastTimestamp.After(e.LastTimestamp.Time) {
			t.Errorf("after a start it says %+v", ok)
		}
		last := l.event("s-0.certificates-warning").LastTimestamp
		l.pass(200 * day)
		if e = l.event("s-0.certificates-warning"); !e.LastTimestamp.Equal(&last) {
			t.Errorf("with new certificates it warns: %+v", e)
		}
	})
}

// event returns the event of that name, or nil.
func (l *k3sLab) event(name string) *corev1.Event {
	l.t.Helper()
	u, ok := l.cluster().api.Get(corev1.SchemeGroupVersion.WithKind("Event"), "default", name)
	if !ok {
		return nil
	}
	var e corev1.Event
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &e); err != nil {
		l.t.Fatal(err)
	}
	return &e
}

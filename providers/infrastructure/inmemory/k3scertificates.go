package inmemory

import (
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long certificates of a machine last, in which part of that they are renewed when
// the service starts, and how often a machine looks at its own.
// Source: k3s, pkg/daemons/config and pkg/certmonitor.
const (
	certificateLife    = 365 * 24 * time.Hour
	certificateRenewal = 120 * 24 * time.Hour
	certificateCheck   = 30 * time.Minute
)

// tellCertificates has the machine warn, by an event of its Node, of certificates that come
// to their end; where its service has just started, it says once that all is well. What no
// API server takes is not sent again.
func (b *k3s) tellCertificates(c *Cloud, v *vm, started bool) {
	k, left := v.network.cluster, time.Until(v.expires)
	if v.ended || k.nodes[v.node] != v {
		return
	}
	if e := b.certificateEvent(v, left, started); e != nil && k.available {
		if err := k.api.Upsert(e); err != nil {
			c.log.Error("an event was not stored", "machine", v.Name, slog.Any("error", err))
		}
	}
	next := min(24*time.Hour, max(certificateCheck, left-certificateRenewal))
	c.whileOn(v, next, func(v *vm) { b.tellCertificates(c, v, false) })
}

// certificateEvent returns what there is to tell of the certificates of v, nil where it is
// nothing. An event takes the place of the last one of its name.
func (b *k3s) certificateEvent(v *vm, left time.Duration, started bool) *corev1.Event {
	e := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: v.node + ".certificates-warning"},
		InvolvedObject: corev1.ObjectReference{Kind: nodeKind.Kind, Name: v.node},
		Source:         corev1.EventSource{Component: b.name + "-cert-monitor", Host: v.node},
		Type:           corev1.EventTypeWarning, Reason: "CertificateExpirationWarning",
		LastTimestamp: metav1.NewTime(time.Now()), Count: 1,
	}
	state := "will expire within 120 days at"
	switch {
	case left <= 0:
		state = "expired at"
	case left < certificateRenewal:
	case started:
		e.Name, e.Type, e.Reason = v.node+".certificates-ok", corev1.EventTypeNormal, "CertificateExpirationOK"
		e.Message = "Node and Certificate Authority certificates managed by " + b.name + " are OK"
		return e
	default:
		return nil
	}
	e.Message = fmt.Sprintf("Node certificates require attention - restart %s on this node to trigger automatic rotation: "+
		"kubelet/client-kubelet.crt: certificate CN=system:node:%s,O=system:nodes %s %s", b.name, v.node, state, v.expires.UTC().Format(time.RFC3339))
	return e
}

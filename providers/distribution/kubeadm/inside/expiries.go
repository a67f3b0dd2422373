package inside

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/providers/workload"
)

const (
	apiServerPort = 6443
	// endpointAnnotation is where kubeadm writes the address and port of the API
	// server, on its pod. Source: kubeadm, cmd/kubeadm/app/constants.
	endpointAnnotation = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
	// expiryFresh is how long what an API server showed is taken for true, and
	// expiryRetry when one that showed nothing is asked again.
	expiryFresh = time.Hour
	expiryRetry = 10 * time.Minute
)

// An expiry is when the certificate of an API server expires, zero where it
// showed none, and when that was seen.
type expiry struct{ notAfter, seen time.Time }

func (e expiry) stale(now time.Time) bool {
	if e.notAfter.IsZero() {
		return now.Sub(e.seen) >= expiryRetry
	}
	return now.Sub(e.seen) >= expiryFresh
}

// expiries returns, by node, when the certificates of the API servers among
// pods expire. Each is asked once in a while, through a tunnel to its pod; one
// that does not answer is not in it.
func (k *kept) expiries(ctx context.Context, n *workload.Conn, pods []corev1.Pod) map[string]time.Time {
	now := n.Now()
	known := make(map[string]expiry)
	var mu sync.Mutex
	var asked sync.WaitGroup
	k.mu.Lock()
	old := k.expire
	k.mu.Unlock()
	for i := range pods {
		p := &pods[i]
		if p.Labels["component"] != "kube-apiserver" {
			continue
		}
		if e, ok := old[p.Spec.NodeName]; ok && !e.stale(now) {
			known[p.Spec.NodeName] = e
			continue
		}
		asked.Go(func() {
			at := certificateOf(ctx, n, p)
			mu.Lock()
			defer mu.Unlock()
			known[p.Spec.NodeName] = expiry{at, now}
		})
	}
	asked.Wait()
	k.mu.Lock()
	k.expire = known
	k.mu.Unlock()
	out := make(map[string]time.Time, len(known))
	for node, e := range known {
		if !e.notAfter.IsZero() {
			out[node] = e.notAfter
		}
	}
	return out
}

// certificateOf returns when the certificate of the API server in pod p expires;
// zero where it shows none.
func certificateOf(ctx context.Context, n *workload.Conn, p *corev1.Pod) time.Time {
	ctx, cancel := context.WithTimeout(ctx, workload.DialTimeout)
	defer cancel()
	port := apiServerPort
	if _, text, err := net.SplitHostPort(p.Annotations[endpointAnnotation]); err == nil {
		if given, err := strconv.Atoi(text); err == nil {
			port = given
		}
	}
	tunnel, err := n.DialPod(ctx, p.Name, port)
	if err != nil {
		return time.Time{}
	}
	defer func() { _ = tunnel.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = tunnel.Close() }) // a tunnel knows no deadline
	defer stop()
	var notAfter time.Time
	seen := errors.New("the certificate was seen")
	// Nothing is sent, and one that has expired is to be seen as well: so nothing
	// is verified, and the handshake ends when the certificate is there.
	_ = tls.Client(tunnel, &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(s tls.ConnectionState) error {
			notAfter = s.PeerCertificates[0].NotAfter
			return seen
		},
	}).HandshakeContext(ctx)
	return notAfter
}

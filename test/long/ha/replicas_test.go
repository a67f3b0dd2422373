package ha

import (
	"net"
	"strings"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startReplica starts the replica called name, "r0" to "r9", which has an
// address of its own, and a Git server and a cloud that know it. One of that name
// that is about to end does so first: it has the address.
func (w *world) startReplica(name string) {
	w.t.Helper()
	w.mu.Lock()
	before := w.ending[name]
	w.mu.Unlock()
	if before != nil {
		<-before
	}
	address := addressOf(name)
	args := []string{
		"agent", "--source", w.gitFor(name), "--name", lease, "--listen", "", "--interval", "500ms", "--status-interval", "500ms",
		"--inmemory-url", w.cloudFor(name),
		"--leader-election", "--leader-election-namespace", w.namespace, "--replica-name", name,
		"--replica-address", address,
		"--webhook-listen", net.JoinHostPort(address, w.hooks.port), "--webhook-secret-file", "generic=" + w.hooks.secret,
		"--leader-election-lease-duration", "6s", "--leader-election-renew-deadline", "4s", "--leader-election-retry-period", "1s",
	}
	for _, a := range w.args {
		args = append(args, strings.ReplaceAll(a, "ADDRESS", address))
	}
	c := w.start(name, args...)
	w.mu.Lock()
	w.replicas[name] = c
	w.mu.Unlock()
}

// addressOf returns the address of the replica called name, on loopback.
func addressOf(name string) string { return "127.0.0.1" + strings.TrimPrefix(name, "r") }

// leader returns the name of the replica that leads, or nothing.
func (w *world) leader() string {
	l, err := w.api.Leases.Leases(w.namespace).Get(w.t.Context(), lease, metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	name, _, _ := strings.Cut(*l.Spec.HolderIdentity, "_")
	return name
}

// newLeader waits until another than before leads.
func (w *world) newLeader(before string) string {
	w.t.Helper()
	w.eventually("another replica than "+before+" leads", func() string {
		if now := w.leader(); now == "" || now == before {
			return "the leader is " + now
		}
		return ""
	})
	return w.leader()
}

// signal sends s to a replica.
func (w *world) signal(name string, s syscall.Signal) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.replicas[name].Process.Signal(s); err != nil {
		w.t.Error(err) // it may be another goroutine's
	}
	if s == syscall.SIGKILL {
		_ = w.replicas[name].Wait()
		delete(w.replicas, name)
	}
}

// end sends s to a replica. One that s ends is waited for when it is started again.
func (w *world) end(name string, s syscall.Signal) {
	w.t.Helper()
	w.signal(name, s)
	if s != syscall.SIGTERM {
		return
	}
	ended := make(chan struct{})
	w.mu.Lock()
	c := w.replicas[name]
	delete(w.replicas, name)
	w.ending[name] = ended
	w.mu.Unlock()
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
}

// revive makes the replica called n run.
func (w *world) revive(n string) {
	if _, runs := w.replicas[n]; !runs {
		w.startReplica(n)
		return
	}
	w.signal(n, syscall.SIGCONT)
}

package inmemory

import (
	"fmt"
	"log/slog"
	"time"
)

// voteInterval is how often a server looks whether it votes.
const voteInterval = 5 * time.Second

// startMember starts the machine's member of etcd, and once that votes the API server and
// the kubelet.
func (c *Cloud) startMember(v *vm) {
	c.whileOn(v, v.takes("etcd", v.timing.Etcd), func(v *vm) {
		if m := v.network.cluster.member(v.member); m != nil {
			m.started, m.named = true, true
		}
		c.refresh(v)
		c.awaitVote(v)
	})
}

// awaitVote goes on when the machine's member votes.
func (c *Cloud) awaitVote(v *vm) {
	m := v.network.cluster.member(v.member)
	switch {
	case m == nil: // left told
	case m.Learner:
		c.console(v, "Failed to test data store connection: this server has not yet been promoted from learner to voting member")
		c.whileOn(v, voteInterval, c.awaitVote)
	default:
		c.console(v, "")
		c.whileOn(v, v.takes("apiServer", v.timing.APIServer), func(v *vm) {
			v.apiReady = true
			c.refresh(v)
			v.boot.(*k3s).startKubelet(c, v)
		})
	}
}

// startKubelet has the machine's Node be there, and be ready.
func (b *k3s) startKubelet(c *Cloud, v *vm) {
	c.whileOn(v, v.takes("node", v.timing.Node), func(v *vm) {
		k := v.network.cluster
		if v.ended || b.server && !v.etcdUp(k) {
			return
		}
		if !k.available {
			c.whileOn(v, restartInterval, func(v *vm) { b.startKubelet(c, v) })
			return
		}
		if err := b.register(k, v); err != nil {
			c.log.Error("registering a node failed", "machine", v.Name, slog.Any("error", err))
			c.whileOn(v, restartInterval, func(v *vm) { b.startKubelet(c, v) })
			return
		}
		v.nodeReady = true
		c.refresh(v)
		b.tellCertificates(c, v, true)
		if b.server {
			c.after(controllerDelay, func() { c.control(k) })
		}
	})
}

// left is what becomes of a server whose member was taken out: its service ends, and its
// kubelet with it. Its next start finds that it has no data and joins again.
// Source: k3s, pkg/daemons/executor/etcd.go.
func (b *k3s) left(c *Cloud, v *vm) {
	if !v.alive() {
		return
	}
	v.tombstone, v.ended, v.apiReady = true, true, false
	c.console(v, fmt.Sprintf("This node has been removed from the cluster - please restart %s to rejoin the cluster", b.name))
}

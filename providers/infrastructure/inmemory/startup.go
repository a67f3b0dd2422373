package inmemory

import (
	"log/slog"
	"slices"
)

// kubeletUp goes on after the kubelet has started: the Node gets ready, then
// etcd and the API server of a control plane.
func (c *Cloud) kubeletUp(v *vm) {
	c.whileOn(v, v.takes("node", v.timing.Node), func(v *vm) {
		v.nodeReady = true
		c.refresh(v)
		if v.boot.serves() {
			c.whileOn(v, v.takes("etcd", v.timing.Etcd), c.startEtcd)
		}
	})
}

// startEtcd starts the machine's etcd member and makes a learner a voter.
func (c *Cloud) startEtcd(v *vm) {
	k := v.network.cluster
	m := k.member(v.member)
	if m == nil {
		return // taken out while it was starting
	}
	m.started = true
	c.refresh(v)
	if m.Learner && k.quorum() {
		m.Learner = false
	}
	if m.Learner {
		c.whileOn(v, discoveryInterval, c.startEtcd)
		return
	}
	c.whileOn(v, v.takes("apiServer", v.timing.APIServer), func(v *vm) {
		v.apiReady = true
		c.refresh(v)
	})
}

// powerChanged follows a cut of power, or its return.
func (c *Cloud) powerChanged(v *vm) {
	v.powerCycles++
	v.nodeReady, v.apiReady = false, false
	if k := v.network.cluster; k != nil {
		if m := k.member(v.member); m != nil {
			m.started = false
		}
	}
	c.refresh(v)
	if v.alive() {
		c.startBoot(v)
	}
}

// refresh brings what a cluster shows in line with its machine v.
func (c *Cloud) refresh(v *vm) {
	defer c.changed(ownerOf(v.Tags))
	k := v.network.cluster
	if k == nil {
		return
	}
	if k.hosted {
		c.show(k, v)
		return
	}
	k.elect()
	up := slices.ContainsFunc(k.members, func(m *member) bool { return m.vm.apiServerUp(k) && m.vm.answers() })
	k.expose(up && k.quorum())
	c.show(k, v)
}

// show brings the Node of the machine in line with it.
func (c *Cloud) show(k *cluster, v *vm) {
	if err := showNode(k, v); err != nil {
		c.log.Error("updating a node failed", "machine", v.Name, slog.Any("error", err))
	}
}

// expose has the load balancer lead to what answers. It asks a port whether it is open:
// that of K3s is before its API server answers, and while that has lost its etcd.
func (k *cluster) expose(available bool) {
	changed := available != k.available
	k.available = available
	if k.program == nil {
		if changed {
			k.api.SetAvailable(available)
		}
		return
	}
	supervised := slices.ContainsFunc(k.members, func(m *member) bool { return m.alive() && m.vm.answers() })
	if !changed && supervised == k.supervised {
		return
	}
	k.supervised = supervised
	if k.program.join != 0 {
		k.api.SetAvailable(available)
		k.api.SetSupervised(supervised)
		return
	}
	k.api.SetStarting(!available)
	k.api.SetAvailable(supervised)
}

// apiServerUp reports whether the API server on the machine answers: it talks
// to the etcd member beside it.
func (v *vm) apiServerUp(k *cluster) bool { return v.apiReady && v.etcdUp(k) }

// etcdUp reports whether the machine's etcd member runs.
func (v *vm) etcdUp(k *cluster) bool {
	m := k.member(v.member)
	return m != nil && m.alive()
}

package inmemory

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory/kubeapi"
)

// member is an etcd member on a machine. With kubeadm its name is that of the Node.
type member struct {
	fleet.Member
	vm      *vm
	started bool // its process runs, has run since, and its machine is alive
	named   bool // it has started once: others know its name
}

// alive reports whether the member answers.
func (m *member) alive() bool { return m.started && m.vm.alive() }

// addMember adds the machine to the membership by a name and returns the member's id.
func (k *cluster) addMember(c *Cloud, v *vm, name string, learner bool) uint64 {
	c.sequence++
	id := 0x8e9e05c52164694d ^ c.sequence<<20 // looks like etcd's
	k.members = append(k.members, &member{Member: fleet.Member{ID: id, Name: name, Node: name, Learner: learner}, vm: v})
	return id
}

// member returns the member called id, or nil.
func (k *cluster) member(id uint64) *member {
	i := slices.IndexFunc(k.members, func(m *member) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return k.members[i]
}

// quorum reports whether etcd can write: more than half of its voters are alive.
func (k *cluster) quorum() bool {
	voters, alive := k.voters(nil)
	return alive >= voters/2+1
}

// voters counts the voters, and those of them that are alive, without one.
func (k *cluster) voters(without *member) (voters, alive int) {
	for _, m := range k.members {
		if m.Learner || m == without {
			continue
		}
		voters++
		if m.alive() {
			alive++
		}
	}
	return voters, alive
}

// mayAdd reports why no learner can be added now.
func (k *cluster) mayAdd() error {
	if slices.ContainsFunc(k.members, func(m *member) bool { return m.Learner }) {
		return errors.New("etcdserver: too many learner members in cluster")
	}
	return nil
}

// elect makes an alive voter the leader where the last one is lost.
func (k *cluster) elect() {
	can := func(m *member) bool { return !m.Learner && m.alive() }
	if slices.ContainsFunc(k.members, func(m *member) bool { return m.Leader && can(m) }) {
		return
	}
	elected := false
	for _, m := range k.members {
		m.Leader = !elected && can(m) && k.quorum()
		elected = elected || m.Leader
	}
}

// etcdView is what the API of a cluster sees of its etcd.
type etcdView struct {
	cloud   *Cloud
	cluster *cluster
}

var _ kubeapi.Etcd = etcdView{}

// Members implements kubeapi.Etcd.
func (e etcdView) Members() []fleet.Member {
	e.cloud.lock()
	defer e.cloud.unlock()
	out := make([]fleet.Member, 0, len(e.cluster.members))
	for _, m := range e.cluster.members {
		shown := m.Member
		shown.Healthy = m.alive()
		out = append(out, shown)
	}
	slices.SortFunc(out, func(a, b fleet.Member) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Remove implements kubeapi.Etcd.
func (e etcdView) Remove(id uint64) error {
	e.cloud.lock()
	defer e.cloud.unlock()
	return e.cluster.remove(e.cloud, id)
}

// remove takes out a member, with etcd's strict check: a member that is alive stays when
// too few would be left.
func (k *cluster) remove(c *Cloud, id uint64) error {
	const op = "remove an etcd member"
	if !k.quorum() {
		return fleet.Errorf(fleet.Unavailable, op, "etcdserver: request timed out")
	}
	m := k.member(id)
	if m == nil {
		return fleet.Errorf(fleet.NotFound, op, "etcdserver: member not found")
	}
	if !m.Learner && m.alive() {
		if voters, alive := k.voters(m); voters == 0 || alive < voters/2+1 {
			return fleet.Errorf(fleet.Conflict, op, "etcdserver: re-configuration failed due to not enough started members")
		}
	}
	k.members = slices.DeleteFunc(k.members, func(x *member) bool { return x == m })
	m.vm.boot.left(c, m.vm)
	c.refresh(m.vm)
	return nil
}

// MoveLeader implements kubeapi.Etcd.
func (e etcdView) MoveLeader(to uint64) error {
	const op = "move the etcd leader"
	e.cloud.lock()
	defer e.cloud.unlock()
	next := e.cluster.member(to)
	if next == nil || next.Learner || !next.alive() {
		return fleet.Errorf(fleet.Conflict, op, "etcdserver: bad leader transferee")
	}
	for _, m := range e.cluster.members {
		m.Leader = m == next
	}
	return nil
}

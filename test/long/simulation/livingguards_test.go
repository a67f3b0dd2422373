package simulation

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/addresses"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// mostPass is how long a pass may take: a look ends in 4 minutes, and each action in 10.
const mostPass = 15 * time.Minute

// leavesLiving checks that nobody takes m, a machine of pool p that works and is as Git says,
// while p has no machine too many.
func (j *judgement) leavesLiving(facts inmemory.Facts, m inmemory.MachineFacts, p fleet.Pool) {
	since := j.life.availableSince(m.ID)
	if since.IsZero() || since.After(j.turn.began.Add(-5*time.Second)) {
		return // it did not work when the pass looked
	}
	if j.life.askedOf(m.Name, m.Provider) != "" || p.Replace[fleet.MachineID{ProviderID: m.Provider}] != "" {
		return
	}
	if e, ok := facts.Etcd[m.Network]; ok && m.Member != 0 && !slices.ContainsFunc(e.Members, func(e fleet.Member) bool { return e.ID == m.Member }) {
		return // its member was removed from etcd: it does not come back
	}
	if same, known := p.Has(fleet.TemplateHash(m.Tags[fleet.TagTemplate])); !same || !known || len(j.turn.cluster.Rotate) > 0 {
		return // a rotation replaces machines of the same template
	}
	have := 0
	for _, o := range ours(facts, j.key) {
		if _, damaged := j.life.damageOf(o.ID); damaged {
			return
		}
		if o.Tags[fleet.TagPool] == string(p.Name) && !o.Deleted && !j.life.isCopy(o.ID) {
			have++
		}
	}
	if have <= p.Replicas {
		j.violates("NoLivingMachineLost", "machine %s %s works and is up to date, and pool %s has %d machines of %d", m.Name, m.ID, p.Name, have, p.Replicas)
	}
}

// mostBusy is how long the removal of a machine has others of its pool wait, with a minute for
// clocks that differ.
const mostBusy = 9 * time.Minute

// A poolOf is a pool of a cluster.
type poolOf struct {
	cluster fleet.Key
	pool    fleet.PoolName
}

// departs checks that the machines of a pool that left Git go as many at a time as it allowed.
func (j *judgement) departs(facts inmemory.Facts, m inmemory.MachineFacts) {
	l := j.life
	since := l.availableSince(m.ID)
	if m.Tags[fleet.TagRole] != string(fleet.RoleWorker) || l.askedOf(m.Name, m.Provider) != "" || m.Cordoned || since.IsZero() || since.After(j.turn.began.Add(-5*time.Second)) {
		return
	}
	l.mu.Lock()
	p, known := l.pools[poolOf{j.key, fleet.PoolName(m.Tags[fleet.TagPool])}]
	going := 0
	for _, o := range ours(facts, j.key) {
		if o.ID != m.ID && o.Tags[fleet.TagPool] == string(p.Name) && !o.Deleted && o.Cordoned && time.Since(l.departing[o.ID]) < mostBusy {
			going++
		}
	}
	l.departing[m.ID] = time.Now()
	l.mu.Unlock()
	if most := max(p.MaxUnavailable, 1); known && going >= most {
		j.violates("DepartedPoolGoesInTurn", "machine %s begins to go while %d others of pool %s do, %d may at a time", m.Name, going, p.Name, most)
	}
}

// leavesMemberOf checks that the etcd member id is not that of a machine that works: a machine
// is drained before its member leaves.
func (j *judgement) leavesMemberOf(id uint64) {
	if j.deleting() || j.upset() {
		return
	}
	for _, m := range ours(j.life.cloud.Facts(), j.key) {
		since := j.life.availableSince(m.ID)
		if m.Member == id && !m.Deleted && !since.IsZero() && since.Before(j.turn.began.Add(-5*time.Second)) {
			j.violates("NoLivingMachineLost", "member %x is that of machine %s, which works and is not drained", id, m.Name)
		}
	}
}

// givesOnce checks that no machine has an address of the one that is asked for. Each cluster has a pool of its own here, and pools
// overlap: of a machine that no listing shows, its own cluster alone knows.
func (j *judgement) givesOnce(s inmemory.VMSpec) {
	want, _ := addresses.Parse(s.Tags[addresses.Tag])
	for _, m := range j.life.truth().Machines {
		if j.life.outOfSight(m, j.turn.began) && m.Tags[fleet.TagCluster] != s.Tags[fleet.TagCluster] {
			continue
		}
		if m.Deleted || m.Refused != "" || j.life.isCopy(m.ID) || m.Tags[fleet.TagOperation] == s.Tags[fleet.TagOperation] {
			continue
		}
		has, _ := addresses.Parse(m.Tags[addresses.Tag])
		for _, c := range has {
			if slices.ContainsFunc(want, func(w addresses.Claim) bool { return w.Address == c.Address }) {
				j.violates("AddressIsGivenOnce", "machine %s has %s", m.Name, c.Address)
			}
		}
	}
}

// steps checks that a machine of a control plane is at most one minor version newer than the
// oldest one that serves, and not older.
func (j *judgement) steps(vm inmemory.VM) {
	var oldest *version.Version
	for _, m := range ours(j.life.truth(), j.key) {
		if m.ID == vm.ID || m.Deleted || m.Member == 0 || m.Tags[fleet.TagRole] != string(fleet.RoleControlPlane) {
			continue
		}
		if v, err := version.ParseSemantic(m.Tags[fleet.TagVersion]); err == nil && (oldest == nil || v.LessThan(oldest)) {
			oldest = v
		}
	}
	v, err := version.ParseSemantic(vm.Tags[fleet.TagVersion])
	if err != nil || oldest == nil || j.upset() {
		return
	}
	if v.Minor() > oldest.Minor()+1 || v.Minor() < oldest.Minor() {
		j.violates("NoMinorIsSkipped", "the control plane is of %s, and it is made with %s", oldest, v)
	}
}

// takesTime checks that a pass ends, whatever does not answer.
func (in *incarnation) takesTime(t turn, frozen bool) {
	if took := time.Since(t.began); took > mostPass && !frozen {
		in.life.violate("PassesEnd: the one over %s took %s", t.cluster.Key, took)
	}
}

// tellsRefusals sees that the status tells of all clusters of which Git says what is refused.
func (l *life) tellsRefusals() {
	untold := func() string {
		_ = l.problems() // read the status
		for i, w := range l.wishes {
			if w.gone || w.deleted || !w.broken && !w.skips {
				continue
			}
			c, ok := l.told.status.Cluster(key(i))
			if slices.ContainsFunc(l.told.status.Fleet.Problems, func(p fleet.Problem) bool { return p.Cluster == key(i) || p.Overlay == "clusters/"+key(i).Name }) {
				continue
			}
			reasons := slices.DeleteFunc(append(slices.Clone(c.Report.Waiting), c.Report.Failure), func(why string) bool {
				return why == "" || w.skips && !strings.Contains(why, newest) // a cluster may wait for something else
			})
			if !ok || len(reasons) == 0 {
				return key(i).String()
			}
		}
		return ""
	}
	if l.until(time.Now().Add(30*time.Minute), nil, func() bool { return untold() == "" }) || l.failed() {
		return
	}
	l.violate("RefusalIsTold: %s is not as Git says, and the status does not tell why", untold())
}

package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

const (
	settle  = time.Minute      // within which everything shows that the cloud was asked for
	late    = 25 * time.Second // most that a change is done after nobody waits any more
	mostLag = 20 * time.Second // until it shows then
	pace    = 20 * time.Second // between looks at the source
	resync  = 5 * time.Minute  // between looks at all clusters
)

// A life is that of one fleet, from its first push until nothing is left. All
// that is random in it comes from one seed.
type life struct {
	seed       uint64
	whole      bool       // with good days
	small      bool       // one cluster of few machines, and not for long
	reads      bool       // are in the log
	others     bool       // clusters are of K3s and RKE2, by turns; else of kubeadm
	hosted     bool       // somebody else keeps control planes
	clones     bool       // machines are clones, which take minutes
	reboots    bool       // sick machines are rebooted before they are replaced
	hosts      bool       // the next machine of a host has the provider id of the one before
	waving     bool       // there are four clusters, and what changes comes in waves
	random     *rand.Rand // of the goroutine that runs the life
	began      time.Time
	net        *inmemory.PipeNetwork
	cloud      *inmemory.Cloud
	secrets    *secrets.Memory
	repository repository
	branch     branch
	gate       *gate
	changes    atomic.Int64 // that reached the cloud or a cluster
	judged     int64        // of them, as others have what they had
	calls      int
	theirs     string

	wishes      []wish
	planes      []inmemory.Plane // where they are hosted, one for each cluster
	stranded    map[string]bool  // Nodes in them that went down before their machines went
	class       int              // template of the class
	waves       *waves           // nil: everything comes at once
	started     int              // agents
	agent       *incarnation
	rivalry     bool         // two agents begin
	rival       *incarnation // until one of them owns the fleet
	startAt     time.Time
	pace        time.Duration // between looks at the source
	pollAt      time.Time
	lookAt      time.Time // at all clusters
	thaw        time.Time // until then the agent stands still
	fuse        int       // calls until the agent crashes; 0: it does not
	atWork      bool      // it crashes at a call that changes something
	weather     weather
	commitsSeen int             // commits of the status branch
	reported    map[string]bool // machines whose guests told their addresses, by id
	facts       inmemory.Facts  // of the last look
	told        told
	troubles
	accidents

	mu        sync.Mutex
	log       []string
	failure   string
	history   [][]wish // by revision
	classes   []int    // templates of the class, by revision
	waved     map[fleet.Key]*wave
	upsets    map[fleet.Key]time.Time
	available map[string]time.Time // since when, by id of the machine
	running   map[string]time.Time // since when machines were seen to run, by id
	stands    map[fleet.Key]accepted
	applied   map[fleet.Key]time.Time               // when the addons were, last
	asked     map[fleet.MachineID]fleet.RequestKind // to replace or remediate, that the agent said yes to
	decided   map[string]int                        // by the autoscaler, by pool
	unwell    map[string]sickness                   // the last one of each machine, by id
	heard     map[fleet.Key]time.Time               // when the API server of a cluster first answered an agent
	ended     map[fleet.Key]bool                    // clusters that people end: nothing of them may be worth keeping
	pools     map[poolOf]fleet.Pool                 // as Git had them last, of pools with machines that came or went
	departing map[string]time.Time                  // since when machines of pools that left Git go, by id
}

// live lives l, of which the seed is known.
func live(t *testing.T, l *life) *life {
	t.Helper()
	l.random = rand.New(rand.NewPCG(l.seed, 0))
	synctest.Test(t, func(*testing.T) {
		l.begin()
		l.badDays()
		if l.whole {
			l.goodDays()
		}
		l.close()
	})
	return l
}

func (l *life) begin() {
	l.began, l.gate = time.Now(), newGate()
	l.running, l.reported = make(map[string]time.Time), make(map[string]bool)
	l.upsets, l.available, l.stands = make(map[fleet.Key]time.Time), make(map[string]time.Time), make(map[fleet.Key]accepted)
	l.asked, l.decided = make(map[fleet.MachineID]fleet.RequestKind), make(map[string]int)
	l.applied, l.unwell, l.heard = make(map[fleet.Key]time.Time), make(map[string]sickness), make(map[fleet.Key]time.Time)
	l.stranded = make(map[string]bool)
	l.ended, l.waved = make(map[fleet.Key]bool), make(map[fleet.Key]*wave)
	l.pools, l.departing = make(map[poolOf]fleet.Pool), make(map[string]time.Time)
	l.net, l.secrets = inmemory.NewPipeNetwork(), secrets.NewMemory()
	l.cloud = inmemory.NewCloud(inmemory.CloudOptions{ID: "sim", Listen: l.net.Listen, Hosts: l.hosts})
	for i, tags := range []map[string]string{
		nil,
		{fleet.TagCluster: key(0).String()},
		{fleet.TagFleet: "theirs", fleet.TagCluster: key(0).String()},
	} {
		n, err := l.cloud.CreateNetwork(context.Background(), inmemory.NetworkSpec{Name: key(0).String(), Tags: tags})
		if err == nil {
			_, err = l.cloud.CreateVM(context.Background(), inmemory.VMSpec{Name: fmt.Sprintf("c0-cp-%d", i), Network: n.ID, Tags: tags, Version: older})
		}
		if err != nil {
			l.violate("cannot make what others have: %v", err)
		}
	}
	time.Sleep(time.Minute)
	l.theirs = foreign(l.cloud.Facts())
	clusters := 1
	if l.small = !l.chance(5); !l.small {
		clusters += l.random.IntN(3)
	}
	if l.waving {
		l.small, clusters, l.waves = true, 4, l.newWaves()
	}
	l.befall()
	size := 0
	if l.pooled && !l.waving { // two clusters, whose pools overlap
		// A machine's address follows from its name and the size of the pool, and names are the same in all lives.
		l.small, clusters, size = true, 2, 30+l.random.IntN(60)
	}
	for i := range clusters {
		w := newWish(l.random, l.small)
		w.addresses, w.classy = size, w.classy && !l.pooled // the pools of a class are in its namespace
		if l.strangers && !l.waving || l.others && l.chance(2) {
			w.controlPlanes = 3 // etcd can spare a member of three
		}
		if l.waves != nil {
			w.ring = l.waves.stages[min(i, 1)].name
		}
		l.wishes = append(l.wishes, w.of(l.flavour(i)))
	}
	l.rivalry = l.chance(4)
	l.bother()
	l.push("the fleet")
}

func (l *life) close() {
	if l.agent != nil {
		l.crash()
	}
	l.cloud.Close()
	l.elsewhere.Close()
	time.Sleep(2 * time.Minute) // what is still on its way ends
}

// until goes on to the time end, or until done is true, and reports whether it
// is. Event, if not nil, is called when its time has come and returns the next.
func (l *life) until(end time.Time, event func() time.Time, done func() bool) bool {
	next := end
	if event != nil {
		next = time.Now()
	}
	for {
		synctest.Wait()
		l.duel()
		l.look()
		if l.failed() {
			return false
		}
		if done != nil && done() {
			return true
		}
		now := time.Now()
		switch {
		case !now.Before(end):
			return false
		case event != nil && !now.Before(next):
			next = event()
		case l.agent == nil && !now.Before(l.startAt):
			l.start()
		case l.agent != nil && !now.Before(l.pollAt) && !now.Before(l.thaw):
			all := !now.Before(l.lookAt)
			if all {
				l.lookAt = now.Add(resync)
			}
			l.pollAt = now.Add(l.pace)
			l.agent.look(all)
		default:
			l.step(earliest(end, next))
		}
	}
}

func earliest(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	return out
}

// step lets one call through, or waits for the next thing, end at the latest.
func (l *life) step(end time.Time) {
	calls, next := l.gate.eligible()
	if frozen := time.Now().Before(l.thaw); frozen {
		calls, next = nil, l.thaw
	}
	if len(calls) == 0 {
		wake := l.startAt
		if l.agent != nil {
			wake = l.pollAt
			if wake.Before(l.thaw) {
				wake = l.thaw
			}
		}
		t := time.NewTimer(time.Until(earliest(end, next, wake)))
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.gate.came:
		}
		return
	}
	c := calls[l.random.IntN(len(calls))]
	time.Sleep(l.within(time.Millisecond, 30*time.Millisecond))
	l.calls++
	if l.reads && !c.changes {
		l.logf("%s %s: first of %d", c.place, c.name, len(calls))
	}
	if l.fuse > 1 || l.fuse == 1 && (c.changes || !l.atWork) {
		l.fuse--
		if l.fuse == 0 {
			l.blow(c)
			return
		}
	}
	l.gate.drop(c)
	c.verdict <- l.weather.decide(l, c)
}

// blow crashes the agent right before call c is made, or right after.
func (l *life) blow(c *call) {
	if l.chance(2) {
		l.gate.drop(c)
		c.verdict <- verdict{word: "done, and then the agent crashed", do: true, after: time.Hour}
		synctest.Wait()
	}
	l.crash()
}

// look takes in what became available.
func (l *life) look() {
	if n := l.branch.count(); n != l.commitsSeen {
		l.commitsSeen = n
		l.takeSuspensions()
		if l.waves != nil {
			l.releasesHold()
			l.lateIsSeen()
		}
	}
	if l.waves != nil {
		l.repairsNeverWait()
	}
	facts := l.cloud.Facts()
	l.facts = facts
	l.mu.Lock()
	before := l.available
	l.available = make(map[string]time.Time, len(before))
	for _, m := range facts.Machines {
		if !available(m) {
			continue
		}
		since, ok := before[m.ID]
		if !ok {
			since = time.Now()
		}
		l.available[m.ID] = since
	}
	l.examine(facts)
	l.mu.Unlock()
	l.runs(facts)
	l.failFirst(facts)
	if n := l.changes.Load(); l.theirs != "" && n != l.judged {
		l.judged = n
		if now := foreign(facts); now != l.theirs {
			l.violate("NothingForeignTouched: others have\n%s and had\n%s", now, l.theirs)
		}
	}
}

func (l *life) availableSince(id string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.available[id]
}

// chance is true once in n times.
func (l *life) chance(n int) bool { return l.random.IntN(n) == 0 }

// within returns a random duration, least ≤ d < most.
func (l *life) within(least, most time.Duration) time.Duration {
	return least + time.Duration(l.random.Int64N(int64(most-least)))
}

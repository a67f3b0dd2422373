// Package simulation lets fleets live thousands of random lives.
//
// A life is that of one fleet, with the whole agent, a Git repository, a status
// branch, a cloud and the clusters' API servers in one process and in the time
// of a testing/synctest bubble. Most are small, one cluster of few machines for
// some minutes: many of these find more than few big ones, of which every fifth
// is. People push, scale, upgrade, delete, change the class that clusters are of,
// their addons and their lone machine, and ask by hand to suspend, replace,
// remediate, rotate; an autoscaler decides on pools. Calls are refused, lost, done
// and not answered, done late; places, or the API server of one cluster, are out
// of reach; machines lose their power; listings lag; two agents of different names
// begin, of which one may go on; the agent's clock is set, the agent stands still,
// or crashes at any call and starts with an empty disk. Tags are damaged and put back,
// credentials lead to an empty place for a while, Nodes are not called as their
// machines, drains do not end, clocks differ by more than health checks wait, and the
// first machine of a control plane dies while agents come and go. At every change the safety
// properties are held against what is true. Then the days get better, and
// everything must come to be as Git says, and nothing be left once all is deleted.
//
// Everything that is random in a life comes from its seed: each call of the
// agent waits at a gate until the life lets it through, one at a time, so the
// same seed is nearly the same life. What is let through is the order of events that
// a busy machine might choose. What goes on between two calls is left to one
// processor, which is not quite the same each time: where two channels are ready
// in one select, Go chooses, and so it does the order of maps and of timers that
// are due at once. A life that fails and is fine when it is lived again is lived
// more often.
//
//	go test ./test/long/simulation -run TestLives -seed=17 -v
//	go test ./test/long/simulation -run TestLives -seed=17 -repeat=20
//
// Without flags a few lives are lived, of the same seeds each time. With -others clusters
// are of K3s and RKE2 by turns, and TestLivesOfOthers lives a few of these. With -hosted somebody
// else keeps control planes, upgrades them when nobody expects it and takes them away for a while
// (TestLivesOfHosted). With -clones machines are copied for minutes, wait while others are, are not
// known by their id meanwhile and cannot be deleted, fail after their request was taken, and
// tell their addresses late, as in a vCenter (TestLivesOfClones). With -reboots machines that are
// sick are switched off and on before they are replaced, as on bare metal (TestLivesOfReboots). With -hosts the next
// machine of a host has the provider id of the one before, as on MAAS (TestLivesOfHosts).
// With -waves four clusters are changed in two stages, so many at once, the last in a window
// of each hour, and none in freezes; people release what waits or is halted, clusters move between stages or
// cannot be rendered, history is rewritten, and the agent is away for hours (TestLivesOfWaves). With -guards
// TestGuards breaks Fairlead, in one way after the other, and sees which guard
// notices in which life.
package simulation

import (
	"flag"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/run/short"
)

var (
	seed  = flag.Uint64("seed", 0, "the life to live; 0: those from -from on")
	from  = flag.Uint64("from", 1, "the first life to live")
	lives = flag.Uint64("lives", 0, "how many lives, one after the other; 0: three, and one in the short form")
	again = flag.Int("repeat", 1, "how often to live the life of -seed")
	span  = flag.Duration("for", 0, "live one life after the other for so long, beginning with a random one")
	talk  = flag.Bool("talk", false, "show what the agent logs")
	watch = flag.Bool("watch", false, "show lives as they are lived")
	stop  = flag.Bool("stop", false, "live no more lives once one failed")
	// Not for lives.
	guards  = flag.Bool("guards", false, "break Fairlead in many ways, and see which guard notices")
	others  = flag.Bool("others", false, "have clusters of K3s and RKE2 instead of kubeadm")
	hosted  = flag.Bool("hosted", false, "have clusters whose control plane somebody else keeps")
	clones  = flag.Bool("clones", false, "have machines be clones, which take minutes")
	reboots = flag.Bool("reboots", false, "have sick machines be rebooted before they are replaced")
	hosts   = flag.Bool("hosts", false, "have machines on hosts: the next one has the provider id of the one before")
	inWave  = flag.Bool("waves", false, "have four clusters that are changed in waves")
	keep    = flag.Int("keep", 60, "lines of a life that are shown where it failed")
)

// TestMain runs lives on one processor, on which goroutines that could go on at
// the same time mostly do so in the same order. A life is small: garbage is rare.
func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// TestLives lives the lives that the flags ask for.
func TestLives(t *testing.T) {
	if *seed != 0 {
		*watch = testing.Verbose() && *again == 1
		for range *again {
			if !tell(t, live(t, &life{seed: *seed, whole: true, others: *others, hosted: *hosted, clones: *clones, reboots: *reboots, hosts: *hosts, waving: *inWave})) {
				return
			}
		}
		return
	}
	first, end := *from, time.Now().Add(*span)
	if *span > 0 {
		first = uint64(end.UnixNano())
	}
	n, bad := uint64(0), 0
	for ; n < many(t) && *span == 0 || *span > 0 && time.Now().Before(end); n++ {
		if !tell(t, live(t, &life{seed: first + n, whole: true, others: *others, hosted: *hosted, clones: *clones, reboots: *reboots, hosts: *hosts, waving: *inWave})) {
			bad++
			if *stop {
				break
			}
		}
	}
	t.Logf("%d lives from -seed=%d on, %d of them failed", n, first, bad)
}

// many returns how many lives a test lives.
func many(t testing.TB) uint64 {
	t.Helper()
	if *lives > 0 {
		return *lives
	}
	return uint64(short.Number(t, 1, 3))
}

// TestLivesOfOthers lives a few lives with clusters of K3s and RKE2.
func TestLivesOfOthers(t *testing.T) {
	for n := range many(t) {
		tell(t, live(t, &life{seed: *from + n, whole: true, others: true}))
	}
}

// TestLivesOfHosted lives a few lives with clusters whose control plane somebody else keeps.
func TestLivesOfHosted(t *testing.T) {
	for n := range many(t) {
		tell(t, live(t, &life{seed: *from + n, whole: true, hosted: true}))
	}
}

// TestLivesOfClones lives a few lives with machines that are clones, with the settle time of the
// vSphere provider.
func TestLivesOfClones(t *testing.T) {
	for n := range many(t) {
		tell(t, live(t, &life{seed: *from + n, whole: true, clones: true}))
	}
}

// TestLivesOfReboots lives a few lives in which health checks have machines rebooted first.
func TestLivesOfReboots(t *testing.T) {
	for n := range many(t) {
		tell(t, live(t, &life{seed: *from + n, whole: true, reboots: true}))
	}
}

// TestLivesOfHosts lives a few lives on hosts whose machines have the provider id of the host, one after the other.
func TestLivesOfHosts(t *testing.T) {
	for n := range many(t) {
		tell(t, live(t, &life{seed: *from + n, whole: true, hosts: true}))
	}
}

// TestLivesOfWaves lives a few lives with four clusters that are changed in two stages, of which
// the second may have a window, and both freezes.
func TestLivesOfWaves(t *testing.T) {
	for n := range many(t) {
		tell(t, live(t, &life{seed: *from + n, whole: true, waving: true}))
	}
}

// tell reports a life that failed, and reports whether it was good.
func tell(t *testing.T, l *life) bool {
	t.Helper()
	log := l.log[max(0, len(l.log)-*keep):]
	if l.failure == "" {
		t.Logf("life %d: %d agents, %d calls, %d pushes", l.seed, l.started, l.calls, len(l.history))
		return true
	}
	also := ""
	switch {
	case l.others:
		also = " -others"
	case l.hosted:
		also = " -hosted"
	}
	if l.waving {
		also += " -waves"
	}
	if l.clones {
		also += " -clones"
	}
	if l.reboots {
		also += " -reboots"
	}
	if l.hosts {
		also += " -hosts"
	}
	t.Errorf("%s\n%s\nLive it again, with -repeat=20 if it is fine then:\n\tgo test ./test/long/simulation -run TestLives -seed=%d%s -v",
		l.failure, strings.Join(log, "\n"), l.seed, also)
	return false
}

// TestSameSeedSameLife lives the bad days of a life twice.
func TestSameSeedSameLife(t *testing.T) {
	n := *seed
	if n == 0 {
		t.Skip("say which life, with -seed: not all of them are the same each time")
	}
	a, b := addressless(live(t, &life{seed: n, reads: true}).log), addressless(live(t, &life{seed: n, reads: true}).log)
	if slices.Equal(a, b) {
		return
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("life %d differs in line %d of %d and %d:\n%s\n\n%s\n\n%s", n, i+1, len(a), len(b),
				strings.Join(a[max(0, i-10):i], "\n"), a[i], b[i])
		}
	}
	t.Fatalf("life %d has %d lines and %d", n, len(a), len(b))
}

// ipAddresses are those of API servers, where each cloud begins at a random one,
// with what was read there: of reads made at once, any may be the first to fail.
var ipAddresses = regexp.MustCompile(`https://127\.\d+\.\d+\.\d+:[^"\s]*|\b127\.\d+\.\d+\.\d+\b`)

// addressless returns lines without what differs between equal lives.
func addressless(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = ipAddresses.ReplaceAllString(line, "ADDRESS")
	}
	return out
}

package ha

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

// TestFormerVersion replaces three replicas of a former version, which share the clusters, while
// machines are created. FAIRLEAD_HA_FORMER names the program of that version. Leaders are killed until one of
// this version leads. After it has acted, no replica of the former version acts.
func TestFormerVersion(t *testing.T) {
	former := os.Getenv("FAIRLEAD_HA_FORMER")
	if former == "" {
		t.Skip("FAIRLEAD_HA_FORMER is not set to a program that has --shards")
	}
	w := newWorld(t, "--shards", "6", "--replica-listen", "ADDRESS:0")
	program := w.binary
	w.binary = former
	var mu sync.Mutex
	var late []string
	acted := ""
	isNew := map[string]bool{"r3": true, "r4": true}
	w.actors.check = func(who, on string) {
		mu.Lock()
		defer mu.Unlock()
		if isNew[who] {
			acted = who
		} else if acted != "" {
			late = append(late, fmt.Sprintf("%s changed %s after %s had acted", who, on, acted))
		}
	}
	for _, r := range []string{"r0", "r1", "r2"} {
		w.startReplica(r)
	}
	w.push(1)
	w.asInGit("the fleet is made by the former version")
	before, err := w.machines(t.Context())
	w.must(err)

	w.binary = program
	w.startReplica("r3")
	w.startReplica("r4")
	leader := w.newLeader("")
	for !isNew[leader] {
		killed := w.inACreate(func(string) { w.signal(leader, syscall.SIGKILL) })
		w.push(w.workers + 1)
		<-killed
		leader = w.newLeader(leader)
	}
	formers := 0
	for name := range w.replicas {
		if !isNew[name] {
			formers++
		}
	}
	t.Logf("%s leads beside %d replicas of the former version", leader, formers)
	w.asInGit("a replica of this version leads")
	for _, r := range []string{"r0", "r1", "r2"} {
		if w.replicas[r] != nil {
			w.end(r, syscall.SIGTERM)
		}
	}
	w.push(w.workers + 1)
	w.asInGit("the former version is gone")
	after, err := w.machines(t.Context())
	w.must(err)
	for k, id := range before {
		if after[k] != id {
			t.Errorf("machine %s was %s and is %s", k, id, after[k])
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if acted == "" {
		t.Error("no replica of this version acted")
	}
	for _, what := range late {
		t.Error(what)
	}
}

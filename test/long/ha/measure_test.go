package ha

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fairlead.dev/test/run/waits"
)

// measures reports whether measurements are asked for: they take long, and
// nothing fails for being slow.
func measures(t *testing.T) {
	t.Helper()
	if os.Getenv("FAIRLEAD_HA_MEASURE") == "" {
		t.Skip("make bench-ha measures")
	}
}

// times are measurements of one thing.
type times []time.Duration

// String returns least, median, 99th percentile and most.
func (d times) String() string {
	if len(d) == 0 {
		return "none"
	}
	s := slices.Sorted(slices.Values(d))
	at := func(p float64) time.Duration { return s[int(p*float64(len(s)-1)+0.5)].Round(time.Millisecond) }
	return fmt.Sprintf("%d: least %s, p50 %s, p99 %s, most %s", len(s), at(0), at(0.5), at(0.99), at(1))
}

// timings are what a takeover is measured with: duration, deadline and retry
// period of Leases, in seconds.
var timings = [][3]int{{6, 4, 1}, {15, 10, 2}}

func flagsOf(timing [3]int) []string {
	return []string{
		"--leader-election-lease-duration", fmt.Sprint(timing[0], "s"), "--leader-election-renew-deadline", fmt.Sprint(timing[1], "s"),
		"--leader-election-retry-period", fmt.Sprint(timing[2], "s"),
	}
}

// TestMeasureLeader prints how long it takes until another replica leads, and
// until it changes the cloud for a push that came with the end of the one before.
func TestMeasureLeader(t *testing.T) {
	measures(t)
	for _, timing := range timings {
		name := fmt.Sprintf("%ds-%ds-%ds", timing[0], timing[1], timing[2])
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, flagsOf(timing)...)
			for _, r := range []string{"r0", "r1", "r2"} {
				w.startReplica(r)
			}
			w.push(1)
			w.converged("the fleet is made")
			for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTERM} {
				var leads, acts times
				for range 5 {
					leader := w.newLeader("")
					w.push(2)
					w.converged("all is calm")
					began := time.Now()
					w.end(leader, end)
					w.push(3)
					w.soon("another leads", func() bool { now := w.leader(); return now != "" && now != leader })
					leads = append(leads, time.Since(began))
					w.soon("another acts", func() bool { return w.actors.lastOn(theCloud) != leader })
					acts = append(acts, time.Since(began))
					w.revive(leader)
					fmt.Printf("leader, %s, %s: leads: %s\n", name, end, leads)
					fmt.Printf("leader, %s, %s: acts: %s\n", name, end, acts)
				}
			}
		})
	}
}

// soon waits until so, and looks often.
func (w *world) soon(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(waits.Limit); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("not seen: %s", what)
		}
	}
}

func (a *actors) lastOn(subject string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[subject]
}

// hook is what runs in the forge after a push, as docs/guides/fleet/webhooks.md has it. It
// calls in the background, as forges do.
const hook = `#!/bin/sh
read -r _ new ref
body=$(printf '{"repository":"%%s","ref":"%%s","id":"%%s"}' '%[1]s' "$ref" "$new")
signature=$(printf %%s "$body" | openssl dgst -sha256 -hmac '%[2]s' -r | cut -d' ' -f1)
curl --silent --data "$body" --header "Content-Type: application/json" \
  --header "X-Signature: sha256=$signature" "$(cat '%[3]s')" >/dev/null 2>&1 &
`

// TestMeasurePush prints how long a push takes: to the webhook that was
// answered, to the revision that is held to, to the first change of the
// infrastructure, and to the commit with its status. Nobody polls.
func TestMeasurePush(t *testing.T) {
	measures(t)
	const pushes = 60
	w := newWorld(t, "--interval", "1h")
	w.push(1)
	target := filepath.Join(w.dir, "target")
	w.must(os.WriteFile(filepath.Join(w.bare, "hooks", "post-receive"), fmt.Appendf(nil, hook, w.url, hookSecret, target), 0o700)) //nolint:gosec // it is a program
	names := []string{"r0", "r1", "r2"}
	w.must(os.WriteFile(target, nil, 0o600))
	for _, r := range names {
		w.startReplica(r)
	}
	w.converged("the fleet is made")
	leader := w.newLeader("")
	var pushed, heard, held, acted, told times
	for i := range pushes {
		// Any replica may be told, as a Service would have it.
		to := "http://" + net.JoinHostPort(addressOf(names[i%len(names)]), w.hooks.port) + "/hook/generic"
		w.must(os.WriteFile(target, []byte(to), 0o600))
		time.Sleep(time.Second + time.Duration(rand.IntN(1000))*time.Millisecond) // pushes are apart, and not in step
		logs := make(map[string]int)
		for _, r := range names {
			logs[r] = len(w.log(r))
		}
		w.writeCluster(i%clusters, 2-i/clusters%2)
		w.must(run(w.clone(), "git", "add", "--all"))
		w.must(run(w.clone(), "git", "commit", "--quiet", "--message", "workers"))
		revision, err := os.ReadFile(filepath.Join(w.clone(), ".git", "refs", "heads", "main"))
		w.must(err)
		tells := "Fairlead-Revision: main@sha1:" + strings.TrimSpace(string(revision))
		seen := ""
		began := time.Now()
		w.must(run(w.clone(), "git", "push", "--quiet", "origin", "main"))
		pushed = append(pushed, time.Since(began))
		w.soon("a commit with the status of this revision", func() bool {
			head := w.statusHead()
			if head == seen {
				return false
			}
			seen = head
			message, _ := exec.Command("git", "-C", w.bare, "show", "--no-patch", "--format=%B", head).Output()
			return strings.Contains(string(message), tells)
		})
		told = append(told, time.Since(began))
		action := fmt.Sprintf(`msg="Carrying out action" cluster=%s/c%d `, w.namespace, i%clusters)
		var first time.Time
		w.soon("an action", func() bool {
			for _, r := range names {
				if at, ok := w.saidAt(w.log(r)[logs[r]:], action); ok && (first.IsZero() || at.Before(first)) {
					first = at
				}
			}
			return !first.IsZero()
		})
		acted = append(acted, first.Sub(began))
		said := w.log(leader)[logs[leader]:]
		for words, to := range map[string]*times{"result=accepted": &heard, "applying new revision": &held} {
			at, ok := w.saidAt(said, words)
			if !ok {
				t.Fatalf("the leader did not say %q", words)
			}
			*to = append(*to, at.Sub(began))
		}
		w.eventually("as many machines as Git says", func() string {
			m, err := w.machines(t.Context())
			if want := 2*clusters + (i+1)%(2*clusters) - 2*max(0, (i+1)%(2*clusters)-clusters); err != nil || len(m) != want {
				return fmt.Sprintf("%d machines, not %d (%s)", len(m), want, text(err))
			}
			return ""
		})
	}
	fmt.Printf("push: git push returned: %s\n", pushed)
	fmt.Printf("push: webhook answered: %s\n", heard)
	fmt.Printf("push: revision held to: %s\n", held)
	fmt.Printf("push: first action: %s\n", acted)
	fmt.Printf("push: status commit: %s\n", told)
}

// statusHead returns the head of the status branch, or nothing.
func (w *world) statusHead() string {
	b, _ := os.ReadFile(filepath.Join(w.bare, "refs", "heads", "fairlead", "status"))
	return strings.TrimSpace(string(b))
}

// saidAt returns when the first line with words was logged, if one was.
func (w *world) saidAt(log, words string) (time.Time, bool) {
	w.t.Helper()
	for line := range strings.Lines(log) {
		if !strings.Contains(line, words) {
			continue
		}
		at, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
		when, err := time.Parse(time.RFC3339Nano, at)
		w.must(err)
		return when, true
	}
	return time.Time{}, false
}

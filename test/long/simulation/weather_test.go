package simulation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
	"fairlead.dev/sources/status"
)

// A weather is how the calls of the agent fare.
type weather struct {
	down map[place]time.Time     // out of reach until then
	cut  map[fleet.Key]time.Time // clusters whose API servers are out of reach until then
	// Of each thousand calls to a place so many are refused, lost before they are
	// done, lost after, and done late.
	refused, lost, unheard, late map[place]int
	// Calls are taken and not answered until then: those to the cloud, and to API servers.
	silent time.Time
	hung   map[fleet.Key]time.Time
}

// String says what the weather is.
func (w weather) String() string {
	var b strings.Builder
	for _, p := range places() {
		if until, ok := w.down[p]; ok {
			fmt.Fprintf(&b, "%s is away for %s, ", p, time.Until(until))
		}
	}
	for i := range 3 {
		if until, ok := w.cut[key(i)]; ok {
			fmt.Fprintf(&b, "%s is away for %s, ", key(i), time.Until(until))
		}
	}
	fmt.Fprintf(&b, "of a thousand are refused %v, lost %v, not answered %v, late %v", w.refused, w.lost, w.unheard, w.late)
	return b.String()
}

// decide returns what becomes of a call.
func (w weather) decide(l *life, c *call) verdict {
	n := l.random.IntN(1000)
	wait := l.within(time.Millisecond, 5*time.Second)
	refused := verdict{word: "refused", after: wait, err: fleet.Errorf(fleet.Unavailable, c.name, "503 Service Unavailable")}
	unanswered := fleet.Errorf(fleet.Unanswered, c.name, "connection reset by peer")
	if time.Now().Before(w.down[c.place]) || c.place == theAPI && time.Now().Before(w.cut[c.cluster]) {
		refused.word = "out of reach"
		return refused
	}
	until := w.hung[c.cluster]
	if c.place == theCloud {
		until = w.silent
	}
	if left := time.Until(until); left > 0 && (c.place == theAPI || c.place == theCloud) {
		return verdict{word: "taken, and not answered", after: left, err: unanswered}
	}
	if n -= w.refused[c.place]; n < 0 {
		return refused
	}
	if !c.changes {
		return verdict{word: "done", do: true}
	}
	if n -= w.lost[c.place]; n < 0 {
		return verdict{word: "lost", after: wait, err: unanswered}
	}
	if n -= w.unheard[c.place]; n < 0 {
		return verdict{word: "done, and not answered", do: true, after: wait, err: unanswered}
	}
	if n -= w.late[c.place]; n < 0 {
		return verdict{word: "given up on", late: wait + l.within(time.Millisecond, late-5*time.Second), after: wait, err: unanswered}
	}
	if l.others && strings.HasPrefix(c.name, "remove member") && l.chance(2) {
		if l.weather.cut == nil {
			l.weather.cut = make(map[fleet.Key]time.Time)
		}
		l.weather.cut[c.cluster] = time.Now().Add(l.within(time.Minute, 5*time.Minute)) // the answer does not tell whether the member left
	}
	return verdict{word: "done", do: true}
}

// badDays lets random things happen, one after the other, for a random while.
func (l *life) badDays() {
	l.pace = pace
	end := time.Now().Add(l.within(10*time.Minute, 40*time.Minute))
	if l.small {
		end = time.Now().Add(l.within(5*time.Minute, 15*time.Minute))
	}
	if l.waves != nil {
		end = time.Now().Add(l.within(40*time.Minute, 2*time.Hour))
	}
	if l.reboots { // machines have to be there, and sick for long
		end = time.Now().Add(l.within(time.Hour, 2*time.Hour))
	}
	l.until(end, func() time.Time {
		if l.rewritten() { // long enough for its judge to see who is not looked after
			return time.Now().Add(l.within(caredFor+2*time.Minute, 2*caredFor))
		}
		if l.chance(3) {
			l.trouble()
			return time.Now().Add(l.within(time.Second, 2*time.Minute))
		}
		if l.waves != nil && l.chance(6) {
			l.changeMany()
			return time.Now().Add(l.within(time.Second, 10*time.Minute))
		}
		if l.waves != nil && l.chance(8) {
			l.release()
			return time.Now().Add(l.within(time.Second, 5*time.Minute))
		}
		if l.waves != nil && l.chance(8) {
			l.disturb()
			return time.Now().Add(l.within(time.Second, 5*time.Minute))
		}
		switch n := l.random.IntN(24); {
		case n < 7:
			i := l.random.IntN(len(l.wishes))
			if w := l.wishes[i]; l.away && (w.gone || w.deleted || l.forgot) {
				break // what is begun where the credentials lead now may live there, and what is lost nobody deletes
			}
			what := l.wishes[i].edit(l.random)
			l.wishes[i] = l.wishes[i].of(l.wishes[i].flavour)
			l.push(fmt.Sprintf("%s: %s", key(i), what))
			if l.wishes[i].gone && l.chance(2) { // there would be something to do
				l.power()
			}
		case n == 20:
			l.class++
			l.push("another template of the class")
		case n == 21:
			l.setClock()
		case n > 21:
			l.autoscale()
		case n < 10:
			l.change()
		case n < 13:
			l.power()
		case n < 16:
			l.fuse, l.atWork = 1+l.random.IntN(60), l.chance(2)
		case n < 17:
			l.thaw = time.Now().Add(l.within(10*time.Second, 10*time.Minute))
			l.logf("the agent stands still until %s", l.thaw.Sub(l.began))
		default:
			l.ask()
		}
		return time.Now().Add(l.within(time.Second, 4*time.Minute))
	}, nil)
}

// change changes the weather.
func (l *life) change() {
	l.weather = weather{
		down: make(map[place]time.Time), cut: make(map[fleet.Key]time.Time), refused: make(map[place]int),
		lost: make(map[place]int), unheard: make(map[place]int), late: make(map[place]int),
	}
	for _, p := range places() {
		if l.chance(4) {
			l.weather.down[p] = time.Now().Add(l.within(time.Second, 10*time.Minute))
		}
		if l.chance(3) {
			l.weather.refused[p] = l.random.IntN(200)
		}
		if l.chance(2) {
			l.weather.lost[p], l.weather.unheard[p] = l.random.IntN(200), l.random.IntN(200)
		}
	}
	for i := range l.wishes {
		if l.chance(6) {
			l.weather.cut[key(i)] = time.Now().Add(l.within(time.Second, 10*time.Minute))
		}
	}
	l.weather.late[theCloud] = l.random.IntN(200)
	f := inmemory.Faults{Lag: l.within(0, mostLag), SlowDelete: l.within(0, time.Minute)}
	switch l.random.IntN(4) {
	case 0:
		f.Quota = len(l.cloud.Facts().Machines) + l.random.IntN(4)
	case 1:
		f.FailBoot = []string{"*" + string("0123456789abcdef"[l.random.IntN(16)])}
	}
	l.failClones(&f)
	f.SlowLeave = l.slowLeave()
	if l.reboots {
		f.SlowPower = l.within(0, 2*time.Minute)
	}
	l.set(f)
	l.logf("the weather changes: %s; lag %s, quota %d, machines %v fail, members leave after %s", l.weather, f.Lag, f.Quota, f.FailBoot, f.SlowLeave)
}

// slowLeave returns how long members take to leave etcd that were asked to: those of K3s and RKE2.
func (l *life) slowLeave() time.Duration {
	if !l.others {
		return 0
	}
	return l.within(0, 5*time.Minute)
}

func (l *life) set(f inmemory.Faults) {
	f.ListTwice, f.Hide = names(l.twice), names(l.hidden)
	if err := l.cloud.SetFaults(context.Background(), f); err != nil {
		l.violate("cannot set faults: %v", err)
	}
}

// power cuts the power of one of our machines, or gives it back.
func (l *life) power() {
	var all []inmemory.MachineFacts
	for _, m := range l.cloud.Facts().Machines {
		if m.Tags[fleet.TagFleet] == theFleet && !m.Deleted && m.State == fleet.MachineRunning && l.hidden[fleet.MachineName(m.Name)].IsZero() { // what is out of sight without power is gone for all that is known
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return
	}
	m := all[l.random.IntN(len(all))]
	k, _ := fleet.ParseKey(m.Tags[fleet.TagCluster])
	l.disturbed(k)
	if l.dead[m.ID] {
		return
	}
	if m.Stopped {
		l.logf("machine %s gets its power back", m.Name)
		_ = l.cloud.StartVM(context.Background(), m.ID) // it may be gone by now
		return
	}
	l.logf("machine %s loses its power", m.Name)
	_ = l.cloud.StopVM(context.Background(), m.ID) // it may be gone by now
}

// ask asks for something by hand, or takes it back.
func (l *life) ask() {
	k := key(l.random.IntN(len(l.wishes)))
	r := fleet.Request{Cluster: k, By: "You <you@example.com>", At: time.Now().UTC().Truncate(time.Second)}
	switch l.random.IntN(7) {
	case 6:
		r.Kind, r.What = fleet.RequestRotate, fleet.RotateCertificates
		if l.chance(3) && !l.others { // K3s and RKE2 keep that CA in their datastore, and refuse it as long as it is asked for
			r.What = fleet.RotateEtcdCA
		}
	case 0, 1:
		r.Kind = fleet.RequestSuspend
		if l.chance(2) {
			r.Until = r.At.Add(l.within(time.Minute, 20*time.Minute)).Truncate(time.Second)
		}
	case 2:
		l.withdraw(k)
		return
	case 3:
		r.Kind = fleet.RequestReconcile
	default:
		machines := ours(l.cloud.Facts(), k)
		if len(machines) == 0 {
			return
		}
		m := machines[l.random.IntN(len(machines))]
		r.Machine, r.ProviderID, r.Kind = fleet.MachineName(m.Name), m.Provider, fleet.RequestReplace
		if l.chance(2) {
			r.Kind = fleet.RequestRemediate
		}
	}
	err := status.NewRequests(&l.branch).Ask(context.Background(), r)
	l.logf("asked: %s: %v", r, err)
}

// withdraw takes back that cluster k is suspended.
func (l *life) withdraw(k fleet.Key) {
	err := status.NewRequests(&l.branch).Withdraw(context.Background(), fleet.Request{Kind: fleet.RequestSuspend, Cluster: k}, "")
	l.logf("took back: suspend %s: %v", k, err)
}

// accepted is a suspension that the agent said yes to.
type accepted struct {
	request fleet.Request
	since   time.Time // that it stands on the branch
}

// suspended reports whether the agent knew, as it began a pass, that it had said
// that cluster k stays as it is.
func (l *life) suspended(in *incarnation, k fleet.Key, t turn) bool {
	in.mu.Lock()
	read := in.readAt
	in.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.stands[k]
	if !ok || !read.After(s.since) || t.began.Before(read.Add(time.Second)) {
		return false
	}
	return s.request.Until.IsZero() || t.clock.Add(time.Minute).Before(s.request.Until)
}

// takeSuspensions takes in which suspensions stand on the branch.
func (l *life) takeSuspensions() {
	list, _ := status.NewRequests(&l.branch).List(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	stands := make(map[fleet.Key]accepted)
	for _, r := range list {
		if r.ProviderID != "" && r.Answer.State == fleet.RequestAccepted {
			l.asked[r.MachineID()] = r.Kind
		}
		if r.Kind != fleet.RequestSuspend || r.Answer.State != fleet.RequestAccepted {
			continue
		}
		a := accepted{r, time.Now()}
		if old, ok := l.stands[r.Cluster]; ok && old.request.Identical(r) {
			a.since = old.since
		}
		stands[r.Cluster] = a
	}
	l.stands = stands
	l.excuse()
}

package remediation_test

import (
	"testing"
	"time"

	"fairlead.dev/reconcile/plan/remediation"
)

// TestReboot has what comes next in each state of a reboot.
func TestReboot(t *testing.T) {
	const long = 10 * time.Minute
	base := remediation.Reboot{RetryLimit: 1, Timeout: long, Sick: true, May: true}
	with := func(change func(*remediation.Reboot)) remediation.Reboot {
		r := base
		change(&r)
		return r
	}
	begun := func(ago time.Duration, change func(*remediation.Reboot)) remediation.Reboot {
		return with(func(r *remediation.Reboot) {
			r.Begun, r.Ago = true, ago
			change(r)
		})
	}
	same := func(*remediation.Reboot) {}
	for name, tc := range map[string]struct {
		reason string
		in     remediation.Reboot
		want   remediation.RebootStep
	}{
		"sick":             {"it is switched off first", base, remediation.RebootStep{Kind: remediation.RebootOff, Begins: true}},
		"sick, may not":    {"the check holds back", with(func(r *remediation.Reboot) { r.May = false }), remediation.RebootStep{Kind: remediation.RebootOver}},
		"well":             {"nothing is remembered", begun(time.Minute, func(r *remediation.Reboot) { r.Sick = false }), remediation.RebootStep{Kind: remediation.RebootOver}},
		"not off yet":      {"it is asked again", begun(time.Minute, func(r *remediation.Reboot) { r.Off = true }), remediation.RebootStep{Kind: remediation.RebootOff}},
		"off, Node":        {"nothing of it runs", begun(time.Minute, func(r *remediation.Reboot) { r.Off, r.IsOff, r.Node = true, true, true }), remediation.RebootStep{Kind: remediation.RebootNode}},
		"off":              {"it is switched on", begun(time.Minute, func(r *remediation.Reboot) { r.Off, r.IsOff = true, true }), remediation.RebootStep{Kind: remediation.RebootOn}},
		"off for long":     {"never does it stay off", begun(time.Hour, func(r *remediation.Reboot) { r.Off, r.IsOff, r.May = true, true, false }), remediation.RebootStep{Kind: remediation.RebootOn}},
		"was not on yet":   {"the request was lost", begun(time.Minute, func(r *remediation.Reboot) { r.IsOff, r.Node = true, true }), remediation.RebootStep{Kind: remediation.RebootOn}},
		"well before off":  {"it is to be on", begun(time.Minute, func(r *remediation.Reboot) { r.Off, r.Sick = true, false }), remediation.RebootStep{Kind: remediation.RebootOn}},
		"boots":            {"it has its time", begun(time.Minute, same), remediation.RebootStep{Kind: remediation.RebootAwait, Left: 9 * time.Minute}},
		"boots, may not":   {"the same", begun(time.Minute, func(r *remediation.Reboot) { r.May = false }), remediation.RebootStep{Kind: remediation.RebootAwait, Left: 9 * time.Minute}},
		"of no use":        {"once more", begun(long, same), remediation.RebootStep{Kind: remediation.RebootOff, Begins: true, Retry: 1}},
		"never off":        {"that counts as well", begun(long, func(r *remediation.Reboot) { r.Off = true }), remediation.RebootStep{Kind: remediation.RebootOff, Begins: true, Retry: 1}},
		"of no use twice":  {"RetryLimit is one", begun(long, func(r *remediation.Reboot) { r.Retry = 1 }), remediation.RebootStep{Kind: remediation.RebootGiveUp, Retry: 1}},
		"of no use, held":  {"the check holds back", begun(long, func(r *remediation.Reboot) { r.May = false }), remediation.RebootStep{Kind: remediation.RebootAwait}},
		"given up":         {"it stays so", begun(time.Minute, func(r *remediation.Reboot) { r.Given, r.Retry = true, 0 }), remediation.RebootStep{Kind: remediation.RebootGiveUp}},
		"does not come on": {"it is no use to wait", begun(long, func(r *remediation.Reboot) { r.IsOff, r.Retry = true, 1 }), remediation.RebootStep{Kind: remediation.RebootGiveUp, Retry: 1}},
		"not on, held":     {"it is to be on", begun(long, func(r *remediation.Reboot) { r.IsOff, r.May = true, false }), remediation.RebootStep{Kind: remediation.RebootOn}},
	} {
		if got := tc.in.Next(); got != tc.want {
			t.Errorf("%s: %s: got %+v, want %+v", name, tc.reason, got, tc.want)
		}
	}
}

// TestRebootEnds: whatever a machine does, it is well or given up after as many reboots as may
// be, its Node goes while it is off alone, and it is not left off where it can be switched on.
func TestRebootEnds(t *testing.T) {
	const timeout = 10
	for behaviour := range 1 << 8 {
		at := func(bit int) bool { return behaviour>>bit&1 == 1 }
		obeysOff, obeysOn, heals := at(0), at(1), at(2)
		r := remediation.Reboot{RetryLimit: behaviour >> 3 & 3, Timeout: timeout * time.Minute, Sick: true, May: true, Node: at(5)}
		reboots, ended := 0, false
		began := 0
		for minute := range 500 {
			r.Ago = time.Duration(minute-began) * time.Minute
			s := r.Next()
			switch s.Kind {
			case remediation.RebootOff:
				if s.Begins {
					reboots, began = reboots+1, minute
					r.Begun, r.Retry, r.Off = true, s.Retry, true
				}
				r.IsOff = obeysOff
			case remediation.RebootNode:
				if !r.IsOff {
					t.Fatalf("behaviour %b: the Node of a machine that may run is removed", behaviour)
				}
				r.Node = false
			case remediation.RebootOn:
				r.Off = false
				if r.IsOff = r.IsOff && !obeysOn; !r.IsOff {
					r.Sick = !heals
				}
			case remediation.RebootOver, remediation.RebootGiveUp:
				ended = true
			case remediation.RebootAwait:
			}
			if ended {
				break
			}
		}
		if !ended || reboots > r.RetryLimit+1 || r.IsOff && obeysOn {
			t.Errorf("behaviour %b: ended %t, off %t after %d reboots of at most %d", behaviour, ended, r.IsOff, reboots, r.RetryLimit+1)
		}
	}
}

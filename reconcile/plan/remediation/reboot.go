package remediation

import "time"

// A Reboot is what counts of one machine that is rebooted before it is replaced.
type Reboot struct {
	RetryLimit int           // reboots after the first
	Timeout    time.Duration // from the beginning of a reboot until the machine is well

	Begun bool          // a reboot is under way, or was of no use
	Ago   time.Duration // since that one began
	Retry int           // how many before it were of no use
	Off   bool          // it has not been switched on again
	Given bool          // it was given up

	Sick  bool // a health check found it unhealthy, or it is not known yet whether it is well again
	May   bool // a reboot may begin, and the machine be given up
	IsOff bool // its power is off
	Node  bool // it has a Node, which goes while it is off
}

// A RebootKind says what comes next for a machine.
type RebootKind string

// The kinds.
const (
	RebootOver   RebootKind = "over"        // it is well: what was remembered is forgotten
	RebootOff    RebootKind = "switch off"  // where it is not off yet
	RebootNode   RebootKind = "remove Node" // so that what ran there may run elsewhere
	RebootOn     RebootKind = "switch on"
	RebootAwait  RebootKind = "await" // what comes of it
	RebootGiveUp RebootKind = "give up"
)

// A RebootStep is what comes next for a machine, and what of it is remembered then.
type RebootStep struct {
	Kind   RebootKind
	Begins bool          // another reboot, the one called Retry
	Retry  int           //
	Left   time.Duration // until Await ends; 0: something else has to change
}

// Next decides what comes next for a machine.
//
//   - A machine that was switched off is switched on again, whatever it turned out to be.
//   - Its Node goes while it is off, and only then: nothing of it runs, and what ran there may
//     run elsewhere.
//   - A reboot has Timeout to be of use, also where the machine does not go off, or does not come
//     on. There are RetryLimit after the first; then the machine is given up.
//
// Source: CAPM3, controllers/metal3remediation_controller.go, which waits for these without an
// end.
func (r Reboot) Next() RebootStep {
	same := func(k RebootKind) RebootStep { return RebootStep{Kind: k, Retry: r.Retry} }
	if r.Begun {
		switch {
		case r.IsOff && r.Off && r.Node:
			return same(RebootNode)
		case r.IsOff && (r.Off || r.Ago < r.Timeout || !r.May), r.Off && !r.Sick:
			return same(RebootOn)
		case r.Off && r.Ago < r.Timeout:
			return same(RebootOff)
		}
	}
	switch {
	case !r.Sick:
		return RebootStep{Kind: RebootOver}
	case r.Begun && !r.Given && r.Ago < r.Timeout:
		out := same(RebootAwait)
		out.Left = r.Timeout - r.Ago
		return out
	case !r.May && !r.Begun:
		return RebootStep{Kind: RebootOver}
	case !r.May:
		return same(RebootAwait)
	case !r.Begun:
		return RebootStep{Kind: RebootOff, Begins: true}
	case !r.Given && r.Retry < r.RetryLimit:
		return RebootStep{Kind: RebootOff, Begins: true, Retry: r.Retry + 1}
	}
	return same(RebootGiveUp)
}

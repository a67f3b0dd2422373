package fleet

import (
	"slices"
	"time"
)

// RebootRules are how an unhealthy machine is rebooted before it is replaced.
// Source: CAPM3, Metal3Remediation, spec.strategy.
type RebootRules struct {
	Provider   string        `json:",omitempty"` // whose machines they are for
	RetryLimit int           `json:",omitempty"` // reboots after the first that was of no use
	Timeout    time.Duration `json:",omitempty"` // that a machine has from the beginning of a reboot until it is well
}

// A Reboot is that of an unhealthy machine which is under way, or was of no use.
type Reboot struct {
	Machine    MachineName
	ProviderID ProviderID
	At         time.Time // when it began, by the clock of the agents, in UTC
	Retry      int       // how many before it were of no use
	Off        bool      // the machine is to be off: its Node goes while it is
	GivenUp    bool      // all were of no use: the machine is replaced
}

// Same reports whether r is of a machine.
func (r Reboot) Same(name MachineName, id ProviderID) bool {
	return r.Machine == name && r.ProviderID == id
}

// WithReboots returns c with the reboots of its machines, for its provider: what is to be off is
// not switched on, and a machine that was given up leaves a host that is not to be trusted.
func (c *Cluster) WithReboots(list []Reboot) *Cluster {
	if len(list) == 0 && len(c.Rebooting) == 0 {
		return c
	}
	out := *c
	out.Rebooting = list
	return &out
}

// RebootOf returns the reboot of a machine; zero: none is under way, or was.
func (c *Cluster) RebootOf(name MachineName, id ProviderID) Reboot {
	if i := slices.IndexFunc(c.Rebooting, func(r Reboot) bool { return r.Same(name, id) }); i >= 0 {
		return c.Rebooting[i]
	}
	return Reboot{}
}

package health

import (
	"fmt"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A Machine is what a health check sees of one.
type Machine struct {
	Joined     bool        // it has a Node
	Startup    Startup     // of one that has not joined
	Conditions []Condition // those that are as the check says that they must not be for long
}

// A Condition is one that is bad, if it lasts.
type Condition struct {
	Type, Status string
	Node         bool // it is one of the Node, and not of the machine
	For          time.Duration
	Timeout      time.Duration // for which it may be bad
}

// A Startup is the time in which a machine gets its Node.
type Startup struct {
	For     time.Duration
	Timeout time.Duration // 0: no bound
	Failure string        // why the machine failed; empty: it did not
}

// A Verdict is what a health check says of a machine.
type Verdict struct {
	Reason  string        // of the condition HealthCheckSucceeded; empty: nothing is wrong
	Message string        // for people
	After   time.Duration // until there may be another verdict without an event; 0: never
}

// grain is the precision of times that clusters write.
const grain = time.Second

// Examine returns what the health check called check says of m.
func Examine(check string, m Machine) Verdict {
	var v Verdict
	var ofMachine, ofNode []string
	for _, c := range m.Conditions {
		switch text := fmt.Sprintf("condition %s is %s for more than %s", c.Type, c.Status, c.Timeout); {
		case !v.lasts(c.For, c.Timeout):
		case c.Node:
			ofNode = append(ofNode, "node "+text)
		default:
			ofMachine = append(ofMachine, text)
		}
	}
	late := ""
	if s := m.Startup; !m.Joined && s.Timeout > 0 && v.lasts(s.For, s.Timeout) {
		late = fmt.Sprintf("health check %s: no node within %s", check, s.Timeout)
		if s.Failure != "" {
			late += ": " + s.Failure
		}
	}
	switch bad := append(ofMachine, ofNode...); {
	case len(bad) > 0:
		v.Reason = clusterv1.MachineHealthCheckUnhealthyNodeReason
		if len(ofMachine) > 0 {
			v.Reason = clusterv1.MachineHealthCheckUnhealthyMachineReason
		}
		v.Message = fmt.Sprintf("health check %s: %s", check, strings.Join(bad, ", "))
		if late != "" {
			v.Message += "; " + late
		}
	case late != "":
		v.Reason, v.Message = clusterv1.MachineHealthCheckNodeStartupTimeoutReason, late
	}
	return v
}

// lasts reports whether what has been so for a time has been so for longer than timeout,
// and otherwise notes when it will have been.
func (v *Verdict) lasts(since, timeout time.Duration) bool {
	left := timeout - since
	if left < 0 {
		return true
	}
	if after := left + grain; v.After == 0 || after < v.After {
		v.After = after
	}
	return false
}

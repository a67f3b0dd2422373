package hosts

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/hosts/api"
)

// limitUserData refuses user data that the script on a host cannot run.
func limitUserData(what string, u providers.UserData) error {
	if u.Format != "cloud-config" {
		return fleet.Errorf(fleet.Invalid, what, "hosts take cloud-config, and the user data is in the format %q (Ignition runs at the first boot of a disk alone)", u.Format)
	}
	return nil
}

// Create implements driver.Driver: it claims the first free host that fits and has it run the user data.
func (p machines) Create(ctx context.Context, what string, op fleet.OperationID, r providers.MachineRequest, all roster) error {
	if err := limitUserData(what, r.UserData); err != nil {
		return err
	}
	spec, err := api.ReadMachine(r.Pool.Infrastructure)
	if err != nil {
		return err
	}
	q := &search{p: p.Provider, request: r, op: op, spec: spec, all: all}
	return q.claim(ctx, what)
}

// failureDomains returns those of all hosts, sorted. The control plane may be in
// those that have a host for it.
func failureDomains(c *fleet.Cluster, r roster) ([]fleet.FailureDomain, error) {
	serves, err := servers(c)
	if err != nil {
		return nil, err
	}
	var out []fleet.FailureDomain
	for _, s := range r {
		h := s.host
		if h.FailureDomain == "" || h.Lost {
			continue
		}
		i := slices.IndexFunc(out, func(d fleet.FailureDomain) bool { return d.Name == h.FailureDomain })
		if i < 0 {
			out = append(out, fleet.FailureDomain{Name: h.FailureDomain})
			i = len(out) - 1
		}
		out[i].ControlPlane = out[i].ControlPlane || serves(h)
	}
	slices.SortFunc(out, func(a, b fleet.FailureDomain) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// servers reports which hosts machines of the control plane may be on.
func servers(c *fleet.Cluster) (func(*machineHost) bool, error) {
	if c.ServedElsewhere() {
		return func(*machineHost) bool { return false }, nil
	}
	spec, err := api.ReadMachine(c.ControlPlane.Infrastructure)
	if err != nil {
		return nil, err
	}
	selects, err := selector(spec)
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, "read HostMachineTemplate "+c.ControlPlane.Infrastructure.Name, "%w", err)
	}
	return func(h *machineHost) bool {
		return (spec.PoolName == "" || spec.PoolName == h.Pool) && selects.Matches(labels.Set(h.Labels)) && !h.Unschedulable
	}, nil
}

var (
	token = regexp.MustCompile(`\b([a-z0-9]{6})\.[a-z0-9]{16}\b`)
	// What a shell writes of its commands (set -x) is the user data, with all that is in it.
	traced = regexp.MustCompile(`(?m)^\++ .*$`)
	// A value that is called a secret, and the password in a URL.
	named = regexp.MustCompile(`(?i)((?:passw|secret|token|credential|private|api.?key|authorization)[\w.-]*["']?\s*[=:]\s*)\S+`)
	inURL = regexp.MustCompile(`(://[^\s/:@]+:)[^\s/@]+@`)
)

// mostLog is how much of a log is reported: it stays in Git.
const mostLog = 1500

// quoteLog returns the end of a log for a message, without what may be a secret. Those
// of the user data the host takes out itself.
func quoteLog(log string) string {
	log = token.ReplaceAllString(log, "$1.REDACTED")
	log = traced.ReplaceAllString(log, "+ REDACTED")
	log = named.ReplaceAllString(log, "${1}REDACTED")
	log = inURL.ReplaceAllString(log, "${1}REDACTED@")
	if over := len(log) - mostLog; over > 0 {
		log = strings.ToValidUTF8(log[over:], "")
	}
	if log = strings.TrimSpace(log); log == "" {
		return ""
	}
	return "; the last lines of its log:\n" + log
}

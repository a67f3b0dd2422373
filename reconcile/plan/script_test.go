package plan_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/distribution/kubeadm"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/reconcile/plan"
)

// TestScripts runs the scripts in testdata. "world" states what is asked for and
// what is there, one thing a line; "plan", "conditions" and "preview" tell what
// follows, and "residence" what is remembered of where it lives. Machines are written pool/index@version.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		var s *script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "world":
				s = newScript()
				for line := range strings.Lines(d.Input) {
					if err := s.read(strings.Fields(line)); err != nil {
						d.Fatalf(t, "%s: %v", strings.TrimSpace(line), err)
					}
				}
				s.finish()
				return ""
			case "plan":
				return s.plan()
			case "conditions":
				return s.conditions()
			case "residence":
				return s.residence()
			case "preview":
				return s.preview()
			}
			d.Fatalf(t, "no command %s", d.Cmd)
			return ""
		})
	})
}

// applied returns what kubeadm-config says.
func (s *script) applied(k words) (*fleet.Applied, *fleet.Made) {
	config, addons := kubeadm.Marks(&s.in.Desired.ControlPlane)
	if k["config"] != "synced" {
		config = k["config"]
	}
	if k["addons"] != "synced" {
		addons = k["addons"]
	}
	made := &fleet.Made{Networking: fleet.Networking{ServiceSubnet: k["services"], DNSDomain: k["domain"]}}
	switch {
	case k["version"] == "":
	case k.is("external-etcd"):
		made.Membership = fleet.MembershipElsewhere
	default:
		made.Membership = fleet.MembershipPerMachine
	}
	return applied(k["version"], config, addons), made
}

type script struct {
	in      plan.Input
	etcd    fleet.Etcd
	traits  fleet.Traits      // other than kubeadm's
	steps   []fleet.Step      // of the distribution, in place of kubeadm's
	unmade  []fleet.PoolName  // pools whose machines cannot be made
	known   bool              // whether etcd was looked at
	before  string            // with what infrastructure was in line: "same", or anything else
	kubeadm words             // what is known of kubeadm-config; nil: it is in line
	alias   map[string]string // machine name to pool/index@version
}

func newScript() *script {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := &script{alias: map[string]string{}}
	s.in = plan.Input{Desired: cluster(1), Now: now, Since: now.Add(-24 * time.Hour), Settle: 5 * time.Minute}
	s.in.Observed.Infrastructure = fleet.Infrastructure{Exists: true, Ready: true, Endpoint: fleet.Endpoint{Host: "10.0.0.1", Port: 6443}}
	s.in.Observed.Secrets.Kubeconfig = fleet.KubeconfigState{
		Exists: true, Endpoint: fleet.Endpoint{Host: "10.0.0.1", Port: 6443},
		NotBefore: now.AddDate(0, -1, 0), NotAfter: now.AddDate(1, 0, 0),
	}
	s.in.Observed.Workload.Reachable = true
	s.in.Desired.ControlPlane.Name = "cp"
	return s
}

// finish sorts what is observed, as the contracts promise, and learns the names
// that a plan may use.
func (s *script) finish() {
	o := &s.in.Observed
	slices.SortFunc(o.Infrastructure.Machines, func(a, b fleet.Machine) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ProviderID, b.ProviderID))
	})
	slices.SortFunc(o.Workload.Nodes, func(a, b fleet.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.etcd.Members, func(a, b fleet.Member) int { return cmp.Compare(a.Name, b.Name) })
	if s.in.Memory.Fingerprint = s.before; s.before == "same" {
		s.in.Memory.Fingerprint = fleet.Fingerprint(s.in.Desired, slices.DeleteFunc(slices.Clone(o.Infrastructure.Machines), func(m fleet.Machine) bool { return m.Provider != "" }))
	}
	if s.known {
		o.Workload.Etcd = &s.etcd
	}
	if s.kubeadm == nil {
		s.kubeadm = words{"version": s.in.Desired.ControlPlane.Version, "config": "synced", "addons": "synced"}
	}
	if k := s.kubeadm; !k.is("gone") && s.in.Desired.Hosted == nil {
		o.Workload.Applied, o.Workload.Made = s.applied(k)
	}
	if !o.Workload.Reachable {
		o.Workload = fleet.Workload{Message: o.Workload.Message}
	}
	o.Distribution = facts(s.in.Desired, o)
	if s.steps != nil {
		o.Distribution.Steps = map[string][]fleet.Step{s.in.Desired.Version(): s.steps}
	}
	o.Distribution.Traits.LeaveIsAsked, o.Distribution.Traits.NodeIsMember = s.traits.LeaveIsAsked, s.traits.NodeIsMember
	for _, p := range s.in.Desired.Pools() {
		for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker} {
			if slices.Contains(s.unmade, p.Name) {
				o.Distribution.Unmade = append(o.Distribution.Unmade, fleet.Unmade{Pool: p.Name, Version: p.Version, Join: join, Why: "no user data to " + string(join)})
			}
		}
		for i := range 20 {
			n := fleet.NewMachineName(s.in.Desired.Key, p.Name, p.Template, i)
			s.alias[string(n)] = fmt.Sprintf("%s/%d@%s", p.Name, i, strings.TrimPrefix(string(p.Template), "1-"))
		}
	}
}

// readable replaces machine names by pool/index@version.
func (s *script) readable(text string) string {
	for name, ref := range s.alias {
		text = strings.ReplaceAll(text, name, ref)
	}
	return text
}

func (s *script) plan() string {
	p := plan.Compute(s.in)
	var b strings.Builder
	fmt.Fprintf(&b, "phase %s\n", p.Phase)
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "do    %s", a)
		if a.Join != "" {
			fmt.Fprintf(&b, " [join %s]", a.Join)
		}
		if !a.Remediation.IsZero() {
			fmt.Fprintf(&b, " [remediation %s]", a.Remediation)
		}
		if a.Outdated {
			b.WriteString(" [outdated]")
		}
		if a.FailureDomain != "" {
			fmt.Fprintf(&b, " [in %s]", a.FailureDomain)
		}
		if a.ProviderID != "" && !strings.Contains(string(a.ProviderID), "/") {
			fmt.Fprintf(&b, " [%s]", a.ProviderID)
		}
		fmt.Fprintf(&b, ": %s\n", a.Reason)
	}
	for _, w := range p.Waiting {
		fmt.Fprintf(&b, "wait  %s\n", w)
	}
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "note  %s\n", n)
	}
	if r := p.Remediation; !r.IsZero() {
		fmt.Fprintf(&b, "retry %s\n", r)
	}
	for _, r := range p.Reboots {
		fmt.Fprintf(&b, "boot  %s began %s ago, retry %d, off %t, given up %t\n", r.Machine, s.in.Now.Sub(r.At), r.Retry, r.Off, r.GivenUp)
	}
	for _, r := range p.Retries {
		fmt.Fprintf(&b, "tries of %s: %d, the last one %s ago\n", r.Pool, r.Tries, s.in.Now.Sub(r.Last))
	}
	for _, sp := range p.ObservedConditions {
		if sp.Since.Equal(sp.Transition) {
			continue // it was seen as it began
		}
		fmt.Fprintf(&b, "spell %s %s=%s for %s\n", sp.Machine, sp.Condition, sp.Status, s.in.Now.Sub(sp.Since))
	}
	if p.NeedEtcd {
		b.WriteString("need  etcd\n")
	}
	if p.After > 0 && p.After < 24*time.Hour {
		fmt.Fprintf(&b, "after %s\n", p.After)
	}
	return s.readable(b.String())
}

func (s *script) residence() string {
	r := plan.Compute(s.in).Residence
	if r.IsZero() {
		return "unknown\n"
	}
	var places []string
	for _, p := range r.Places {
		places = append(places, p.ID)
	}
	out := fmt.Sprintf("provider=%s places=%s at=%s control-plane=%s recreated=%s\n",
		r.Provider, strings.Join(places, ","), r.Endpoint.Host, r.ControlPlane, r.Recreated)
	if r.MachinePools {
		out += "the cloud keeps pools\n"
	}
	for _, g := range r.Guests {
		out += fmt.Sprintf("guest %s %s", g.Provider, g.Infrastructure.Name)
		for _, p := range g.Places {
			out += " " + p.ID
		}
		out += "\n"
	}
	return out
}

func (s *script) conditions() string {
	p := plan.Compute(s.in)
	var b strings.Builder
	for _, c := range p.Conditions {
		fmt.Fprintf(&b, "%s=%s %s %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for _, m := range p.Machines {
		fmt.Fprintf(&b, "%s %s", m.Machine.Name, m.Phase)
		if len(m.Machine.Addresses) > 0 {
			fmt.Fprintf(&b, " at %s", strings.Join(m.Machine.Addresses, ","))
		}
		for _, c := range m.Conditions {
			fmt.Fprintf(&b, " %s=%s", c.Type, c.Status)
			if c.Type == "Deleting" && c.Status == fleet.True {
				fmt.Fprintf(&b, " (%s: %s)", c.Reason, c.Message)
			}
		}
		b.WriteString("\n")
	}
	return s.readable(strings.ReplaceAll(b.String(), " \n", "\n"))
}

func (s *script) preview() string {
	var b strings.Builder
	for _, c := range forecast.Of(s.in).Changes {
		fmt.Fprintf(&b, "%s %s", c.Kind, cmp.Or(string(c.Machine)+c.Host, keptOf(c)))
		if c.By != "" {
			fmt.Fprintf(&b, " by %s", c.By)
		}
		fmt.Fprintf(&b, ": %s\n", c.Reason)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return s.readable(b.String())
}

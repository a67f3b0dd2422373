package vsphere

import (
	"context"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/snapshot"
	"fairlead.dev/providers/infrastructure/vsphere/vcenter"
)

// rulePrefix is what the names of the rules begin with that keep machines of pools of o apart; the name
// of the pool follows. A rule is found by its name, whatever Git says of the pool by now.
func rulePrefix(o snapshot.Owner) string {
	return "fairlead " + string(o.Fleet) + " " + o.Cluster.String() + " "
}

// dropRules removes all rules that kept machines of the cluster apart, from every compute cluster of its
// vCenters that its account may look into.
func (p *Provider) dropRules(ctx context.Context, got *observation) error {
	prefix := rulePrefix(snapshot.OwnerOf(got.cluster))
	for i := range got.sites {
		s := &got.sites[i].site
		all, err := s.Inventory(ctx)
		if err != nil {
			return err
		}
		for _, compute := range all.Clusters() {
			err := p.dropRulesOf(ctx, s, compute, func(name string) bool { return strings.HasPrefix(name, prefix) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dropRulesOf removes those rules of compute that drop says.
func (p *Provider) dropRulesOf(ctx context.Context, s *site, compute *vcenter.Entity, drop func(name string) bool) error {
	g, err := s.Groups(ctx, compute.Ref)
	switch fleet.KindOf(err) {
	case fleet.Unauthorized, fleet.Invalid, fleet.NotFound: // without access to it, this account created no rule there
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range g.ApartNames() {
		if !drop(name) {
			continue
		}
		task, err := p.inTurn(ctx, s.Client, func() (vcenter.Ref, error) { return s.KeepApart(ctx, compute.Ref, name, nil) })
		if err != nil {
			return err
		}
		if _, err := p.await(ctx, s.Client, task); err != nil {
			return err
		}
	}
	return nil
}

// dropRuleOfLast removes the rule of the pool of j, which goes, unless another machine of the pool stays
// on the same compute cluster. No rule keeps a machine from going: what cannot be removed is logged.
func (p *Provider) dropRuleOfLast(ctx context.Context, j *work) error {
	m := j.machine
	o, known := j.site.look.VM(m.VM.Ref).Owner()
	all, err := j.site.Inventory(ctx)
	if err != nil {
		return err
	}
	compute := j.site.computeOf(all, m)
	if !known || compute == nil || !compute.Cluster {
		return nil
	}
	for i := range j.site.owned {
		other := &j.site.owned[i]
		of, _ := j.site.look.VM(other.VM.Ref).Owner()
		if of.Shared() == o.Shared() && other.Machine.Pool == m.Machine.Pool && !other.Deleting() && j.site.computeOf(all, other) == compute {
			return nil
		}
	}
	rule := rulePrefix(o) + string(m.Machine.Pool)
	err = p.dropRulesOf(ctx, &j.site.site, compute, func(name string) bool { return name == rule })
	if err != nil && fleet.KindOf(err) != fleet.Unavailable {
		p.o.Log.WarnContext(ctx, "not removing a rule", "rule", rule, "error", err)
		return nil
	}
	return err
}

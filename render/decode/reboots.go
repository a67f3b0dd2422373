package decode

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// reboots reads how machines are rebooted before they are replaced, from what the health checks
// of c name.
func (b *builder) reboots(c *fleet.Cluster) {
	for i := range c.HealthChecks {
		h := &c.HealthChecks[i]
		ref := h.Spec.Remediation.TemplateRef
		if !ref.IsDefined() {
			continue
		}
		o := b.set.get(clusterv1.GroupVersion.Group, "MachineHealthCheck", h.Namespace, h.Name)
		if o == nil {
			continue // it has problems of its own
		}
		if rules, ok := b.rebootRules(o, ref); ok {
			b.checkRebooted(o, c, h, rules)
			if c.Reboots == nil {
				c.Reboots = make(map[string]fleet.RebootRules)
			}
			c.Reboots[h.Name] = rules
		}
	}
}

// rebootRules returns what the template says that o names.
func (b *builder) rebootRules(o *object, ref clusterv1.MachineHealthCheckRemediationTemplateReference) (fleet.RebootRules, bool) {
	field := o.written("spec.remediation.templateRef")
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	t := b.set.get(group, ref.Kind, o.namespace, ref.Name)
	switch {
	case t == nil && !b.set.unreadable:
		b.addf(o, field, b.set.there(ref.Kind), "names %s %s/%s, which the overlay does not hold", ref.Kind, o.namespace, ref.Name)
		return fleet.RebootRules{}, false
	case t == nil:
		return fleet.RebootRules{}, false
	}
	in, ok := t.value.(*infrastructure)
	switch {
	case ok && in.kind.Reboots != nil:
		rules := in.kind.Reboots(in.value)
		rules.Provider = in.provider
		return rules, true
	case t.value != nil: // what could not be read has problems of its own
		b.addf(o, field, "name a Metal3RemediationTemplate, or leave the field out: Fairlead replaces unhealthy machines itself", "is not supported: %s is no template of a remediation that is built in", ref.Kind)
	}
	return fleet.RebootRules{}, false
}

// checkRebooted refuses a health check that would reboot machines of another provider.
func (b *builder) checkRebooted(o *object, c *fleet.Cluster, h *clusterv1.MachineHealthCheck, rules fleet.RebootRules) {
	selector, err := metav1.LabelSelectorAsSelector(&h.Spec.Selector)
	if err != nil {
		return // it has a problem
	}
	for _, p := range c.Pools() {
		provider := p.Provider
		if provider == "" {
			provider = c.Provider
		}
		if provider != rules.Provider && provider != "" && selector.Matches(labels.Set(c.MachineLabels(&p))) {
			b.addf(o, o.written("spec.remediation.templateRef"), "give the machines of each provider a health check of their own", "is for machines of provider %s, and the health check selects pool %s of provider %s", rules.Provider, p.Name, provider)
		}
	}
}

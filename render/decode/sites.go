package decode

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// guests returns the other sites of the cluster whose infrastructure ref names, by
// provider. A site without pools is among them: what it had has to be deleted.
func (b *builder) guests(ref clusterv1.ContractVersionedObjectReference) []fleet.Site {
	b.sites = make(map[string]*object)
	first := b.set.get(ref.APIGroup, ref.Kind, b.key.Namespace, ref.Name)
	for _, o := range b.set.sites(b.key) {
		in, ok := o.value.(*infrastructure)
		if !ok || o == first || len(o.problems) > 0 {
			continue
		}
		other := b.sites[in.provider]
		if in.provider == b.provider {
			other = first
		}
		if other != nil {
			b.addf(o, "metadata.name", "keep one of them: a cluster has one site of each provider",
				"the cluster has two sites of the provider %s: %s and %s", in.provider, other, o)
			continue
		}
		b.sites[in.provider] = o
	}
	var out []fleet.Site
	for _, provider := range slices.Sorted(maps.Keys(b.sites)) {
		o := b.sites[provider]
		out = append(out, fleet.Site{
			Provider: provider, Infrastructure: b.object(o, o.value.(*infrastructure)), Companions: b.companions(provider),
		})
	}
	return out
}

// checkServing refuses infrastructure, named by ref, that cannot serve an API server. Where the
// control plane is hosted, it refuses infrastructure that asks for something to serve one.
func (b *builder) checkServing(ref clusterv1.ContractVersionedObjectReference, hosted bool) {
	o := b.set.get(ref.APIGroup, ref.Kind, b.key.Namespace, ref.Name)
	if o == nil {
		return
	}
	in, ok := o.value.(*infrastructure)
	if !ok {
		return
	}
	check := in.kind.Serving
	if hosted {
		check = in.kind.Elsewhere
	}
	if check == nil {
		return
	}
	for _, err := range check(in.value) {
		b.addf(o, o.written(err.Field), "", "%s", err.ErrorBody())
	}
}

// onFirstSite refuses a control plane on another site than that of the endpoint, by the
// kind and provider of its machines.
func (b *builder) onFirstSite(o *object, field, kind, provider string) {
	if provider != "" && b.provider != "" && provider != b.provider {
		b.addf(o, field, "use a template of "+b.provider+", or have spec.infrastructureRef of the Cluster name infrastructure of "+provider,
			"refers to %s of the provider %s, and the cluster's infrastructure is of %s: a control plane is where its endpoint is", kind, provider, b.provider)
	}
}

// site returns the provider of the guest for machines of kind and provider; empty: the
// first site.
func (b *builder) site(o *object, field, kind, provider string) string {
	switch {
	case provider == "" || b.provider == "" || provider == b.provider:
		return ""
	case b.sites[provider] == nil && !b.set.unreadable && !b.brokenSite(provider):
		b.addf(o, field, "add a "+b.decoder.clusterKind(provider)+" "+b.key.Namespace+"/"+b.siteName()+" to the overlay, which makes "+provider+" a site of the cluster's workers",
			"refers to %s of the provider %s; the cluster is on %s", kind, provider, b.provider)
	}
	return provider
}

// siteName is what objects that make providers sites of the cluster are called.
func (b *builder) siteName() string {
	root := b.set.clusters[b.key]
	in, ok := root.value.(*clusterv1.Cluster)
	switch {
	case !ok:
		return ""
	case root.expansion != nil:
		return b.key.Name
	}
	return in.Spec.InfrastructureRef.Name
}

// checkStrays refuses infrastructure that says by its label that it is of the cluster, and
// that is no site of it.
func (b *builder) checkStrays() {
	sites := b.set.sites(b.key)
	for _, o := range b.set.objects {
		if b.provider == "" || o.kind == nil || o.kind.role != fleet.InfrastructureCluster || o.namespace != b.key.Namespace || o.clusterName() != b.key.Name || slices.Contains(sites, o) {
			continue
		}
		if o.kind.provider == b.provider {
			b.addf(o, "metadata.name", "take it out, or take the label out where it is for something else: two regions of one provider are no two sites of a cluster",
				"the cluster has another site of the provider %s", b.provider)
			continue
		}
		b.addf(o, "metadata.name", "call it "+b.siteName(), "it says by its label that it is of Cluster %s, and what makes a provider a site of that has another name", b.key)
	}
}

// brokenSite reports whether the object that makes provider a site has problems.
func (b *builder) brokenSite(provider string) bool {
	return slices.ContainsFunc(b.set.sites(b.key), func(o *object) bool { return o.kind.provider == provider })
}

// clusterKind names the kind of a provider that clusters refer to.
func (d *Decoder) clusterKind(provider string) string {
	for _, k := range d.sorted() {
		if k.role == fleet.InfrastructureCluster && slices.ContainsFunc(k.each(), func(e *kind) bool { return e.provider == provider }) {
			return k.name
		}
	}
	return "cluster of " + provider
}

// checkCloudProviders refuses cloud controller managers on two sites: each takes the Nodes
// of the other for deleted machines, and deletes them. Source: kubernetes/cloud-provider,
// controllers/nodelifecycle.
func (b *builder) checkCloudProviders(c *fleet.Cluster) {
	var asking []string
	for _, p := range c.Pools() { // the first site's before those of guests
		if asksForCloud(p.Bootstrap.Spec) && !slices.Contains(asking, p.Provider) {
			asking = append(asking, p.Provider)
		}
	}
	slices.Sort(asking)
	if len(asking) < 2 {
		return
	}
	cloud := cmp.Or(asking[0], c.Provider)
	for _, p := range c.Workers {
		if p.Provider == asking[0] || !asksForCloud(p.Bootstrap.Spec) {
			continue
		}
		field := "spec.template.spec.bootstrap.configRef"
		if p.Kind == fleet.LoneMachine {
			field = "spec.bootstrap.configRef"
		}
		if o := b.set.get(clusterv1.GroupVersion.Group, fleet.ObjectKind(p.Role, p.Kind), c.Key.Namespace, string(p.Name)); o != nil {
			b.addf(o, field, "leave cloud-provider out of what it refers to",
				"cloud-provider is external there, and machines of %s ask for a cloud controller manager too: that of one cloud deletes Nodes of the other", cloud)
		}
	}
}

// asksForCloud reports whether a bootstrap configuration makes kubelets wait for a cloud
// controller manager, in any notation of arguments.
func asksForCloud(spec json.RawMessage) bool {
	const name, external = "cloud-provider", "external"
	var asks func(v any) bool
	asks = func(v any) bool {
		switch v := v.(type) {
		case string:
			return strings.TrimPrefix(v, "--") == name+"="+external
		case []any:
			return slices.ContainsFunc(v, asks)
		case map[string]any:
			if v[name] == external || v["name"] == name && v["value"] == external {
				return true
			}
			for _, e := range v {
				if asks(e) {
					return true
				}
			}
		}
		return false
	}
	return len(spec) > 0 && asks(plainJSON(spec))
}

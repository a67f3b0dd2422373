package api

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resolveMachine implements Kind.Resolve: what the Metal3DataTemplate says becomes a part of
// the machine.
func resolveMachine(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
	s, ok := spec.(*MachineSpec)
	if !ok || s.DataTemplate == nil {
		return spec, nil
	}
	templates := companions(dataTemplateKind)
	if templates == nil {
		return spec, nil // what else Git holds is not known yet
	}
	found, has := templates[s.DataTemplate.Name]
	if !has {
		return spec, field.ErrorList{field.NotFound(templatePath.Child("dataTemplate", "name"), dataTemplateKind+" "+s.DataTemplate.Name)}
	}
	out := *s
	if data, ok := found.(*Metal3DataTemplateSpec); ok { // else it could not be read, which is reported for it
		copied := *data
		copied.ClusterName = "" // not used
		out.Data = &copied
	}
	return &out, nil
}

// resolveData implements Kind.Resolve: the pools that are named are in Git, and those of a
// network are of its family.
func resolveData(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
	s, ok := spec.(*Metal3DataTemplateSpec)
	if !ok {
		return spec, nil
	}
	var errs field.ErrorList
	for _, u := range poolUses(specPath, s) {
		if u.ref.Name == "" {
			continue
		}
		pools := companions(u.ref.Kind)
		if pools == nil {
			continue // what else Git holds is not known yet
		}
		pool, has := pools[u.ref.Name]
		if !has {
			errs = append(errs, field.NotFound(u.at, u.ref.Kind+" "+u.ref.Name))
			continue
		}
		if p, ok := pool.(*IPPoolSpec); ok && u.family != "" && u.family != p.family() {
			errs = append(errs, field.Invalid(u.at, u.ref.Name, "has addresses of "+p.family()+", and the network is of "+u.family))
		}
	}
	return spec, errs
}

// resolveFirmware implements Kind.Resolve: the host whose firmware it is of is in Git.
func resolveFirmware(spec any, companions func(kind string) map[string]any) (any, field.ErrorList) {
	host := ""
	switch s := spec.(type) {
	case *HostFirmwareSettingsSpec:
		host = s.host
	case *HostFirmwareComponentsSpec:
		host = s.host
	}
	hosts := companions(HostKind)
	if hosts == nil {
		return spec, nil // what else Git holds is not known yet
	}
	if _, has := hosts[host]; !has {
		return spec, field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), host, "must be the name of a "+HostKind+" that Git has, whose firmware it is about")}
	}
	return spec, nil
}

// A poolUse is a place that names a pool, or an annotation that does.
type poolUse struct {
	at         *field.Path // of ref
	ref        IPPoolReference
	annotation FromAnnotation
	family     string // of the addresses it has to have; empty: either
}

// Pools returns the pools that s names, each once, by kind and name; those that an annotation
// names are not among them.
func (s *Metal3DataTemplateSpec) Pools() []IPPoolReference {
	var out []IPPoolReference
	for _, u := range poolUses(specPath, s) {
		if u.ref.Name != "" && !slices.Contains(out, u.ref) {
			out = append(out, u.ref)
		}
	}
	slices.SortFunc(out, compareRefs)
	return out
}

// poolUses returns the places of s that name a pool, or an annotation that does.
func poolUses(at *field.Path, s *Metal3DataTemplateSpec) []poolUse {
	var out []poolUse
	if m := s.MetaData; m != nil {
		at := at.Child("metaData")
		for _, l := range m.fromPools() {
			for i, f := range l.list {
				out = append(out, poolUse{at: at.Child(l.name).Index(i).Child("name"), ref: f.Ref()})
			}
		}
	}
	n := s.NetworkData
	if n == nil {
		return out
	}
	at = at.Child("networkData")
	use := func(at *field.Path, ref IPPoolReference, annotation FromAnnotation, family string) {
		if ref.Name != "" || annotation != (FromAnnotation{}) {
			out = append(out, poolUse{at.Child("fromPoolRef", "name"), ref, annotation, family})
		}
	}
	service := func(at *field.Path, d *NetworkDataService) {
		if d != nil && d.DNSFromIPPool != "" {
			out = append(out, poolUse{at: at.Child("services", "dnsFromIPPool"), ref: metal3Pool(d.DNSFromIPPool)})
		}
	}
	routes := func(at *field.Path, family string, list []NetworkDataRoutev4) {
		for i, r := range list {
			at := at.Child("routes").Index(i)
			use(at.Child("gateway"), r.Gateway.FromPoolRef, r.Gateway.FromPoolAnnotation, family)
			service(at, r.Services)
		}
	}
	service(at, n.Services)
	if n.Networks == nil {
		return out
	}
	at = at.Child("networks")
	for _, f := range n.Networks.static() {
		for i, network := range f.list {
			at := at.Child(f.name).Index(i)
			use(at, network.FromPoolRef, network.FromPoolAnnotation, f.family)
			routes(at, f.family, network.Routes)
		}
	}
	for _, f := range n.Networks.dynamic() {
		for i, network := range f.list {
			routes(at.Child(f.name).Index(i), f.family, network.Routes)
		}
	}
	return out
}

// PoolAnnotations returns the annotations of s that name pools, each once.
func (s *Metal3DataTemplateSpec) PoolAnnotations() []FromAnnotation {
	var out []FromAnnotation
	for _, u := range poolUses(specPath, s) {
		if u.annotation != (FromAnnotation{}) && !slices.Contains(out, u.annotation) {
			out = append(out, u.annotation)
		}
	}
	return out
}

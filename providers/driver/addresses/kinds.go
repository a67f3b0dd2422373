package addresses

import (
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
	"fairlead.dev/providers/kinds"
)

// The kinds of pools.
const (
	Group          = "ipam.cluster.x-k8s.io"
	PoolKind       = "InClusterIPPool"
	GlobalPoolKind = "GlobalInClusterIPPool"
)

// PoolSpec is the spec of a pool, of a namespace or of none, with the fields of the in-cluster
// IPAM provider's kinds in v1alpha2.
type PoolSpec struct {
	// Addresses are single ones, ranges ("10.0.0.10-10.0.0.20") and prefixes.
	Addresses []string `json:"addresses"`
	Prefix    int      `json:"prefix"` // length of that of the network
	Gateway   string   `json:"gateway,omitempty"`
	// AllocateReservedIPAddresses gives the first address of the network too, and the last
	// of an IPv4 network.
	AllocateReservedIPAddresses    bool     `json:"allocateReservedIPAddresses,omitempty"`
	ExcludedAddresses              []string `json:"excludedAddresses,omitempty"`
	AddressReuseGracePeriodSeconds *int32   `json:"addressReuseGracePeriodSeconds,omitempty"`
}

// Kinds describes the kinds of pools to the decoder, for a provider whose machines take
// addresses of them.
func Kinds(provider string) []fleet.Kind {
	kind := func(name string, global bool) fleet.Kind {
		return kinds.Of(fleet.Kind{
			Provider: provider, Role: fleet.InfrastructureCompanion, ClusterScoped: global,
			Group: Group, Kind: name, Networks: networks,
			Refused: map[string]string{
				"spec.addressReuseGracePeriodSeconds": "an address is given again when the infrastructure shows no machine that has it, and there is no record of when that was: " +
					"leave the field out; the search for a free address rarely finds the one that was released last",
			},
		}, kinds.Objects(normalise, "v1alpha2"))
	}
	return []fleet.Kind{kind(PoolKind, false), kind(GlobalPoolKind, true)}
}

// normalise is a kinds.Normaliser. Its rules are those of the in-cluster IPAM provider's
// webhook, and that a pool has an address to give.
func normalise(_ metav1.Object, at *field.Path, s *PoolSpec) (any, field.ErrorList) {
	var errs objects.Validator
	spec := *s
	if len(spec.Addresses) == 0 {
		errs.Add(field.Required(at.Child("addresses"), `addresses such as "10.0.0.10-10.0.0.20"`))
	}
	spec.Addresses = parseAll(&errs, at.Child("addresses"), spec.Addresses)
	spec.ExcludedAddresses = parseAll(&errs, at.Child("excludedAddresses"), spec.ExcludedAddresses)
	if spec.Gateway != "" {
		if a := errs.IP(at.Child("gateway"), spec.Gateway); a.IsValid() {
			spec.Gateway = a.String()
		}
	}
	if len(errs.Errs) > 0 {
		return nil, errs.Errs
	}
	first, _ := parseRange(spec.Addresses[0])
	most := 128
	if first.From().Is4() {
		most = 32
	}
	if spec.Prefix < 1 || spec.Prefix > most {
		errs.Invalid(at.Child("prefix"), spec.Prefix, "the length of the network's prefix is needed, such as 24")
		return nil, errs.Errs
	}
	network := netip.PrefixFrom(first.From(), spec.Prefix).Masked()
	for i, a := range spec.Addresses {
		if r, _ := parseRange(a); !network.Contains(r.From()) || !network.Contains(r.To()) {
			errs.Invalid(at.Child("addresses").Index(i), a, "is not within the network "+network.String()+", which the first address and prefix make")
		}
	}
	for _, a := range append(slices.Clone(spec.ExcludedAddresses), spec.Gateway) {
		if r, err := parseRange(a); err == nil && r.From().Is4() != first.From().Is4() {
			errs.Invalid(at, a, "IPv4 and IPv6 do not mix in a pool: make a pool for each")
		}
	}
	if len(errs.Errs) > 0 {
		return nil, errs.Errs
	}
	if set := setOf(&spec, network); len(set.Ranges()) == 0 {
		errs.Invalid(at.Child("addresses"), spec.Addresses, "nothing is left to be given: excludedAddresses, the gateway and the addresses that a network reserves are taken out")
	}
	return spec, errs.Errs
}

// networks implements fleet.Kind.
func networks(v any) []string {
	spec, ok := v.(PoolSpec)
	if !ok {
		return nil
	}
	first, err := parseRange(spec.Addresses[0])
	if err != nil {
		return nil
	}
	var out []string
	for _, r := range setOf(&spec, netip.PrefixFrom(first.From(), spec.Prefix).Masked()).Ranges() {
		out = append(out, r.String())
	}
	return out
}

// parseAll checks a list of addresses, ranges and prefixes, and returns each in its
// usual spelling.
func parseAll(errs *objects.Validator, at *field.Path, list []string) []string {
	var out []string
	for i, s := range list {
		r, err := parseRange(s)
		if err != nil {
			errs.Invalid(at.Index(i), s, `must be an address, a range such as "10.0.0.10-10.0.0.20", or a prefix such as "10.0.0.0/24"`)
			continue
		}
		if r.From() == r.To() {
			out = append(out, r.From().String())
		} else {
			out = append(out, r.String())
		}
	}
	return out
}

// NormaliseRefs checks references to pools, and returns each with its group, which may be
// left out.
func NormaliseRefs(errs *field.ErrorList, at *field.Path, refs []Ref) []Ref {
	var out []Ref
	for i, r := range refs {
		out = append(out, NormaliseRef(errs, at.Index(i), r))
	}
	return out
}

// NormaliseRef does so with one, which is at the path at.
func NormaliseRef(errs *field.ErrorList, at *field.Path, r Ref) Ref {
	if r.APIGroup == "" {
		r.APIGroup = Group
	}
	if r.APIGroup != Group {
		*errs = append(*errs, field.NotSupported(at.Child("apiGroup"), r.APIGroup, []string{Group}))
	}
	if r.Kind != PoolKind && r.Kind != GlobalPoolKind {
		*errs = append(*errs, field.NotSupported(at.Child("kind"), r.Kind, []string{PoolKind, GlobalPoolKind}))
	}
	if r.Name == "" {
		*errs = append(*errs, field.Required(at.Child("name"), "the name of a pool"))
	}
	return r
}

// Resolve checks that the pools which refs name are in Git, for the function of that name of
// a kind: refs are at the path at, companions is what that function is called with. It
// returns what is wrong.
func Resolve(refs []Ref, at *field.Path, companions func(kind string) map[string]any) field.ErrorList {
	var errs field.ErrorList
	for i, r := range refs {
		errs = append(errs, ResolveRef(r, at.Index(i), companions)...)
	}
	return errs
}

// ResolveRef does so with one, which is at the path at.
func ResolveRef(r Ref, at *field.Path, companions func(kind string) map[string]any) field.ErrorList {
	pools := companions(r.Kind)
	if pools == nil {
		return nil // what else Git holds is not known yet
	}
	if _, ok := pools[r.Name]; !ok {
		return field.ErrorList{field.NotFound(at, r.Kind+" "+r.Name)}
	}
	return nil
}

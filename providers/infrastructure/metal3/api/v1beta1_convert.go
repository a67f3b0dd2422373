package api

import (
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// The functions here convert parts of v1beta1 to v1beta2.
// Source: CAPM3, api/v1beta1/conversion.go.

func (v *validator) convertCluster(at *field.Path, in *v1beta1ClusterSpec) *Metal3ClusterSpec {
	out := &Metal3ClusterSpec{ControlPlaneEndpoint: in.ControlPlaneEndpoint, CloudProviderEnabled: in.CloudProviderEnabled, VirtualIP: in.VirtualIP}
	if in.NoCloudProvider != nil {
		enabled := !*in.NoCloudProvider
		v.Forbidden(at.Child("noCloudProvider"), in.CloudProviderEnabled != nil && *in.CloudProviderEnabled != enabled,
			"says the contrary of cloudProviderEnabled: leave it out")
		out.CloudProviderEnabled = &enabled
	}
	for _, name := range slices.Sorted(maps.Keys(in.FailureDomains)) {
		d := in.FailureDomains[name]
		domain := clusterv1.FailureDomain{Name: name, Attributes: d.Attributes}
		if d.ControlPlane {
			domain.ControlPlane = &d.ControlPlane
		}
		out.FailureDomains = append(out.FailureDomains, domain)
	}
	return out
}

func (v *validator) convertMachine(at *field.Path, in *v1beta1MachineSpec) *Metal3MachineSpec {
	out := &Metal3MachineSpec{
		Image: Image{URL: in.Image.URL, ChecksumType: deref(in.Image.ChecksumType), DiskFormat: deref(in.Image.DiskFormat)}, CustomDeploy: deref(in.CustomDeploy),
		ProviderID: deref(in.ProviderID), UserData: in.UserData, MetaData: in.MetaData, NetworkData: in.NetworkData, FailureDomain: in.FailureDomain,
		AutomatedCleaningMode: deref(in.AutomatedCleaningMode),
	}
	if in.Image.Checksum != "" {
		out.Image.Checksum = &in.Image.Checksum
	}
	if len(in.HostSelector.MatchLabels)+len(in.HostSelector.MatchExpressions) > 0 {
		out.HostSelector = &in.HostSelector
	}
	if r := in.DataTemplate; r != nil {
		at := at.Child("dataTemplate")
		v.Forbidden(at.Child("kind"), r.Kind != "" && r.Kind != dataTemplateKind, "only a "+dataTemplateKind+" is read: leave the field out")
		v.Forbidden(at.Child("fieldPath"), r.FieldPath != "", "all of the object is read: leave the field out")
		out.DataTemplate = &Metal3ObjectRef{Name: r.Name, Namespace: r.Namespace}
	}
	return out
}

func (v *validator) convertDataTemplate(_ *field.Path, in *v1beta1DataTemplateSpec) *Metal3DataTemplateSpec {
	out := &Metal3DataTemplateSpec{ClusterName: in.ClusterName}
	if m := in.MetaData; m != nil {
		data := MetaData(*m)
		out.MetaData = &data
	}
	if n := in.NetworkData; n != nil {
		links := &NetworkDataLink{Ethernets: n.Links.Ethernets, Vlans: n.Links.Vlans}
		for _, b := range n.Links.Bonds {
			bond := NetworkDataLinkBond{
				BondMode: b.BondMode, BondXmitHashPolicy: b.BondXmitHashPolicy, ID: b.ID, Name: b.Name, MTU: b.MTU, MACAddress: b.MACAddress, BondLinks: b.BondLinks,
			}
			for _, name := range slices.Sorted(maps.Keys(b.Parameters)) {
				bond.Parameters = append(bond.Parameters, NetworkDataLinkBondParam{Name: name, Value: b.Parameters[name]})
			}
			links.Bonds = append(links.Bonds, bond)
		}
		out.NetworkData = &NetworkData{Links: links, Networks: &n.Networks, Services: &n.Services}
	}
	return out
}

func (v *validator) convertRemediation(at *field.Path, in *v1beta1RemediationSpec) *Metal3RemediationSpec {
	s := in.Strategy
	if s == nil {
		return &Metal3RemediationSpec{}
	}
	out := &RemediationStrategy{Type: s.Type, RetryLimit: s.RetryLimit}
	if d := s.Timeout; d != nil {
		if d.Duration%time.Second != 0 || d.Seconds() < 1 || d.Seconds() > math.MaxInt32 {
			v.Invalid(at.Child("strategy", "timeout"), d.Duration.String(), `must be whole seconds, such as "600s"`)
			return &Metal3RemediationSpec{}
		}
		out.TimeoutSeconds = int32(d.Seconds())
	}
	return &Metal3RemediationSpec{Strategy: out}
}

// deref returns what p points to, the zero value for nil.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

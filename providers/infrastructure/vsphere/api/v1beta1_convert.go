package api

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// convertMachine returns in, of v1beta1, as v1beta2 has it. A zero of v1beta1 is nothing.
// Source: CAPV, Convert_v1beta1_VSphereMachineSpec_To_v1beta2_VSphereMachineSpec.
func (v *validator) convertMachine(at *field.Path, in *v1beta1MachineSpec) *VSphereMachineSpec {
	out := &VSphereMachineSpec{
		VirtualMachineCloneSpec: in.VirtualMachineCloneSpec,
		Network:                 NetworkSpec{Devices: in.Network.Devices, Routes: in.Network.Routes},
		PowerOffMode:            in.PowerOffMode,
	}
	if in.ProviderID != nil {
		out.ProviderID = *in.ProviderID
	}
	if n := in.NumCoresPerSocket; n != nil && *n == 0 {
		out.NumCoresPerSocket = nil
	}
	if n := in.NamingStrategy; n != nil && n.Template != nil {
		out.Naming.Template = *n.Template
	}
	if d := in.GuestSoftPowerOffTimeout; d != nil {
		at := at.Child("guestSoftPowerOffTimeout")
		switch seconds := d.Seconds(); {
		case d.Duration%time.Second != 0:
			v.Invalid(at, d.Duration.String(), "must be whole seconds")
		case seconds < 1 || seconds > math.MaxInt32:
			v.Invalid(at, d.Duration.String(), `must be a time like "5m"; without the field it is five minutes`)
		default:
			out.GuestSoftPowerOffTimeoutSeconds = int32(seconds)
		}
	}
	return out
}

// convertFailureDomain returns in, of v1beta1, as v1beta2 has it.
func (v *validator) convertFailureDomain(at *field.Path, in *v1beta1FailureDomainSpec) *VSphereFailureDomainSpec {
	for _, d := range []struct {
		name string
		v1beta1FailureDomain
	}{{"region", in.Region}, {"zone", in.Zone}} {
		v.Forbidden(at.Child(d.name, "autoConfigure"), d.AutoConfigure != nil && *d.AutoConfigure, fmt.Sprintf(
			"no tags are made in vCenter, by Cluster API neither: make the tag %s of the category %s there, give it to each %s, and leave the field out",
			d.Name, d.TagCategory, d.Type))
	}
	return &VSphereFailureDomainSpec{Region: in.Region.FailureDomain, Zone: in.Zone.FailureDomain, Topology: in.Topology}
}

package api

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// AzureMachinePoolSpec is what the machines of a pool are made from, and how they are replaced.
type AzureMachinePoolSpec struct {
	AdditionalTags             map[string]string        `json:"additionalTags,omitempty"`
	Identity                   string                   `json:"identity,omitempty"`
	Location                   string                   `json:"location,omitempty"`
	OrchestrationMode          string                   `json:"orchestrationMode,omitempty"`
	PlatformFaultDomainCount   *int32                   `json:"platformFaultDomainCount,omitempty"`
	ProviderID                 string                   `json:"providerID,omitempty"`
	ProviderIDList             []string                 `json:"providerIDList,omitempty"`
	RoleAssignmentName         string                   `json:"roleAssignmentName,omitempty"`
	Strategy                   PoolStrategy             `json:"strategy,omitzero"`
	SystemAssignedIdentityRole *SystemAssignedRole      `json:"systemAssignedIdentityRole,omitempty"`
	Template                   AzureMachinePoolTemplate `json:"template,omitzero"`
	UserAssignedIdentities     []UserAssignedIdentity   `json:"userAssignedIdentities,omitempty"`
	ZoneBalance                *bool                    `json:"zoneBalance,omitempty"`
}

// AzureMachinePoolTemplate is the part of an AzureMachineSpec that the template of a pool has.
type AzureMachinePoolTemplate struct {
	AcceleratedNetworking        *bool                   `json:"acceleratedNetworking,omitempty"`
	AdditionalCapabilities       *AdditionalCapabilities `json:"additionalCapabilities,omitempty"`
	DataDisks                    []DataDisk              `json:"dataDisks,omitempty"`
	Diagnostics                  *Diagnostics            `json:"diagnostics,omitempty"`
	DisableVMBootstrapExtension  *bool                   `json:"disableVMBootstrapExtension,omitempty"`
	Image                        *Image                  `json:"image,omitempty"`
	NetworkInterfaces            []NetworkInterface      `json:"networkInterfaces,omitempty"`
	OSDisk                       OSDisk                  `json:"osDisk,omitzero"`
	SecurityProfile              *SecurityProfile        `json:"securityProfile,omitempty"`
	SpotVMOptions                *SpotVMOptions          `json:"spotVMOptions,omitempty"`
	SSHPublicKey                 string                  `json:"sshPublicKey,omitempty"`
	SubnetName                   string                  `json:"subnetName,omitempty"`
	TerminateNotificationTimeout *int32                  `json:"terminateNotificationTimeout,omitempty"`
	VMExtensions                 []VMExtension           `json:"vmExtensions,omitempty"`
	VMSize                       string                  `json:"vmSize,omitempty"`
}

// A PoolStrategy says how machines of a pool are replaced.
type PoolStrategy struct {
	RollingUpdate *PoolRollingUpdate `json:"rollingUpdate,omitempty"`
	Type          string             `json:"type,omitempty"`
}

// A PoolRollingUpdate bounds the machines that are there at the same time.
type PoolRollingUpdate struct {
	DeletePolicy   string              `json:"deletePolicy,omitempty"`
	MaxSurge       *intstr.IntOrString `json:"maxSurge,omitempty"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// machine returns what one machine of the pool is made from.
func (s *AzureMachinePoolSpec) machine() *AzureMachineSpec {
	t := s.Template
	return &AzureMachineSpec{
		AcceleratedNetworking: t.AcceleratedNetworking, AdditionalCapabilities: t.AdditionalCapabilities, AdditionalTags: s.AdditionalTags,
		DataDisks: t.DataDisks, Diagnostics: t.Diagnostics, Identity: s.Identity, Image: t.Image, NetworkInterfaces: t.NetworkInterfaces, OSDisk: t.OSDisk,
		SecurityProfile: t.SecurityProfile, SpotVMOptions: t.SpotVMOptions, SSHPublicKey: t.SSHPublicKey, SubnetName: t.SubnetName,
		UserAssignedIdentities: s.UserAssignedIdentities, VMExtensions: t.VMExtensions, VMSize: t.VMSize,
	}
}

// pool checks a pool, and fills in its defaults.
// Source: CAPZ, exp/api/v1beta1/azuremachinepool_types.go.
func (v *validator) pool(at *field.Path, s *AzureMachinePoolSpec) {
	s.Location = regionOf(s.Location)
	m := s.machine()
	v.machineOf(at.Child("template"), at, m)
	s.Identity, s.Template.OSDisk, s.Template.NetworkInterfaces, s.Template.DisableVMBootstrapExtension, s.OrchestrationMode = m.Identity, m.OSDisk, m.NetworkInterfaces, nil, ""
	v.Forbidden(at.Child("zoneBalance"), s.ZoneBalance != nil && *s.ZoneBalance, "new machines are spread over zones, and where one has no capacity another is used: leave it out")
	s.ZoneBalance = nil
	if n := s.PlatformFaultDomainCount; n != nil {
		objects.Within(v, at.Child("platformFaultDomainCount"), *n, 1, mostFaultDomains, "must be between 1 and 3")
	}
	if n := s.Template.TerminateNotificationTimeout; n != nil {
		objects.Within(v, at.Child("template", "terminateNotificationTimeout"), *n, shortestNotice, longestNotice, "must be between 5 and 15 minutes")
	}
	below := at.Child("strategy", "rollingUpdate")
	s.Strategy.Type = cmp.Or(s.Strategy.Type, string(clusterv1.RollingUpdateMachineDeploymentStrategyType))
	objects.Enum(v, at.Child("strategy", "type"), s.Strategy.Type, string(clusterv1.RollingUpdateMachineDeploymentStrategyType))
	if s.Strategy.RollingUpdate == nil {
		s.Strategy.RollingUpdate = new(PoolRollingUpdate)
	}
	u := s.Strategy.RollingUpdate
	u.DeletePolicy = cmp.Or(u.DeletePolicy, string(clusterv1.OldestMachineSetDeletionOrder))
	objects.Enum(v, below.Child("deletePolicy"), u.DeletePolicy, string(clusterv1.OldestMachineSetDeletionOrder), string(clusterv1.NewestMachineSetDeletionOrder), string(clusterv1.RandomMachineSetDeletionOrder))
	u.MaxSurge, u.MaxUnavailable = intstr.ValueOrDefault(u.MaxSurge, intstr.FromInt32(1)), intstr.ValueOrDefault(u.MaxUnavailable, intstr.FromInt32(0))
	both := 0
	for name, n := range map[string]*intstr.IntOrString{"maxSurge": u.MaxSurge, "maxUnavailable": u.MaxUnavailable} {
		of, err := intstr.GetScaledValueFromIntOrPercent(n, 100, true)
		if err != nil || of < 0 {
			v.Invalid(below.Child(name), n.String(), `must be a number of machines, or a share such as "25%"`)
		}
		both += of
	}
	if both == 0 {
		v.Invalid(below, "0 and 0", "maxSurge and maxUnavailable must not both be 0: no machine could ever be replaced")
	}
	slices.SortFunc(v.Errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
}

// rollout implements fleet.Kind.
func rollout(spec any) (u clusterv1.MachineDeploymentRolloutStrategyRollingUpdate, order clusterv1.MachineSetDeletionOrder) {
	if s, ok := spec.(*AzureMachinePoolSpec); ok && s.Strategy.RollingUpdate != nil {
		of := s.Strategy.RollingUpdate
		u.MaxSurge, u.MaxUnavailable, order = of.MaxSurge, of.MaxUnavailable, clusterv1.MachineSetDeletionOrder(of.DeletePolicy)
	}
	return u, order
}

// hashedPool implements fleet.Kind: the machines alone count.
func hashedPool(spec any) any {
	if s, ok := spec.(*AzureMachinePoolSpec); ok {
		return s.machine()
	}
	return spec
}

// How many minutes a VM learns before it is deleted that it will be.
// Source: Azure documentation, "Terminate notification for Azure Virtual Machine Scale Set instances".
const shortestNotice, longestNotice = 5, 15

// mostFaultDomains is how many fault domains an availability set has at most.
// Source: Azure documentation, "Availability sets overview".
const mostFaultDomains = 3

// Notice returns how many minutes before their deletion the machines of an AzureMachinePool learn of it; 0: they do not.
func Notice(o fleet.Object) int32 {
	if s, err := objects.Read[AzureMachinePoolSpec](o, poolKind); err == nil && s.Template.TerminateNotificationTimeout != nil {
		return *s.Template.TerminateNotificationTimeout
	}
	return 0
}

// FaultDomains returns in how many fault domains the machines of an AzureMachinePool without zones are; 0: it names no number.
func FaultDomains(o fleet.Object) int32 {
	if s, err := objects.Read[AzureMachinePoolSpec](o, poolKind); err == nil && s.PlatformFaultDomainCount != nil {
		return *s.PlatformFaultDomainCount
	}
	return 0
}

// PoolLocation returns the location that an AzureMachinePool names; empty: the object is another, or names none.
func PoolLocation(o fleet.Object) string {
	if s, err := objects.Read[AzureMachinePoolSpec](o, poolKind); err == nil {
		return s.Location
	}
	return ""
}

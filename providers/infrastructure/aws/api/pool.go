package api

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/objects"
)

// machinePoolSpec is what both versions of AWSMachinePoolSpec have.
type machinePoolSpec struct {
	AdditionalTags       map[string]string     `json:"additionalTags,omitempty"`
	AvailabilityZones    []string              `json:"availabilityZones,omitempty"`
	CapacityRebalance    bool                  `json:"capacityRebalance,omitempty"`
	DefaultCoolDown      *metav1.Duration      `json:"defaultCoolDown,omitempty"`
	MaxSize              *int32                `json:"maxSize,omitempty"`
	MinSize              *int32                `json:"minSize,omitempty"`
	MixedInstancesPolicy *MixedInstancesPolicy `json:"mixedInstancesPolicy,omitempty"`
	ProviderID           string                `json:"providerID,omitempty"`
	ProviderIDList       []string              `json:"providerIDList,omitempty"`
	Subnets              []ResourceReference   `json:"subnets,omitempty"`
}

// AWSMachinePoolSpec is what the machines of a pool are made from, where they are, and how they are replaced.
type AWSMachinePoolSpec struct {
	machinePoolSpec

	AvailabilityZoneSubnetType string              `json:"availabilityZoneSubnetType,omitempty"`
	AWSLaunchTemplate          LaunchTemplate      `json:"awsLaunchTemplate,omitzero"`
	DefaultInstanceWarmup      *metav1.Duration    `json:"defaultInstanceWarmup,omitempty"`
	Ignition                   *Ignition           `json:"ignition,omitempty"`
	LifecycleHooks             []LifecycleHook     `json:"lifecycleHooks,omitempty"`
	RefreshPreferences         *RefreshPreferences `json:"refreshPreferences,omitempty"`
	SuspendProcesses           *SuspendProcesses   `json:"suspendProcesses,omitempty"`
}

// v1beta1MachinePoolSpec is AWSMachinePoolSpec as v1beta1 has it.
type v1beta1MachinePoolSpec struct {
	machinePoolSpec

	AWSLaunchTemplate  v1beta1LaunchTemplate      `json:"awsLaunchTemplate,omitzero"`
	RefreshPreferences *v1beta1RefreshPreferences `json:"refreshPreferences,omitempty"`
}

// v1beta1RefreshPreferences is RefreshPreferences as v1beta1 has it.
type v1beta1RefreshPreferences struct {
	InstanceWarmup       *int64 `json:"instanceWarmup,omitempty"`
	MinHealthyPercentage *int64 `json:"minHealthyPercentage,omitempty"`
	Strategy             string `json:"strategy,omitempty"`
}

// RefreshPreferences say how machines are replaced.
type RefreshPreferences struct {
	v1beta1RefreshPreferences

	Disable              bool   `json:"disable,omitempty"`
	MaxHealthyPercentage *int64 `json:"maxHealthyPercentage,omitempty"`
}

// A MixedInstancesPolicy has an auto scaling group choose among types and markets.
type MixedInstancesPolicy struct {
	InstancesDistribution *InstancesDistribution `json:"instancesDistribution,omitempty"`
	Overrides             []TypeOverride         `json:"overrides,omitempty"`
}

// InstancesDistribution says how many instances are of which market.
type InstancesDistribution struct {
	OnDemandAllocationStrategy          string `json:"onDemandAllocationStrategy,omitempty"`
	OnDemandBaseCapacity                *int64 `json:"onDemandBaseCapacity,omitempty"`
	OnDemandPercentageAboveBaseCapacity *int64 `json:"onDemandPercentageAboveBaseCapacity,omitempty"`
	SpotAllocationStrategy              string `json:"spotAllocationStrategy,omitempty"`
}

// A TypeOverride is another type of instances.
type TypeOverride struct {
	InstanceType string `json:"instanceType"`
}

// SuspendProcesses stop processes of an auto scaling group.
type SuspendProcesses struct {
	All       bool       `json:"all,omitempty"`
	Processes *Processes `json:"processes,omitempty"`
}

// Processes are those of an auto scaling group.
type Processes struct {
	AddToLoadBalancer *bool `json:"addToLoadBalancer,omitempty"`
	AlarmNotification *bool `json:"alarmNotification,omitempty"`
	AZRebalance       *bool `json:"azRebalance,omitempty"`
	HealthCheck       *bool `json:"healthCheck,omitempty"`
	InstanceRefresh   *bool `json:"instanceRefresh,omitempty"`
	Launch            *bool `json:"launch,omitempty"`
	ReplaceUnhealthy  *bool `json:"replaceUnhealthy,omitempty"`
	ScheduledActions  *bool `json:"scheduledActions,omitempty"`
	Terminate         *bool `json:"terminate,omitempty"`
}

// A MachinePool is an AWSMachinePoolSpec that was normalised.
type MachinePool struct {
	Machine        AWSMachineSpec      `json:"machine"`
	Places         Places              `json:"places,omitzero"`
	MaxSurge       *intstr.IntOrString `json:"maxSurge,omitempty"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// Places are where machines of a pool may be: in the subnets that are named, or in those of a kind, in the zones that are named.
type Places struct {
	Subnets []ResourceReference `json:"subnets,omitempty"`
	Kind    string              `json:"kind,omitempty"` // PublicSubnets, PrivateSubnets or AllSubnets
	Zones   []string            `json:"zones,omitempty"`
}

// machinePool is a kinds.Normaliser.
// Source: CAPA, exp/api/v1beta2/awsmachinepool_types.go and pkg/cloud/scope/machinepool.go.
func machinePool(_ metav1.Object, at *field.Path, s *AWSMachinePoolSpec) (any, field.ErrorList) {
	v, t := new(validator), s.AWSLaunchTemplate
	out := &MachinePool{
		Machine: t.Machine(s.AdditionalTags),
		Places:  Places{Subnets: s.Subnets, Kind: s.AvailabilityZoneSubnetType, Zones: objects.Set(v, at.Child("availabilityZones"), s.AvailabilityZones)},
	}
	out.Machine.Ignition = s.Ignition
	v.machineOf(at.Child("awsLaunchTemplate"), at, &out.Machine)
	for i := range s.Subnets {
		v.reference(at.Child("subnets").Index(i), &s.Subnets[i], "subnet-")
	}
	if out.Places.Kind == "" {
		out.Places.Kind = PrivateSubnets
	}
	objects.Enum(v, at.Child("availabilityZoneSubnetType"), out.Places.Kind, PublicSubnets, PrivateSubnets, AllSubnets)
	if least, most := ptr.Deref(s.MinSize, 1), ptr.Deref(s.MaxSize, 1); least < 0 {
		v.Invalid(at.Child("minSize"), least, "must be 0 or more")
	} else if s.MaxSize != nil && most < max(least, 1) {
		v.Invalid(at.Child("maxSize"), most, "must be 1 or more, and minSize or more")
	}
	if p := s.RefreshPreferences; p != nil {
		below := at.Child("refreshPreferences")
		if p.Strategy != "" {
			objects.Enum(v, below.Child("strategy"), p.Strategy, "Rolling")
		}
		out.MaxUnavailable = v.share(below.Child("minHealthyPercentage"), p.MinHealthyPercentage, 0, 100, -1)
		out.MaxSurge = v.share(below.Child("maxHealthyPercentage"), p.MaxHealthyPercentage, 100, 200, 1)
		if none := intstr.FromString("0%"); out.MaxSurge != nil && *out.MaxSurge == none && (out.MaxUnavailable == nil || *out.MaxUnavailable == none) {
			v.Invalid(below, "100 and 100", "minHealthyPercentage must be below 100, or maxHealthyPercentage above: no machine could ever be replaced")
		}
	}
	return out, v.Errors()
}

// share returns how far a percentage is from 100, upwards or downwards, as a share of machines.
func (v *validator) share(at *field.Path, p *int64, least, most, up int64) *intstr.IntOrString {
	if p == nil {
		return nil
	}
	if *p < least || *p > most {
		v.Invalid(at, *p, fmt.Sprintf("must be a percentage from %d to %d", least, most))
	}
	out := intstr.FromString(strconv.FormatInt(up*(*p-100), 10) + "%")
	return &out
}

// oldMachinePool is the kinds.Normaliser of v1beta1.
func oldMachinePool(o metav1.Object, at *field.Path, old *v1beta1MachinePoolSpec) (any, field.ErrorList) {
	v := new(validator)
	spec := renewed[AWSMachinePoolSpec](v, at, old)
	if len(v.Errs) > 0 {
		return nil, v.Errors()
	}
	return machinePool(o, at, spec)
}

// rollout implements fleet.Kind.
func rollout(spec any) (u clusterv1.MachineDeploymentRolloutStrategyRollingUpdate, order clusterv1.MachineSetDeletionOrder) {
	if p, ok := spec.(*MachinePool); ok {
		u.MaxSurge, u.MaxUnavailable = p.MaxSurge, p.MaxUnavailable
	}
	return u, order
}

// hashedPool implements fleet.Kind: what a machine is made from alone counts.
func hashedPool(spec any) any {
	if p, ok := spec.(*MachinePool); ok {
		return p.Machine
	}
	return spec
}

// ReadPlaces returns where machines of a pool may be; nil: o is no AWSMachinePool.
func ReadPlaces(o fleet.Object) (*Places, error) {
	if o.GVK.Kind != poolKind {
		return nil, nil //nolint:nilnil // nothing is said, and nothing is wrong
	}
	p, err := objects.Read[MachinePool](o, poolKind)
	if err != nil {
		return nil, err
	}
	return &p.Places, nil
}

// refusedOfMachinePool are the refused fields of an AWSMachinePool.
func refusedOfMachinePool() map[string]string {
	const noGroup = "Fairlead creates the machines of the pool itself, and no auto scaling group is made: leave it out"
	return map[string]string{
		"spec.awsLaunchTemplate.enclaveOptions": "instances get no enclaves: leave it out",
		"spec.capacityRebalance":                noGroup + "; an interrupted spot instance is replaced",
		"spec.lifecycleHooks":                   noGroup + "; Fairlead drains a machine before it deletes it",
		"spec.mixedInstancesPolicy":             "machines of a pool are of one type and market: use a MachinePool for each",
		"spec.refreshPreferences.disable":       "machines are replaced if what they are made from changes: suspend the cluster, or leave it out",
		"spec.suspendProcesses":                 noGroup,
	}
}

// limitedOfMachinePool are those that are honoured in part.
func limitedOfMachinePool() map[string]string {
	of := limitedOfMachine("")
	const share = "of machines at least and at most while they are replaced; without both, one more than wanted"
	return map[string]string{
		"spec.availabilityZoneSubnetType":                "public machines have a public address; without subnets in Git",
		"spec.awsLaunchTemplate.ami.eksLookupType":       of["ami.eksLookupType"],
		"spec.refreshPreferences.maxHealthyPercentage":   share,
		"spec.refreshPreferences.minHealthyPercentage":   share,
		"spec.refreshPreferences.strategy":               "Rolling",
		"spec.awsLaunchTemplate.instanceMetadataOptions": "by default with tokens alone, as for AWSMachines",
	}
}

// unusedOfMachinePool are those that may be there and do nothing.
func unusedOfMachinePool() map[string]string {
	const noGroup = "no auto scaling group is made"
	of := unusedOfMachine("")
	return map[string]string{
		"spec.awsLaunchTemplate.name":                  "no launch template is made",
		"spec.awsLaunchTemplate.rootVolume.deviceName": of["rootVolume.deviceName"],
		"spec.awsLaunchTemplate.versionNumber":         writtenBack,
		"spec.defaultCoolDown":                         noGroup,
		"spec.defaultInstanceWarmup":                   noGroup,
		"spec.ignition.version":                        of["ignition.version"],
		"spec.maxSize":                                 noGroup + ": replicas of the MachinePool say how many machines there are, or annotations of it for an autoscaler",
		"spec.minSize":                                 noGroup + ": replicas of the MachinePool say how many machines there are, or annotations of it for an autoscaler",
		"spec.providerID":                              writtenBack,
		"spec.providerIDList":                          writtenBack,
		"spec.refreshPreferences.instanceWarmup":       "a new machine counts once its Node is ready",
	}
}

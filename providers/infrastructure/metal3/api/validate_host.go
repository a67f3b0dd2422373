package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The annotations of a BareMetalHost.
// Source: baremetal-operator, apis/metal3.io/v1alpha1/baremetalhost_types.go.
const (
	PausedAnnotation   = "baremetalhost.metal3.io/paused"
	DetachedAnnotation = "baremetalhost.metal3.io/detached"
	RebootAnnotation   = "reboot.metal3.io" // or with / and a name
	InspectAnnotation  = "inspect.metal3.io"
	HardwareAnnotation = "inspect.metal3.io/hardwaredetails"
	statusAnnotation   = "baremetalhost.metal3.io/status"
)

// EraseAnnotation of a BareMetalHost says that whatever may run on a host that is switched on may be lost.
// Its value is a time as RFC 3339 has it: the request is about the enrolment that was the last one before it,
// and is spent where the host is enrolled again. Any other value says nothing.
const EraseAnnotation = "fairlead.dev/erase"

// EraseWish returns the time of EraseAnnotation.
func EraseWish(annotations map[string]string) (time.Time, error) {
	return time.Parse(time.RFC3339, annotations[EraseAnnotation])
}

// MovedAnnotation of a BareMetalHost names the address at which the BMC of the same computer was before
// it got that of spec.bmc.address.
const MovedAnnotation = "fairlead.dev/bmc-moved-from"

// MovedFrom returns the computer that MovedAnnotation names, as Computer does; empty: none.
func MovedFrom(annotations map[string]string) string {
	value := annotations[MovedAnnotation]
	if b, err := ParseBMC(value, true); err == nil && strings.Contains(value, "://") {
		return b.Computer()
	}
	return strings.ToLower(strings.TrimRight(value, "/"))
}

// ReservedAnnotation of a BareMetalHost says whose machines alone may have it: "cluster" or
// "cluster/pool", by their names in the namespace of the host.
const ReservedAnnotation = "fairlead.dev/reserved-for"

// InspectAfterAnnotation of a BareMetalHost has it inspected again, as soon as no machine has it, where
// its last inspection is older than the value: a time as RFC 3339 has it.
const InspectAfterAnnotation = "fairlead.dev/inspect-after"

// InspectAfter returns what InspectAfterAnnotation says; zero: nothing.
func InspectAfter(annotations map[string]string) (time.Time, error) {
	value, has := annotations[InspectAfterAnnotation]
	if !has {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, value)
}

// HardwarePrefix is what labels begin with that say what inspection found. Selectors go by them as by
// those of the manifest, which may not have any.
const HardwarePrefix = "hardware.fairlead.dev/"

// The labels of what inspection found.
const (
	ArchitectureLabel = HardwarePrefix + "architecture"
	CPUsLabel         = HardwarePrefix + "cpus"
	MemoryLabel       = HardwarePrefix + "memory-mib"
	DiskLabel         = HardwarePrefix + "disk-gib"
	ManufacturerLabel = HardwarePrefix + "manufacturer"
)

var (
	uuidForm = regexp.MustCompile(`(?i)^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)
	archForm = regexp.MustCompile(`^[a-z0-9_]+$`)
)

// host checks a host and fills in its defaults. Its rules are those of baremetal-operator's
// webhook, and that a host is known well enough to be managed.
// Source: baremetal-operator, internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go.
func (v *validator) host(o metav1.Object, at *field.Path, s *BareMetalHostSpec) {
	if uuidForm.MatchString(o.GetName()) {
		v.Invalid(field.NewPath("metadata", "name"), o.GetName(), "must be no UUID: Ironic takes it for the id of a node")
	}
	s.BootMode = cmp.Or(s.BootMode, UEFI)
	enum(v, at.Child("bootMode"), s.BootMode, UEFI, UEFISecureBoot, Legacy)
	s.AutomatedCleaningMode = cmp.Or(s.AutomatedCleaningMode, CleaningMetadata)
	enum(v, at.Child("automatedCleaningMode"), s.AutomatedCleaningMode, CleaningMetadata, CleaningDisabled)
	v.inspection(at, o.GetAnnotations(), s)
	s.InspectionMode = cmp.Or(s.InspectionMode, InspectAgent)
	v.bmc(at, s)
	if s.BootMACAddress != "" {
		s.BootMACAddress = strings.ToLower(s.BootMACAddress)
		if strings.Count(s.BootMACAddress, ":") != 5 {
			v.Invalid(at.Child("bootMACAddress"), s.BootMACAddress, `must be a MAC address such as "52:54:00:00:00:01"`)
		} else {
			v.MAC(at.Child("bootMACAddress"), &s.BootMACAddress)
		}
	}
	if s.Architecture != "" && !archForm.MatchString(s.Architecture) {
		v.Invalid(at.Child("architecture"), s.Architecture, `must be one such as "x86_64" or "aarch64"`)
	}
	v.Forbidden(at.Child("disablePowerOff"), s.DisablePowerOff && !s.Online, "online is false, and the host could not be switched off: leave out one of them")
	v.hints(at.Child("rootDeviceHints"), s.RootDeviceHints)
	v.raid(at, s)
	v.annotations(o.GetAnnotations(), s)
	for _, name := range slices.Sorted(maps.Keys(o.GetLabels())) {
		v.Forbidden(field.NewPath("metadata", "labels").Key(name), strings.HasPrefix(name, HardwarePrefix), "it says what inspection found: leave it out, or give it another name")
	}
}

// bmc checks how the host is managed, and what follows from it.
func (v *validator) bmc(at *field.Path, s *BareMetalHostSpec) {
	to := at.Child("bmc")
	v.Object(to.Child("credentialsName"), s.BMC.CredentialsName, "the name of a Secret with the keys "+UsernameKey+" and "+PasswordKey)
	if !v.Required(to.Child("address"), s.BMC.Address, "how the host is managed, such as redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/1; "+
		"a host of which it is not known yet stays out of Git") {
		return
	}
	b, err := ParseBMC(s.BMC.Address, !s.BMC.DisableCertificateVerification)
	if err != nil {
		shown := s.BMC.Address
		if strings.Contains(shown, "@") {
			shown = "…" // perhaps a password
		}
		v.Invalid(to.Child("address"), shown, err.Error())
		return
	}
	if s.BootMACAddress == "" && (b.NeedsMAC || s.InspectionMode == InspectDisabled) {
		v.Add(field.Required(at.Child("bootMACAddress"), "it is needed, because by "+b.Type+" hosts do not report it, and with inspectionMode: disabled they are not inspected"))
	}
	v.Forbidden(at.Child("bootMode"), s.BootMode == UEFISecureBoot && b.Driver == "ipmi", "secure boot cannot be switched on by IPMI: use a BMC that speaks Redfish, or bootMode: UEFI")
	v.Forbidden(at.Child("inspectionMode"), s.InspectionMode == InspectFast && b.Driver == "ipmi", "IPMI says nothing of what a host is made of: use agent")
	v.Forbidden(at.Child("raid", "hardwareRAIDVolumes"), s.RAID != nil && s.RAID.HardwareRAIDVolumes != nil && b.Driver == "ipmi", "volumes of controllers are nothing that IPMI knows of: use softwareRAIDVolumes, or leave the list out")
}

// inspection checks the annotation and the field that say whether the host is inspected, and
// makes the field say it.
func (v *validator) inspection(at *field.Path, annotations map[string]string, s *BareMetalHostSpec) {
	enum(v, at.Child("inspectionMode"), s.InspectionMode, InspectAgent, InspectFast, InspectDisabled)
	value, has := annotations[InspectAnnotation]
	if !has {
		return
	}
	key := field.NewPath("metadata", "annotations").Key(InspectAnnotation)
	switch mode := s.InspectionMode; {
	case value == "":
		v.Forbidden(key, true, "it would stay in Git after the inspection: write "+InspectAfterAnnotation+" with a time instead, after which the host is inspected again")
	case value != "" && value != string(InspectDisabled):
		v.Add(field.NotSupported(key, value, []InspectionMode{InspectDisabled}))
	case value != "" && mode != "" && mode != InspectDisabled:
		v.Invalid(key, value, "says the contrary of spec.inspectionMode: take the annotation away")
	case value != "":
		s.InspectionMode = InspectDisabled
	}
}

// annotations checks the annotations of a host that request actions.
func (v *validator) annotations(annotations map[string]string, s *BareMetalHostSpec) {
	at := field.NewPath("metadata", "annotations")
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		value, at := annotations[name], at.Key(name)
		switch {
		case name == statusAnnotation:
			v.Forbidden(at, true, "it is written by a controller, for moves between management clusters: take it away")
		case name == RebootAnnotation || strings.HasPrefix(name, RebootAnnotation+"/"):
			var how struct {
				Mode  string `json:"mode"`
				Force bool   `json:"force"`
			}
			if err := json.Unmarshal([]byte(cmp.Or(value, "{}")), &how); err != nil || !slices.Contains([]string{"", "hard", "soft"}, how.Mode) {
				v.Invalid(at, value, `must be empty, or like {"mode": "hard"}`)
			}
			v.Forbidden(at, name == RebootAnnotation, "it would stay in Git after the reboot: write "+RebootAnnotation+"/ and a name, which keeps the host off until you take that away, or drain the Node and use fairlead's requests")
			v.Forbidden(at, how.Mode == "soft", "a host is switched off at once: shut its system down before, and write hard")
		case name == ReservedAnnotation:
			cluster, pool, both := strings.Cut(value, "/")
			if cluster == "" || both && pool == "" || strings.Contains(pool, "/") {
				v.Invalid(at, value, `must be the name of a cluster, or "cluster/pool"`)
			}
		case name == InspectAfterAnnotation:
			if _, err := InspectAfter(annotations); err != nil {
				v.Invalid(at, value, `must be a time such as "2026-11-26T12:00:00Z"`)
			}
			v.Forbidden(at, s.InspectionMode == InspectDisabled, "the host is not inspected: choose another inspectionMode, or take the annotation away")
		case name == EraseAnnotation && value != "true": // which earlier releases took for each enrolment
			if _, err := EraseWish(annotations); err != nil {
				v.Invalid(at, value, `must be a time such as "2026-11-26T12:00:00Z": what was enrolled before it may be erased`)
			}
		case name == DetachedAnnotation:
			var how struct {
				DeleteAction string `json:"deleteAction"`
				Force        bool   `json:"force"`
			}
			if err := json.Unmarshal([]byte(cmp.Or(value, "{}")), &how); strings.HasPrefix(value, "{") && (err != nil || !slices.Contains([]string{"", "delay", "delete"}, how.DeleteAction)) {
				v.Invalid(at, value, `must be empty, or like {"deleteAction": "delay"} or {"deleteAction": "delete"}`)
			}
		case name == HardwareAnnotation && value != "":
			if _, err := Interfaces(annotations); err != nil {
				v.Invalid(at, value, err.Error())
			}
			v.Forbidden(at, s.InspectionMode != InspectDisabled, "inspection finds it out: set inspectionMode: disabled, or take the annotation away")
		}
	}
}

package api

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// raid checks how disks are put together.
// Source: baremetal-operator, the webhook of BareMetalHost and pkg/provisioner/ironic/raid.go.
func (v *validator) raid(at *field.Path, s *BareMetalHostSpec) {
	r := s.RAID
	if r == nil {
		return
	}
	at = at.Child("raid")
	v.Forbidden(at.Child("softwareRAIDVolumes"), len(r.HardwareRAIDVolumes) > 0 && len(r.SoftwareRAIDVolumes) > 0, "a host has volumes of hardware or of software: leave out one of the lists")
	for i, d := range r.HardwareRAIDVolumes {
		at := at.Child("hardwareRAIDVolumes").Index(i)
		objects.Enum(v, at.Child("level"), d.Level, "0", "1", "2", "5", "6", "1+0", "5+0", "6+0")
		v.size(at, d.SizeGibibytes)
		v.Text(at.Child("name"), d.Name, 64)
		v.Forbidden(at.Child("physicalDisks"), len(d.PhysicalDisks) > 0 && d.Controller == "", "disks are named by their controller: give it too")
		if n := d.NumberOfPhysicalDisks; n != nil && (*n < 1 || len(d.PhysicalDisks) > 0 && *n != len(d.PhysicalDisks)) {
			v.Invalid(at.Child("numberOfPhysicalDisks"), *n, "must be at least 1, and as many as physicalDisks where they are named")
		}
	}
	objects.Unique(v, at.Child("hardwareRAIDVolumes"), r.HardwareRAIDVolumes, "name", func(d HardwareRAIDVolume) string { return d.Name })
	v.softwareRAID(at.Child("softwareRAIDVolumes"), s)
}

// softwareRAID checks volumes that the ramdisk makes.
func (v *validator) softwareRAID(at *field.Path, s *BareMetalHostSpec) {
	list := s.RAID.SoftwareRAIDVolumes
	if len(list) > 2 {
		v.Add(field.TooMany(at, len(list), 2))
	}
	roots := 0
	for i, d := range list {
		at := at.Index(i)
		objects.Enum(v, at.Child("level"), d.Level, "0", "1", "1+0")
		v.size(at, d.SizeGibibytes)
		if d.RootVolume {
			roots++
		}
		if (i == 0 || d.RootVolume) && d.Level != "1" {
			v.Invalid(at.Child("level"), d.Level, "must be 1: the first volume, and that which is booted from, have to bear the loss of a disk")
		}
		if n := len(d.PhysicalDisks); n == 1 {
			v.Invalid(at.Child("physicalDisks"), n, "must be two disks or more, or none to let Ironic choose")
		}
		for j := range d.PhysicalDisks {
			v.hints(at.Child("physicalDisks").Index(j), &d.PhysicalDisks[j])
		}
	}
	v.Forbidden(at, roots > 1, "only one of the volumes can have rootVolume: true")
	v.Forbidden(at, roots == 1 && s.RootDeviceHints != nil, "rootVolume says what is booted from, and rootDeviceHints too: leave out one of them")
}

// size checks the size of a volume; nil is all there is.
func (v *validator) size(at *field.Path, n *int) {
	if n != nil && *n < 0 {
		v.Invalid(at.Child("sizeGibibytes"), *n, "must not be negative; 0 is all there is")
	}
}

// settings checks settings of firmware. Which there are is known of the host alone.
func (v *validator) settings(o metav1.Object, at *field.Path, s *HostFirmwareSettingsSpec) {
	s.host = o.GetName()
	for name := range s.Settings {
		v.Required(at.Child("settings").Key(name), name, "the name of a setting")
	}
}

// components checks versions of firmware.
// Source: baremetal-operator, hostfirmwarecomponents_types.go and its webhook.
func (v *validator) components(o metav1.Object, at *field.Path, s *HostFirmwareComponentsSpec) {
	s.host = o.GetName()
	at = at.Child("updates")
	for i, u := range s.Updates {
		at := at.Index(i)
		if nic := len(u.Component) > 4 && u.Component[:4] == "nic:"; u.Component != "bios" && u.Component != "bmc" && !nic {
			v.Invalid(at.Child("component"), u.Component, `must be "bios", "bmc", or "nic:" with the name of a network card`)
		}
		v.urlOf(at.Child("url"), u.URL, "http", "https")
	}
	objects.Unique(v, at, s.Updates, "component", func(u FirmwareUpdate) string { return u.Component })
}

// The bounds of a remediation.
// Source: CAPM3, api/v1beta2/metal3remediation_types.go.
const (
	defaultRetries, defaultTimeout, minTimeout = 1, 600, 100
)

// remediation checks the remediation of an unhealthy host, and fills in its defaults.
func (v *validator) remediation(at *field.Path, s *Metal3RemediationSpec) {
	if s.Strategy == nil {
		s.Strategy = &RemediationStrategy{}
	}
	r, at := s.Strategy, at.Child("strategy")
	if r.Type == "" {
		r.Type = RebootRemediation
	}
	objects.Enum(v, at.Child("type"), r.Type, RebootRemediation)
	if r.RetryLimit == 0 {
		r.RetryLimit = defaultRetries
	}
	if r.TimeoutSeconds == 0 {
		r.TimeoutSeconds = defaultTimeout
	}
	if r.RetryLimit < 1 {
		v.Invalid(at.Child("retryLimit"), r.RetryLimit, "must be at least 1")
	}
	if r.TimeoutSeconds < minTimeout {
		v.Invalid(at.Child("timeoutSeconds"), r.TimeoutSeconds, fmt.Sprintf("must be at least %d", minTimeout))
	}
}

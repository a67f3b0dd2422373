package api

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/providers/kinds"
	"fairlead.dev/test/run/kindstest"
)

const bmc = "bmc: {address: 'redfish://10.0.0.5/redfish/v1/Systems/1', credentialsName: b}\nonline: true\n"

func TestHostChecks(t *testing.T) {
	const ipmi = "bmc: {address: 'ipmi://10.0.0.5', credentialsName: b}\nonline: true\n"
	for name, tc := range map[string]struct{ spec, want, reason string }{
		"Host":            {bmc, "", "no more is needed"},
		"NoAddress":       {"bmc: {credentialsName: b}", "bmc.address: Required value", "nobody could manage it"},
		"NoCredentials":   {"bmc: {address: 'redfish://10.0.0.5'}", "bmc.credentialsName: Required value", "nobody could manage it"},
		"Address":         {"bmc: {address: 'http://10.0.0.5', credentialsName: b}", "bmc.address: Invalid value", "it is no driver"},
		"Password":        {"bmc: {address: 'redfish://a:secret@10.0.0.5', credentialsName: b}", `bmc.address: Invalid value: "…"`, "messages are shown"},
		"BootMode":        {bmc + "bootMode: uefi", "bootMode: Unsupported value", "as upstream says"},
		"SecureBoot":      {bmc + "bootMode: UEFISecureBoot", "", "Redfish can"},
		"SecureIPMI":      {ipmi + "bootMode: UEFISecureBoot", "bootMode: Forbidden", "as upstream says"},
		"MAC":             {bmc + "bootMACAddress: 52:54:00:00:00", "bootMACAddress: Invalid value", "as upstream says"},
		"MACDashes":       {bmc + "bootMACAddress: 52-54-00-00-00-01", "bootMACAddress: Invalid value", "as upstream says"},
		"MACLetters":      {bmc + "bootMACAddress: 52:54:00:00:00:zz", "bootMACAddress: Invalid value", "as upstream says"},
		"RAIDLongName":    {bmc + "raid: {hardwareRAIDVolumes: [{level: '1', name: " + strings.Repeat("a", 65) + "}]}", "hardwareRAIDVolumes[0].name: Too long", "as upstream says"},
		"SoftRAIDLevel":   {bmc + "raid: {softwareRAIDVolumes: [{level: '1'}, {level: '5'}]}", "softwareRAIDVolumes[1].level: Unsupported value", "as upstream says"},
		"SoftRAIDSize":    {bmc + "raid: {softwareRAIDVolumes: [{level: '1', sizeGibibytes: -1}]}", "softwareRAIDVolumes[0].sizeGibibytes: Invalid value", "as upstream says"},
		"NoMAC":           {bmc + "inspectionMode: disabled", "bootMACAddress: Required value", "as upstream says"},
		"NoMACLibvirt":    {"bmc: {address: 'libvirt://10.0.0.5:6230', credentialsName: b}\nonline: true", "bootMACAddress: Required value", "as upstream says"},
		"MACGiven":        {bmc + "inspectionMode: disabled\nbootMACAddress: 52:54:00:00:00:01", "", "it is known"},
		"Inspection":      {bmc + "inspectionMode: slow", "inspectionMode: Unsupported value", "as upstream says"},
		"FastIPMI":        {ipmi + "inspectionMode: fast", "inspectionMode: Forbidden", "as upstream says"},
		"Cleaning":        {bmc + "automatedCleaningMode: full", "automatedCleaningMode: Unsupported value", "as upstream says"},
		"Architecture":    {bmc + "architecture: x86-64", "architecture: Invalid value", "Ironic has no such"},
		"PowerOff":        {strings.Replace(bmc, "true", "false", 1) + "disablePowerOff: true", "disablePowerOff: Forbidden", "as upstream says"},
		"Hints":           {bmc + "rootDeviceHints: {deviceName: /dev/sda, hctl: '0:0:0:0', minSizeGigabytes: 10, rotational: false}", "", "as upstream has them"},
		"HintsByPath":     {bmc + "rootDeviceHints: {deviceName: '/dev/disk/by-path/pci-0000:01:00.0'}", "", "as upstream has it"},
		"HintsByID":       {bmc + "rootDeviceHints: {deviceName: /dev/disk/by-id/x}", "rootDeviceHints.deviceName: Invalid value", "as upstream says"},
		"HintsNoDev":      {bmc + "rootDeviceHints: {deviceName: sda}", "rootDeviceHints.deviceName: Invalid value", "as upstream says"},
		"HintsHCTL":       {bmc + "rootDeviceHints: {hctl: '0:0'}", "rootDeviceHints.hctl: Invalid value", "no disk would be found"},
		"HintsSize":       {bmc + "rootDeviceHints: {minSizeGigabytes: -1}", "minSizeGigabytes: Invalid value", "as upstream says"},
		"HintsBlank":      {bmc + "rootDeviceHints: {serialNumber: ' a'}", "rootDeviceHints.serialNumber: Invalid value", "no disk would be found"},
		"RAID":            {bmc + "raid: {hardwareRAIDVolumes: [{level: '1', name: a, controller: c, physicalDisks: [a, b], numberOfPhysicalDisks: 2}]}", "", "as upstream has it"},
		"RAIDBoth":        {bmc + "raid: {hardwareRAIDVolumes: [{level: '1'}], softwareRAIDVolumes: [{level: '1'}]}", "softwareRAIDVolumes: Forbidden", "as upstream says"},
		"RAIDLevel":       {bmc + "raid: {hardwareRAIDVolumes: [{level: '10'}]}", "hardwareRAIDVolumes[0].level: Unsupported value", "it is 1+0"},
		"RAIDController":  {bmc + "raid: {hardwareRAIDVolumes: [{level: '1', physicalDisks: [a, b]}]}", "physicalDisks: Forbidden", "as upstream says"},
		"RAIDNumber":      {bmc + "raid: {hardwareRAIDVolumes: [{level: '1', controller: c, physicalDisks: [a, b], numberOfPhysicalDisks: 3}]}", "numberOfPhysicalDisks: Invalid value", "as upstream says"},
		"RAIDNames":       {bmc + "raid: {hardwareRAIDVolumes: [{level: '1', name: a}, {level: '0', name: a}]}", "hardwareRAIDVolumes[1].name: Duplicate value", "as upstream says"},
		"RAIDSize":        {bmc + "raid: {hardwareRAIDVolumes: [{level: '1', sizeGibibytes: -1}]}", "sizeGibibytes: Invalid value", "as upstream says"},
		"RAIDIPMI":        {ipmi + "raid: {hardwareRAIDVolumes: [{level: '1'}]}", "hardwareRAIDVolumes: Forbidden", "as upstream says"},
		"RAIDIPMINone":    {ipmi + "raid: {hardwareRAIDVolumes: []}", "hardwareRAIDVolumes: Forbidden", "nobody could remove them"},
		"SoftRAID":        {bmc + "raid: {softwareRAIDVolumes: [{level: '1', rootVolume: true, physicalDisks: [{serialNumber: a}, {serialNumber: b}]}, {level: '0'}]}", "", "as upstream has it"},
		"SoftRAIDFirst":   {bmc + "raid: {softwareRAIDVolumes: [{level: '0'}]}", "softwareRAIDVolumes[0].level: Invalid value", "as upstream says"},
		"SoftRAIDRoot":    {bmc + "raid: {softwareRAIDVolumes: [{level: '1'}, {level: '0', rootVolume: true}]}", "softwareRAIDVolumes[1].level: Invalid value", "as upstream says"},
		"SoftRAIDRoots":   {bmc + "raid: {softwareRAIDVolumes: [{level: '1', rootVolume: true}, {level: '1', rootVolume: true}]}", "only one of the volumes", "as upstream says"},
		"SoftRAIDHints":   {bmc + "rootDeviceHints: {hctl: '0:0:0:0'}\nraid: {softwareRAIDVolumes: [{level: '1', rootVolume: true}]}", "rootDeviceHints too", "as upstream says"},
		"SoftRAIDThree":   {bmc + "raid: {softwareRAIDVolumes: [{level: '1'}, {level: '1'}, {level: '1'}]}", "softwareRAIDVolumes: Too many", "as upstream says"},
		"SoftRAIDOneDisk": {bmc + "raid: {softwareRAIDVolumes: [{level: '1', physicalDisks: [{serialNumber: a}]}]}", "physicalDisks: Invalid value", "as upstream says"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := normalised(t, "BareMetalHost", "v1alpha1", tc.spec, nil)
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
	out, _ := normalised(t, "BareMetalHost", "v1alpha1", bmc+"bootMACAddress: 52:54:00:00:00:AB", nil)
	const want = `automatedCleaningMode: metadata
bmc:
  address: redfish://10.0.0.5/redfish/v1/Systems/1
  credentialsName: b
bootMACAddress: 52:54:00:00:00:ab
bootMode: UEFI
inspectionMode: agent
online: true
`
	if got := kindstest.YAML(t, out); got != want {
		t.Errorf("defaults: got\n%s, want\n%s", got, want)
	}
	if got := secrets(out, "ns"); len(got) != 1 || got[0].String() != "ns/b" {
		t.Errorf("secrets: %v", got)
	}
}

func TestAnnotationsOfHosts(t *testing.T) {
	host := kindstest.Kind(t, Kinds(), HostKind)
	for name, tc := range map[string]struct {
		annotation, value string
		mode              InspectionMode
		want, reason      string
	}{
		"Paused":         {PausedAnnotation, "", "", "", "anybody may pause it"},
		"Reboot":         {RebootAnnotation, "", "", "it would stay in Git after the reboot", "Git is not written"},
		"RebootNamed":    {RebootAnnotation + "/me", "", "", "", "it is off until that goes"},
		"RebootHard":     {RebootAnnotation + "/me", `{"mode": "hard"}`, "", "", "as upstream has it"},
		"RebootSoft":     {RebootAnnotation + "/me", `{"mode": "soft"}`, "", "a host is switched off at once", "it may hang"},
		"RebootMode":     {RebootAnnotation, `{"mode": "cold"}`, "", "must be empty, or like", "as upstream says"},
		"RebootText":     {RebootAnnotation, "hard", "", "must be empty, or like", "as upstream says"},
		"Detached":       {DetachedAnnotation, "true", "", "", "any value will do"},
		"DetachedDelete": {DetachedAnnotation, `{"deleteAction": "keep"}`, "", "must be empty, or like", "upstream takes it for delay"},
		"Inspect":        {InspectAnnotation, "disabled", "", "bootMACAddress: Required value", "it is the same as the field"},
		"InspectAgain":   {InspectAnnotation, "", "", "it would stay in Git after the inspection", "Git is not written"},
		"InspectOther":   {InspectAnnotation, "fast", "", "Unsupported value", "as upstream says"},
		"InspectBoth":    {InspectAnnotation, "disabled", InspectAgent, "says the contrary", "as upstream says"},
		"Hardware":       {HardwareAnnotation, "{}", "", "inspection finds it out", "as upstream says"},
		"HardwareText":   {HardwareAnnotation, "{", InspectDisabled, "must be JSON", "as upstream says"},
		"HardwareNICs":   {HardwareAnnotation, `{"nics": 1}`, InspectDisabled, "as status.hardware of a BareMetalHost has it", "nobody could read it"},
		"Reserved":       {ReservedAnnotation, "eu-1/eu-1-gpu", "", "", "a pool"},
		"ReservedAll":    {ReservedAnnotation, "eu-1", "", "", "a cluster"},
		"ReservedNobody": {ReservedAnnotation, "", "", `must be the name of a cluster, or "cluster/pool"`, "nobody would get it"},
		"InspectAfter":   {InspectAfterAnnotation, "2026-11-26T12:00:00Z", "", "", "a time"},
		"InspectSoon":    {InspectAfterAnnotation, "tomorrow", "", "must be a time such as", "no time"},
		"InspectOff":     {InspectAfterAnnotation, "2026-11-26T12:00:00Z", InspectDisabled, "the host is not inspected", "it would never be"},
		"ReservedPools":  {ReservedAnnotation, "eu-1/a/b", "", `must be the name of a cluster, or "cluster/pool"`, "it names no pool"},
		"Status":         {"baremetalhost.metal3.io/status", "{}", "", "written by a controller", "no controller is here"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &kinds.Object[BareMetalHostSpec]{
				ObjectMeta: metav1.ObjectMeta{Name: "h", Annotations: map[string]string{tc.annotation: tc.value}},
				Spec:       BareMetalHostSpec{BMC: BMCDetails{Address: "redfish://10.0.0.5", CredentialsName: "b"}, InspectionMode: tc.mode},
			}
			_, errs := host.Normalise(o)
			kindstest.Check(t, kindstest.Text(errs), tc.want, tc.reason)
		})
	}
	_, errs := host.Normalise(&kinds.Object[BareMetalHostSpec]{
		ObjectMeta: metav1.ObjectMeta{Name: "h", Labels: map[string]string{CPUsLabel: "8"}}, Spec: BareMetalHostSpec{BMC: BMCDetails{Address: "redfish://10.0.0.5", CredentialsName: "b"}},
	})
	kindstest.Check(t, kindstest.Text(errs), "it says what inspection found", "inspection would say otherwise")
	_, errs = host.Normalise(&kinds.Object[BareMetalHostSpec]{
		ObjectMeta: metav1.ObjectMeta{Name: "7f1ed0a2-7b34-4d2c-9d5f-0d6f6f3b1c11"},
		Spec:       BareMetalHostSpec{BMC: BMCDetails{Address: "redfish://10.0.0.5", CredentialsName: "b"}},
	})
	kindstest.Check(t, kindstest.Text(errs), "metadata.name: Invalid value", "Ironic takes it for the id of a node")
}

func TestFirmwareAndRemediationChecks(t *testing.T) {
	for name, tc := range map[string]struct{ kind, version, spec, want, reason string }{
		"Settings":    {"HostFirmwareSettings", "v1alpha1", "settings: {ProcVirtualization: Enabled, NumLock: 1}", "", "as upstream has them"},
		"NoSetting":   {"HostFirmwareSettings", "v1alpha1", "settings: {'': Enabled}", "Required value", "it names nothing"},
		"Updates":     {"HostFirmwareComponents", "v1alpha1", "updates: [{component: bios, url: 'http://a/b'}, {component: 'nic:1', url: 'https://a/b'}]", "", "as upstream has them"},
		"Component":   {"HostFirmwareComponents", "v1alpha1", "updates: [{component: gpu, url: 'http://a/b'}]", "updates[0].component: Invalid value", "as upstream says"},
		"ComponentNo": {"HostFirmwareComponents", "v1alpha1", "updates: [{component: 'nic:', url: 'http://a/b'}]", "updates[0].component: Invalid value", "it names none"},
		"URL":         {"HostFirmwareComponents", "v1alpha1", "updates: [{component: bios, url: 'gopher://a/b'}]", "updates[0].url: Invalid value", "BMCs do not fetch that"},
		"Twice":       {"HostFirmwareComponents", "v1alpha1", "updates: [{component: bios, url: 'http://a/b'}, {component: bios, url: 'http://a/c'}]", "updates[1].component: Duplicate value", "one would win"},
		"Reboot":      {"Metal3RemediationTemplate", "v1beta2", "strategy: {type: Reboot, retryLimit: 2, timeoutSeconds: 300}", "", "as upstream has it"},
		"Type":        {"Metal3RemediationTemplate", "v1beta2", "strategy: {type: Replace}", "strategy.type: Unsupported value", "as upstream says"},
		"Timeout":     {"Metal3RemediationTemplate", "v1beta2", "strategy: {timeoutSeconds: 10}", "strategy.timeoutSeconds: Invalid value", "as upstream says"},
		"Retries":     {"Metal3RemediationTemplate", "v1beta2", "strategy: {retryLimit: -1}", "strategy.retryLimit: Invalid value", "as upstream says"},
		"OldTimeout":  {"Metal3RemediationTemplate", "v1beta1", "strategy: {timeout: 5m}", "", "a duration in v1beta1"},
		"OldFraction": {"Metal3RemediationTemplate", "v1beta1", "strategy: {timeout: 300.5s}", "strategy.timeout: Invalid value", "v1beta2 has seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := normalised(t, tc.kind, tc.version, tc.spec, map[string]map[string]any{HostKind: {"x": &BareMetalHostSpec{}}})
			kindstest.Check(t, got, tc.want, tc.reason)
		})
	}
	for kind, spec := range map[string]string{settingsKind: "settings: {a: b}", componentsKind: "updates: [{component: bios, url: 'http://a/b'}]"} {
		_, got := normalised(t, kind, "v1alpha1", spec, map[string]map[string]any{HostKind: {"y": &BareMetalHostSpec{}}})
		kindstest.Check(t, got, "must be the name of a BareMetalHost that Git has", "it would do nothing")
	}
	out, _ := normalised(t, "Metal3RemediationTemplate", "v1beta1", "strategy: {timeout: 5m}", nil)
	if got := kindstest.YAML(t, out); got != "strategy:\n  retryLimit: 1\n  timeoutSeconds: 300\n  type: Reboot\n" {
		t.Errorf("v1beta1 as v1beta2: got\n%s", got)
	}
}

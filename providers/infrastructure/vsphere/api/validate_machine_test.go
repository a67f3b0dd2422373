package api

import (
	"strings"
	"testing"

	"fairlead.dev/test/run/kindstest"
)

// network is what a machine needs besides its template.
const network = "network: {devices: [{networkName: lan, dhcp4: true}]}\n"

func TestMachineChecks(t *testing.T) {
	const machine = "template: t\n" + network
	const id = "urn:vmomi:InventoryServiceTag:3ec89a7e-7e1c-4d8d-9c6f-0f8f6d6c1b2a:GLOBAL"
	for name, tc := range map[string]struct{ spec, want, reason string }{
		"Least":        {machine, "", "template and network are enough"},
		"NoTemplate":   {network, "template: Required value", "there is nothing to clone"},
		"Server":       {machine + "server: http://vc.example.com", "asked by https alone", "the password is not sent in the clear"},
		"ServerUser":   {machine + "server: https://root:pw@vc.example.com", "belongs into the Secret", "no password in Git"},
		"ServerPort":   {machine + "server: vc.example.com:99999", "number between 1 and 65535", "there is no such port"},
		"ServerName":   {machine + "server: 'vc example'", "must be an IP address or a DNS name", "no such host"},
		"ServerURL":    {machine + "server: https://vc.example.com:8443/sdk", "", "govmomi takes URLs"},
		"ServerIPv6":   {machine + "server: '[fd00::1]:443'", "", "IPv6 is as good"},
		"Thumbprint":   {machine + "thumbprint: aa:bb", "must be the SHA-1 or SHA-256 fingerprint", "it would never match"},
		"SHA256":       {machine + "thumbprint: '" + strings.Repeat("ab:", 31) + "ab'", "", "govmomi compares both"},
		"BetweenSHAs":  {machine + "thumbprint: '" + strings.Repeat("ab:", 25) + "ab'", "must be the SHA-1 or SHA-256 fingerprint", "no hash has 26 bytes"},
		"CloneMode":    {machine + "cloneMode: quick", "cloneMode: Unsupported value", "v1beta1 has no list in its schema"},
		"FullSnapshot": {machine + "cloneMode: fullClone\nsnapshot: s", "snapshot: Forbidden: a full clone is of the present template", "Cluster API ignores it"},
		"Snapshot":     {machine + "snapshot: s", "", "it asks for a linked clone"},
		"OneCPU":       {machine + "numCPUs: 1", "numCPUs: Invalid value: 1: must be at least 2", "Cluster API makes two"},
		"NegativeCPU":  {machine + "numCPUs: -4", "numCPUs: Invalid value", "it is no number of processors"},
		"Cores":        {machine + "numCPUs: 4\nnumCoresPerSocket: 3", "numCPUs must be a multiple of it", "vSphere refuses it"},
		"CoresPowerOn": {machine + "numCPUs: 4\nnumCoresPerSocket: 0", "", "assigned at power on"},
		"Memory":       {machine + "memoryMiB: 2050", "must be a multiple of 4", "vSphere refuses it"},
		"Requests":     {machine + "resources: {requests: {cpu: 2G}, limits: {cpu: 1G}}", "requests.cpu: Invalid value: \"2G\": must not be above limits.cpu", "it could never be granted"},
		"RequestsMem":  {machine + "resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}", "must not be above limits.memory", "it could never be granted"},
		"MoreThanAll":  {machine + "resources: {requests: {memory: 3Gi}}", "must not be above memoryMiB", "the machine has 2 GiB"},
		"NegativeMem":  {machine + "resources: {limits: {memory: -1}}", "limits.memory: Invalid value: \"-1\": must not be negative", "-1 is nothing in Kubernetes"},
		"NegativeCPUs": {machine + "resources: {requests: {cpu: -1}}", "requests.cpu: Invalid value: \"-1\": must not be negative", "-1 is nothing in Kubernetes"},
		"SomeMemory":   {machine + "resources: {requests: {memory: 1Gi}}", "", "half of it is sure"},
		"NoMemory":     {machine + "memoryMiB: -4", "memoryMiB: Invalid value", "it is no size"},
		"Shares":       {machine + "resources: {shares: {cpu: -1}}", "shares.cpu: Invalid value", "there are none"},
		"SharesMemory": {machine + "resources: {shares: {memory: -1}}", "shares.memory: Invalid value", "there are none"},
		"Disk":         {machine + "diskGiB: -1", "diskGiB: Invalid value", "no disk is that small"},
		"LinkedDisk":   {machine + "cloneMode: linkedClone\ndiskGiB: 25", "", "upstream's templates say so; whether it fits is known with the template"},
		"MoreDisks":    {machine + "additionalDisksGiB: [0, -1]", "additionalDisksGiB[1]: Invalid value", "0 is as in the template"},
		"DataDisk":     {machine + "dataDisks: [{name: a, sizeGiB: 0}]", "dataDisks[0].sizeGiB: Invalid value", "no disk is that small"},
		"DataDiskName": {machine + "dataDisks: [{sizeGiB: 1}]", "dataDisks[0].name: Required value", "patches find it by its name"},
		"DataDisks":    {machine + "dataDisks: [{name: a, sizeGiB: 1}, {name: a, sizeGiB: 1}]", "dataDisks[1].name: Duplicate value", "names are unique"},
		"Provisioning": {machine + "dataDisks: [{name: a, sizeGiB: 1, provisioningMode: Fat}]", "provisioningMode: Unsupported value", "there is no such mode"},
		"ManyDisks":    {machine + "dataDisks: [" + strings.Repeat("{sizeGiB: 1},", 30) + "]", "Too many: 30: must have at most 29", "a controller has thirty"},
		"Hardware":     {machine + "hardwareVersion: '21'", `must be a hardware version like "vmx-21"`, "as upstream"},
		"PCI":          {machine + "pciDevices: [{deviceId: 7864, vendorId: 4318, customLabel: gpu}, {vGPUProfile: grid_t4-16c}]", "", "either way"},
		"PCIBoth":      {machine + "pciDevices: [{deviceId: 7864, vendorId: 4318, vGPUProfile: p}]", "pciDevices[0].vGPUProfile: Forbidden: a device is a vGPU, or passed through", "they are two devices"},
		"PCIHalf":      {machine + "pciDevices: [{deviceId: 7864}]", "pciDevices[0].vendorId: Required value", "ids are a pair"},
		"PCIOther":     {machine + "pciDevices: [{vendorId: 4318}]", "pciDevices[0].deviceId: Required value", "ids are a pair"},
		"PCINothing":   {machine + "pciDevices: [{customLabel: l}]", "pciDevices[0].deviceId: Required value", "it is no device"},
		"PCILabel":     {machine + "pciDevices: [{vGPUProfile: p, customLabel: l}]", "customLabel: Forbidden", "Cluster API ignores it"},
		"PCIRange":     {machine + "pciDevices: [{deviceId: 70000, vendorId: 1}]", "must be between 0 and 65535", "ids have 16 bits"},
		"PCIMemory":    {machine + "pciDevices: [{vGPUProfile: p}]\nresources: {requests: {memory: 1Gi}}", "has all of its memory reserved", "vSphere switches none on otherwise"},
		"UserDataKey":  {machine + "customVMXKeys: {guestinfo.userdata: x}", "customVMXKeys[guestinfo.userdata]: Forbidden: what machines boot with", "it would be overwritten"},
		"EncodingKey":  {machine + "customVMXKeys: {Guestinfo.Metadata.Encoding: x}", "Forbidden: what machines boot with", "keys have no case"},
		"OurKey":       {machine + "customVMXKeys: {fairlead.dev/tags: x}", "say whose the machine is", "a machine could pose as another's"},
		"BadKey":       {machine + "customVMXKeys: {'a b': x}", "must be keys such as", "it breaks the file"},
		"OtherKey":     {machine + "customVMXKeys: {guestinfo.mine: x, ctkEnabled: 'TRUE'}", "", "all others are people's"},
		"Tag":          {machine + "tagIDs: [" + id + "]", "", "an URN"},
		"TagName":      {machine + "tagIDs: [k8s-zone]", "tagIDs[0]: Invalid value", "names are not unique in vCenter"},
		"TagTwice":     {machine + "tagIDs: [" + id + ", " + id + "]", "tagIDs[1]: Duplicate value", "one is enough"},
		"Windows":      {machine + "os: Windows", "os: Forbidden: machines of Windows are not set up here", "its user data is another"},
		"OtherOS":      {machine + "os: linux", "os: Unsupported value", "as upstream spells it"},
		"FT":           {machine + "ftEncryptionMode: maybe", "ftEncryptionMode: Unsupported value", "vSphere refuses it"},
		"Migrate":      {machine + "migrateEncryption: maybe", "migrateEncryption: Unsupported value", "vSphere refuses it"},
		"PowerOff":     {machine + "powerOffMode: never", "powerOffMode: Unsupported value", "there is no such mode"},
		"HardTimeout":  {machine + "guestSoftPowerOffTimeoutSeconds: 5", "guestSoftPowerOffTimeoutSeconds: Forbidden: only powerOffMode: trySoft", "it would do nothing"},
		"Timeout":      {machine + "powerOffMode: trySoft\nguestSoftPowerOffTimeoutSeconds: 5", "", "that is what it is for"},
		"NoTimeout":    {machine + "powerOffMode: trySoft\nguestSoftPowerOffTimeoutSeconds: -5", "must be at least 1", "time does not run backwards"},
		"Naming":       {machine + "naming: {template: 'x-{{ .machine.name }}'}", "", "it has the name"},
		"NamingSame":   {machine + "naming: {template: 'x-{{ .machine.name | trunc 7 }}'}", "naming.template: Invalid value", "machines would have one name"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kind := range []string{"VSphereMachine", "VSphereMachineTemplate"} {
				_, got := normalised(t, kind, "v1beta2", tc.spec, nil)
				kindstest.Check(t, got, tc.want, tc.reason)
			}
		})
	}
}

// TestMachineDefaults: what is left out is what Cluster API makes of it.
func TestMachineDefaults(t *testing.T) {
	got, wrong := normalised(t, "VSphereMachineTemplate", "v1beta2",
		"template: t\ndatacenter: '*'\nserver: https://VC.example.com/sdk\ntagIDs: []\n"+network, nil)
	const want = `memoryMiB: 2048
network:
  devices:
  - dhcp4: true
    networkName: lan
numCPUs: 2
os: Linux
powerOffMode: hard
server: VC.example.com
template: t
`
	if text := kindstest.YAML(t, got); text != want || wrong != "" {
		t.Errorf("got %s\n%s\nwant\n%s", wrong, text, want)
	}
}

// TestOlderMachine: v1beta1 says the same in other words, and a zero of it says nothing.
func TestOlderMachine(t *testing.T) {
	const older = "template: t\nnumCoresPerSocket: 0\nnumCPUs: 4\npowerOffMode: trySoft\nguestSoftPowerOffTimeout: 7m\nnamingStrategy: {template: 'x-{{ .machine.name }}'}\n"
	const newer = "template: t\nnumCPUs: 4\npowerOffMode: trySoft\nguestSoftPowerOffTimeoutSeconds: 420\nnaming: {template: 'x-{{ .machine.name }}'}\n"
	for _, kind := range []string{"VSphereMachine", "VSphereMachineTemplate"} {
		a, wrong := normalised(t, kind, "v1beta1", older+network, nil)
		b, alsoWrong := normalised(t, kind, "v1beta2", newer+network, nil)
		if one, other := kindstest.YAML(t, a), kindstest.YAML(t, b); one != other || wrong+alsoWrong != "" {
			t.Errorf("%s: %s %s v1beta1\n%s\nv1beta2\n%s", kind, wrong, alsoWrong, one, other)
		}
	}
	for spec, want := range map[string]string{
		"guestSoftPowerOffTimeout: 1500ms": "guestSoftPowerOffTimeout: Invalid value: \"1.5s\": must be whole seconds",
		"guestSoftPowerOffTimeout: 0s":     "guestSoftPowerOffTimeout: Invalid value",
		"namingStrategy: {}":               "",
	} {
		_, got := normalised(t, "VSphereMachine", "v1beta1", "template: t\npowerOffMode: trySoft\n"+network+spec, nil)
		kindstest.Check(t, got, want, "v1beta1")
	}
}

// TestQuantities: vSphere has MHz and MiB, and a machine is not given less than it asks for.
func TestQuantities(t *testing.T) {
	s, wrong := normalised(t, "VSphereMachine", "v1beta1", "template: t\n"+network+"resources: {requests: {cpu: 1500M, memory: 1Gi}, limits: {cpu: 2000000001, memory: 1025Mi}}", nil)
	if wrong != "" {
		t.Fatal(wrong)
	}
	r := s.(*VSphereMachineSpec).Resources
	for name, c := range map[string]struct {
		got  *int64
		want int64
	}{
		"MHz": {MHz(r.Requests.CPU), 1500}, "MHz, rounded": {MHz(r.Limits.CPU), 2001},
		"MiB": {MiB(r.Requests.Memory), 1024}, "MiB of more": {MiB(r.Limits.Memory), 1025},
	} {
		if *c.got != c.want {
			t.Errorf("%s: got %d, want %d", name, *c.got, c.want)
		}
	}
	if MHz(nil) != nil {
		t.Error("nothing is a number of MHz")
	}
}

// TestHashed: what changes in place replaces no machines, and everything else does.
func TestHashed(t *testing.T) {
	k := kindstest.Kind(t, Kinds(), "VSphereMachineTemplate")
	text := func(spec string) string {
		s, wrong := normalised(t, k.Kind, "v1beta2", "template: t\n"+network+spec, nil)
		if wrong != "" {
			t.Fatal(wrong)
		}
		before := kindstest.YAML(t, s)
		out := kindstest.YAML(t, k.Hashed(s))
		if kindstest.YAML(t, s) != before {
			t.Error("the spec was changed")
		}
		return out
	}
	base := text("")
	for spec, same := range map[string]bool{
		"powerOffMode: trySoft\nguestSoftPowerOffTimeoutSeconds: 9": true,
		"thumbprint: '" + strings.Repeat("AB:", 19) + "AB'":         true,
		"numCPUs: 4":     false,
		"folder: f":      false,
		"numCPUs: 2":     true,
		"datacenter: ''": true,
	} {
		if (text(spec) == base) != same {
			t.Errorf("%s: counts in hashes: %t, want %t", spec, same, !same)
		}
	}
}

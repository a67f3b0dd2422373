package kubeadm_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_3/types"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// FuzzUserData: from each KubeadmConfigSpec comes user data that cloud-init or Ignition reads,
// with the commands and files of the spec in it, or an error of the kind Invalid.
func FuzzUserData(f *testing.F) {
	joins := []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker}
	for join := range joins {
		for _, spec := range []bootstrapv1.KubeadmConfigSpec{{}, everything(true), everythingInIgnition()} {
			data, err := yaml.Marshal(spec)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(data), uint8(join), false)
			f.Add(string(data), uint8(join), true)
		}
	}
	for _, spec := range []string{
		"files: [{path: /a, content: 'x: {{ ds.meta_data.name }}', contentFormat: template}]", "files: [{path: /a, content: '{{ .', contentFormat: template}]",
		"preKubeadmCommands: ['#}', '{{ x[\"y\"] }}', \"a\\r\\n\"]", "mounts: [[/dev/vdb1, /data, defaults, noatime, nofail], [LABEL=a]]",
		"diskSetup: {partitions: [{device: /dev/a, layout: true, diskLayout: [{percentage: 30}]}], filesystems: [{device: a, label: b, filesystem: ext4, partition: auto}]}",
		"users: [{name: a, passwd: '', lockPassword: false, sshAuthorizedKeys: [x]}]", "ntp: {enabled: true, servers: []}", "verbosity: 10",
		"ignition: {containerLinuxConfig: {additionalConfig: 'storage: {files: [{path: /a}]}', strict: true}}",
		"joinConfiguration: {discovery: {file: {kubeConfigPath: /a, kubeConfig: {user: {exec: {apiVersion: a, command: b, env: [{name: a, value: b}]}}}}}}",
	} {
		f.Add(spec, uint8(0), false)
		f.Add(spec, uint8(2), true)
	}
	inputs := map[fleet.Join]providers.BootstrapInput{}
	for _, join := range joins {
		inputs[join] = input(f, join, "v1.35.0", bootstrapv1.KubeadmConfigSpec{})
	}
	f.Fuzz(func(t *testing.T, text string, join uint8, ignition bool) {
		var spec bootstrapv1.KubeadmConfigSpec
		if yaml.UnmarshalStrict([]byte(text), &spec) != nil {
			return
		}
		if spec.Format = ""; ignition {
			spec.Format = bootstrapv1.Ignition
		}
		in := inputs[joins[int(join)%len(joins)]]
		in.Pool.Bootstrap = configured(spec)
		u, err := userData(in)
		if err != nil {
			if fleet.KindOf(err) != fleet.Invalid || strings.Contains(err.Error(), "PRIVATE KEY") {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := userData(in)
		if err != nil || !bytes.Equal(u.Content.Reveal(), again.Content.Reveal()) {
			t.Fatalf("made twice, it differs: %v", err)
		}
		if ignition {
			c, report, err := v3_3.Parse(u.Content.Reveal())
			if err != nil || report.IsFatal() {
				t.Fatalf("Ignition: %v\n%s", err, report.String())
			}
			for _, file := range spec.Files {
				if !slices.ContainsFunc(c.Storage.Files, func(f types.File) bool { return f.Path == file.Path }) {
					t.Fatalf("no file %s", file.Path)
				}
			}
			return
		}
		checkCloudConfig(t, &spec, u.Content.Reveal())
	})
}

// checkCloudConfig reads user data as cloud-init does, and fails t if it lacks something of spec.
func checkCloudConfig(t *testing.T, spec *bootstrapv1.KubeadmConfigSpec, data []byte) {
	t.Helper()
	content, ok := bytes.CutPrefix(data, []byte("## template: jinja\n#cloud-config\n"))
	if !ok {
		t.Fatalf("user data begins with %.60q", data)
	}
	var m struct {
		machine
		BootCmd []string `json:"bootcmd"`
	}
	if err := yaml.Unmarshal(content, &m); err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	before, after := len(spec.PreKubeadmCommands), len(spec.PostKubeadmCommands)
	if len(m.RunCmd) != before+1+after || len(m.BootCmd) != len(spec.BootCommands) || len(m.Users) != len(spec.Users) {
		t.Fatalf("%d commands, %d of the boot and %d users, of\n%+v", len(m.RunCmd), len(m.BootCmd), len(m.Users), spec)
	}
	for i, command := range slices.Concat(spec.PreKubeadmCommands, spec.PostKubeadmCommands) {
		if i >= before {
			i++
		}
		if m.RunCmd[i] != command {
			t.Fatalf("command %d is %q, want %q", i, m.RunCmd[i], command)
		}
	}
	for _, file := range spec.Files {
		var found bool
		for _, w := range m.WriteFiles {
			found = found || w.Path == file.Path && (file.Encoding != "" || file.ContentFormat != "" || file.ContentFrom.IsDefined() || w.Encoding != "" || w.Content == file.Content)
		}
		if !found {
			t.Fatalf("no file %q with %q", file.Path, file.Content)
		}
	}
}

package ignition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/providers/distribution/kubeadm/ignition"
)

// everything is all that a Container Linux Config can say and Ignition 3 can do.
const everything = `
ignition:
  config:
    append:
    - source: https://example.com/more.ign
      verification: {hash: {function: sha512, sum: ` + sum + `}}
    replace: {source: "data:,%7B%7D"}
  timeouts: {http_response_headers: 5, http_total: 60}
  security: {tls: {certificate_authorities: [{source: "data:,ca"}]}}
storage:
  disks:
  - device: /dev/vdb
    wipe_table: true
    partitions:
    - {label: a, number: 2, size: 1GiB, start: 2048KiB, guid: 5dfbf5f4-2848-4bac-aa5e-0d9a20b745a6, type_guid: raid_partition}
    - {size: "0"}
    - {label: s, type_guid: swap_partition}
    - {label: r, type_guid: raid_containing_root}
    - {label: d, type_guid: linux_filesystem_data}
    - {label: o, type_guid: 11111111-2848-4bac-aa5e-0d9a20b745a6}
  raid:
  - {name: data, level: raid1, devices: [/dev/a, /dev/b], spares: 0, options: [--x]}
  filesystems:
  - name: data
    mount: {device: /dev/md/data, format: ext4, wipe_filesystem: true, label: data, uuid: u, options: [-F]}
  files:
  - {filesystem: root, path: /a, mode: 0644, contents: {inline: "one\n"}, user: {id: 1}, group: {name: wheel}}
  - path: /b
    overwrite: false
    contents: {remote: {url: "https://example.com/b", compression: gzip, verification: {hash: {function: sha512, sum: ` + sum + `}}}}
  - {path: /c, append: true, contents: {inline: more}}
  - {path: /empty}
  directories:
  - {path: /d, mode: 0700, overwrite: true}
  links:
  - {path: /l, target: /a, hard: false}
systemd:
  units:
  - {name: a.service, enable: true, contents: "[Service]\nExecStart=/bin/true\n"}
  - {name: b.service, enabled: false, mask: true, dropins: [{name: x.conf, contents: "[Unit]\n"}]}
networkd:
  units:
  - {name: 00-eth0.network, contents: "[Match]\n", dropins: [{name: y.conf, contents: "[Network]\n"}]}
passwd:
  users:
  - {name: core, password_hash: h, ssh_authorized_keys: [k], uid: 1, gecos: g, home_dir: /h, no_create_home: true, primary_group: p,
     groups: [a], no_user_group: true, no_log_init: true, shell: /s, system: true}
  groups:
  - {name: g, gid: 5, password_hash: h, system: false}
`

const sum = "a6f29a5e5e3b7a94e0b1a5f4d77a8fd1d1b6a1f8b4e6c8d1a6f29a5e5e3b7a94e0b1a5f4d77a8fd1d1b6a1f8b4e6c8d1a6f29a5e5e3b7a94e0b1a5f4d77a8fd1"

// The right-hand side stands in Ignition's specification, not in this package.
const inIgnition = `{"ignition":{"config":{
"merge":[{"source":"https://example.com/more.ign","verification":{"hash":"sha512-` + sum + `"}}],"replace":{"source":"data:,%7B%7D"}},
"security":{"tls":{"certificateAuthorities":[{"source":"data:,ca"}]}},"timeouts":{"httpResponseHeaders":5,"httpTotal":60},"version":"3.3.0"},
"passwd":{"groups":[{"gid":5,"name":"g","passwordHash":"h","system":false}],
"users":[{"gecos":"g","groups":["a"],"homeDir":"/h","name":"core","noCreateHome":true,"noLogInit":true,"noUserGroup":true,"passwordHash":"h",
"primaryGroup":"p","shell":"/s","sshAuthorizedKeys":["k"],"system":true,"uid":1}]},
"storage":{"directories":[{"mode":448,"overwrite":true,"path":"/d"}],
"disks":[{"device":"/dev/vdb","partitions":[
{"guid":"5dfbf5f4-2848-4bac-aa5e-0d9a20b745a6","label":"a","number":2,"sizeMiB":1024,"startMiB":2,"typeGuid":"A19D880F-05FC-4D3B-A006-743F0F84911E"},
{"number":2},{"label":"s","typeGuid":"0657FD6D-A4AB-43C4-84E5-0933C84B4F4F"},{"label":"r","typeGuid":"BE9067B9-EA49-4F15-B4F6-F36F8C9E1818"},
{"label":"d","typeGuid":"0FC63DAF-8483-4772-8E79-3D69D8477DE4"},{"label":"o","typeGuid":"11111111-2848-4bac-aa5e-0d9a20b745a6"}],"wipeTable":true}],
"files":[{"contents":{"source":"data:,one%0A"},"group":{"name":"wheel"},"mode":420,"overwrite":true,"path":"/a","user":{"id":1}},
{"contents":{"compression":"gzip","source":"https://example.com/b","verification":{"hash":"sha512-` + sum + `"}},"overwrite":false,"path":"/b"},
{"append":[{"source":"data:,more"}],"path":"/c"},{"contents":{"source":"data:,"},"overwrite":true,"path":"/empty"},
{"contents":{"source":"data:,%5BMatch%5D%0A"},"mode":420,"overwrite":true,"path":"/etc/systemd/network/00-eth0.network"},
{"contents":{"source":"data:,%5BNetwork%5D%0A"},"mode":420,"overwrite":true,"path":"/etc/systemd/network/00-eth0.network.d/y.conf"}],
"filesystems":[{"device":"/dev/md/data","format":"ext4","label":"data","options":["-F"],"uuid":"u","wipeFilesystem":true}],
"links":[{"hard":false,"path":"/l","target":"/a"}],
"raid":[{"devices":["/dev/a","/dev/b"],"level":"raid1","name":"data","options":["--x"],"spares":0}]},
"systemd":{"units":[{"contents":"[Service]\nExecStart=/bin/true\n","enabled":true,"name":"a.service"},
{"dropins":[{"contents":"[Unit]\n","name":"x.conf"}],"enabled":false,"mask":true,"name":"b.service"}]}}`

func compile(t *testing.T, base types.Config, additional string) any {
	t.Helper()
	data, err := ignition.Compile(base, additional, false)
	if err != nil {
		t.Fatal(err)
	}
	return value(t, data)
}

func value(t *testing.T, data []byte) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestContainerLinuxConfig(t *testing.T) {
	// Partitions without numbers of their own would clash with the first one's.
	in := strings.Replace(everything, "number: 2, ", "number: 9, ", 1)
	want := strings.Replace(inIgnition, `"label":"a","number":2`, `"label":"a","number":9`, 1)
	if d := cmp.Diff(value(t, []byte(want)), compile(t, types.Config{}, in)); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}
}

// What is added takes precedence over what is there, part by part.
func TestMerge(t *testing.T) {
	yes, contents, source := true, "[Service]\nExecStart=/bin/true\n", "data:,ours"
	base := types.Config{
		Storage: types.Storage{Files: []types.File{{Node: types.Node{Path: "/a"}, FileEmbedded1: types.FileEmbedded1{Contents: types.Resource{Source: &source}}}}},
		Systemd: types.Systemd{Units: []types.Unit{{Name: "kubeadm.service", Enabled: &yes, Contents: &contents}}},
	}
	for version, additional := range map[string]string{
		"3.3.0": "storage: {files: [{path: /a, mode: 0600, contents: {inline: theirs}}]}\nsystemd: {units: [{name: kubeadm.service, dropins: [{name: x.conf, contents: \"[Unit]\\n\"}]}]}",
		"3.4.0": "variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: /a, mode: 0600, overwrite: true, contents: {inline: theirs}}]}\nsystemd: {units: [{name: kubeadm.service, dropins: [{name: x.conf, contents: \"[Unit]\\n\"}]}]}",
	} {
		want := `{"ignition":{"version":"` + version + `"},
"storage":{"files":[{"contents":{"source":"data:,theirs"},"mode":384,"overwrite":true,"path":"/a"}]},
"systemd":{"units":[{"contents":"[Service]\nExecStart=/bin/true\n","dropins":[{"contents":"[Unit]\n","name":"x.conf"}],"enabled":true,"name":"kubeadm.service"}]}}`
		got := compile(t, base, additional)
		// Butane says of plain content that it is not compressed.
		delete(got.(map[string]any)["storage"].(map[string]any)["files"].([]any)[0].(map[string]any)["contents"].(map[string]any), "compression")
		if d := cmp.Diff(value(t, []byte(want)), got); d != "" {
			t.Errorf("%s (-want +got):\n%s", version, d)
		}
	}
}

func TestVersions(t *testing.T) {
	for additional, want := range map[string]string{
		"":                                 "3.3.0",
		" \n":                              "3.3.0",
		"# nothing\n":                      "3.3.0",
		"variant: flatcar\nversion: 1.0.0": "3.3.0",
		"variant: flatcar\nversion: 1.1.0": "3.4.0",
		"variant: fcos\nversion: 1.4.0":    "3.3.0",
		"variant: fcos\nversion: 1.5.0":    "3.4.0",
		"storage: {files: [{path: /a, mode: 04755}]}":       "3.4.0",
		"storage: {directories: [{path: /a, mode: 01777}]}": "3.4.0",
	} {
		got := compile(t, types.Config{}, additional).(map[string]any)["ignition"].(map[string]any)["version"]
		if got != want {
			t.Errorf("%q gives version %v, want %s", additional, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for in, want := range map[string]string{
		"a: b: c": "additionalConfig: yaml:",
		"- a":     "additionalConfig: yaml:",
		"sotrage: {}\nstorage: {files: [{paht: /a}]}": "there is no field sotrage in a Container Linux Config",
		"storage: {files: [{path: /a, paht: /b}]}":    "there is no field paht",
		"etcd: {name: x}":                                        "etcd: this section is not supported: etcd runs as kubeadm's static pod",
		"flannel: {}":                                            "flannel: this section",
		"docker: {flags: [a]}":                                   "docker: this section",
		"update: {group: beta}":                                  "update: this section is not supported: write /etc/flatcar/update.conf",
		"locksmith: {reboot_strategy: off}":                      "locksmith: this section",
		"version: 1.0.0":                                         "version: a Butane config has a variant",
		"variant: fcos\nversion: 1.6.0":                          `variant "fcos", version "1.6.0": Butane configs of flatcar 1.0.0`,
		"variant: openshift\nversion: 4.14.0":                    `variant "openshift"`,
		"variant: flatcar\nversion: 1.1.0\nstorage: {flies: []}": "storage.flies: unused key flies",
		"variant: flatcar\nversion: 1.1.0\nstorage: {files: [{path: a}]}":         "storage.files.0.path: path not absolute",
		"variant: flatcar\nversion: 1.1.0\nstorage: {trees: [{local: /etc}]}":     "local file",
		"storage: {files: [{path: a}]}":                                           "storage.files.0.path: path not absolute",
		"storage: {files: [{path: /a}, {path: /a}]}":                              "duplicate entry defined",
		"storage: {files: [{path: /a, filesystem: data}]}":                        "storage.files[0].filesystem: Ignition 3 knows paths from / alone",
		"storage: {files: [{path: /a, contents: {local: x}}]}":                    "storage.files[0].contents.local",
		"storage: {files: [{path: /a, contents: {inline: x, remote: {url: y}}}]}": "storage.files[0].contents: only one",
		"storage: {files: [{path: /a, append: true, overwrite: true}]}":           "storage.files[0].overwrite",
		"storage: {filesystems: [{name: a, path: /sysroot}]}":                     "storage.filesystems[0].path",
		"storage: {disks: [{device: /dev/a, partitions: [{size: 1KiB}]}]}":        `storage.disks[0].partitions[0].size: "1KiB" is not a whole number of MiB`,
		"storage: {disks: [{device: /dev/a, partitions: [{start: 1TB}]}]}":        `storage.disks[0].partitions[0].start: "1TB" is not a size`,
		"storage: {disks: [{device: /dev/a, partitions: [{size: xMiB}]}]}":        `size: "xMiB" is not a size`,
		"ignition: {config: {append: [{}]}}":                                      "ignition.config.append[0].source: required",
		"ignition: {config: {replace: {}}}":                                       "ignition.config.replace.source: required",
		"ignition: {security: {tls: {certificate_authorities: [{}]}}}":            "certificate_authorities[0].source: required",
		"systemd: {units: [{name: a}]}":                                           "systemd.units.0.name: invalid systemd unit extension",
	} {
		_, err := ignition.Compile(types.Config{}, in, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant it to say %q", in, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "ignition.cl") && !strings.Contains(err.Error(), "ignition.containerLinuxConfig") {
			t.Errorf("%q: the error names a Go type: %v", in, err)
		}
	}
}

// Strict makes errors of warnings, those of Butane and those of Ignition.
func TestStrict(t *testing.T) {
	for in, want := range map[string]string{
		"systemd: {units: [{name: a.service, enabled: true, contents: \"[Service]\\nExecStart=/x\\n\"}]}": "a.service",
		"variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: /a, mode: 644}]}":                        "mode",
	} {
		if _, err := ignition.Compile(types.Config{}, in, false); err != nil {
			t.Errorf("%q, not strict: %v", in, err)
		}
		if _, err := ignition.Compile(types.Config{}, in, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q, strict: %v, want it to say %q", in, err, want)
		}
	}
}

func TestDataURL(t *testing.T) {
	for in, want := range map[string]string{
		"":                "data:,",
		"a b+c\n":         "data:,a%20b%2Bc%0A",
		"\x00\xff%&#\x01": "data:;base64,AP8lJiMB",
	} {
		if got := ignition.DataURL([]byte(in)); got != want {
			t.Errorf("%q gives %s, want %s", in, got, want)
		}
	}
}

package kubeadm_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/google/go-cmp/cmp"
	"github.com/vincent-petithory/dataurl"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/test/run/needs"
)

// ignite returns the config as the Ignition of Flatcar and Fedora CoreOS reads it.
func ignite(t *testing.T, in providers.BootstrapInput) types.Config {
	t.Helper()
	edit(&in.Pool.Bootstrap, func(s *bootstrapv1.KubeadmConfigSpec) { s.Format = bootstrapv1.Ignition })
	u, err := userData(in)
	if err != nil {
		t.Fatal(err)
	}
	if u.Format != "ignition" {
		t.Errorf("format is %q", u.Format)
	}
	c, report, err := v3_3.Parse(u.Content.Reveal())
	if err != nil || len(report.Entries) > 0 {
		t.Fatalf("Ignition: %v\n%s", err, report.String())
	}
	return c
}

func content(t *testing.T, r types.Resource) string {
	t.Helper()
	u, err := dataurl.DecodeString(*r.Source)
	if err != nil {
		t.Fatal(err)
	}
	if r.Compression == nil && !utf8.Valid(u.Data) {
		return fmt.Sprintf("(bytes) %x", u.Data)
	}
	if r.Compression == nil {
		return string(u.Data)
	}
	z, err := gzip.NewReader(bytes.NewReader(u.Data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func igniteFile(t *testing.T, c types.Config, path string) string {
	t.Helper()
	for _, f := range c.Storage.Files {
		if f.Path == path {
			return content(t, f.Contents)
		}
	}
	t.Fatalf("no file %s", path)
	return ""
}

// readable returns a config the way a person reads it: the texts as they will
// be on the machine, then the rest.
func readable(t *testing.T, c types.Config) string {
	t.Helper()
	var b strings.Builder
	for _, f := range c.Storage.Files {
		owner := func(name *string, id *int) string {
			switch {
			case name != nil:
				return *name
			case id != nil:
				return fmt.Sprint(*id)
			}
			return "-"
		}
		fmt.Fprintf(&b, "=== file %s %#o %s:%s\n", f.Path, *f.Mode, owner(f.User.Name, f.User.ID), owner(f.Group.Name, f.Group.ID))
		if f.Overwrite != nil && !*f.Overwrite {
			b.WriteString("(keeps what is there)\n")
		}
		if f.Contents.Source != nil {
			b.WriteString(content(t, f.Contents) + "\n")
		}
		for _, a := range f.Append {
			b.WriteString("(appends) " + content(t, a) + "\n")
		}
	}
	for _, u := range c.Systemd.Units {
		fmt.Fprintf(&b, "=== unit %s enabled=%v\n", u.Name, *u.Enabled)
		if u.Contents != nil {
			b.WriteString(*u.Contents + "\n")
		}
		for _, d := range u.Dropins {
			fmt.Fprintf(&b, "--- %s\n%s\n", d.Name, *d.Contents)
		}
	}
	c.Storage.Files, c.Systemd.Units = nil, nil
	rest, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + "=== rest\n" + string(rest) + "\n"
}

// everythingInIgnition is everything that Ignition can express.
func everythingInIgnition() bootstrapv1.KubeadmConfigSpec {
	spec := everything(true)
	spec.BootCommands = nil
	for _, r := range []*bootstrapv1.NodeRegistrationOptions{&spec.InitConfiguration.NodeRegistration, &spec.JoinConfiguration.NodeRegistration} {
		r.Name, r.KubeletExtraArgs = "${COREOS_OPENSTACK_HOSTNAME}", []bootstrapv1.Arg{{Name: "cloud-provider", Value: ptr("external")}}
	}
	spec.PreKubeadmCommands = []string{"envsubst < /etc/kubeadm.yml > /etc/kubeadm.yml.tmp", "cat > /etc/x <<EOF\na\nEOF", "mv /etc/kubeadm.yml.tmp /etc/kubeadm.yml"}
	spec.Files = append(spec.Files,
		bootstrapv1.File{Path: "/etc/owned", Owner: "1000:users", Permissions: "4755", Content: "x"},
		bootstrapv1.File{Path: "/etc/kubernetes/pki/ca.crt", Append: ptr(true), Content: "another\n"})
	spec.Files[len(spec.Files)-2].Permissions = "0755"
	spec.DiskSetup = bootstrapv1.DiskSetup{
		Partitions: []bootstrapv1.Partition{{Device: "/dev/vdb", TableType: "gpt", Layout: ptr(true), Overwrite: ptr(true)}, {Device: "/dev/vdd"}},
		Filesystems: []bootstrapv1.Filesystem{{
			Device: "/dev/vdb1", Filesystem: "ext4", Label: "etcd_disk", Overwrite: ptr(true), ExtraOpts: []string{"-F"},
		}},
	}
	spec.Mounts = []bootstrapv1.MountPoints{
		{"LABEL=etcd_disk", "/var/lib/etcd-disk", "ext4", "defaults,nofail"},
		{"/dev/vde", "/srv", "noatime"},
		{"UUID=0a3407de", "/opt/x"},
	}
	spec.Users[0].Inactive = nil
	spec.Users = append(spec.Users, bootstrapv1.User{Name: "a.b", Passwd: "$6$z", LockPassword: ptr(true), Sudo: "ALL=(ALL) ALL"})
	spec.Ignition.ContainerLinuxConfig.AdditionalConfig = `
systemd:
  units:
  - name: kubeadm.service
    enabled: true
    dropins:
    - name: 10-flatcar.conf
      contents: |
        [Service]
        EnvironmentFile=/run/metadata/flatcar
`
	return spec
}

func TestIgnitionGolden(t *testing.T) {
	for _, join := range []fleet.Join{fleet.JoinInit, fleet.JoinControlPlane, fleet.JoinWorker} {
		for name, spec := range map[string]bootstrapv1.KubeadmConfigSpec{"minimal": {}, "everything": everythingInIgnition()} {
			file := filepath.Join("testdata", string(join)+"-ignition-"+name+".txt")
			t.Run(filepath.Base(file), func(t *testing.T) {
				got := readable(t, ignite(t, input(t, join, "v1.35.0", spec)))
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), got); d != "" {
					t.Errorf("user data differs from %s (-want +got):\n%s", file, d)
				}
			})
		}
	}
}

// Words after the type are options, as in Cluster API, and numbers of fstab are none.
func TestIgnitionMount(t *testing.T) {
	for want, m := range map[string]bootstrapv1.MountPoints{
		"Where=/a\nOptions=defaults,noatime,nofail\n\n[Install]\nWantedBy=local-fs.target\n":          {"/dev/b", "/a", "defaults", "noatime", "nofail"},
		"Where=/b\nType=ext4\nOptions=defaults,noatime,nofail\n\n[Install]\nWantedBy=local-fs.target": {"/dev/b", "/b", "ext4", "defaults", "noatime", "nofail"},
		"Where=/c\nType=virtiofs\nOptions=ro\n":                                                       {"tag", "/c", "virtiofs", "ro"},
		"Where=/d\nType=xfs\nOptions=noatime\n\n":                                                     {"/dev/b", "/d", "xfs", "noatime", "0", "2"},
		"Where=/e\nType=xfs\nOptions=noatime\n\n[":                                                    {"/dev/b", "/e", "xfs", "noatime", "0"},
		"Where=/f\nType=xfs\nOptions=a,b,c,d,e\n":                                                     {"/dev/b", "/f", "xfs", "a", "b", "c", "d", "e"},
		"Where=/g\n\n[Install]":                                                                       {"/dev/b", "/g"},
	} {
		in := input(t, fleet.JoinWorker, "v1.35.0", bootstrapv1.KubeadmConfigSpec{Format: "ignition", Mounts: []bootstrapv1.MountPoints{m}})
		if got := ignite(t, in); !strings.Contains(readable(t, got), want) {
			t.Errorf("%q: %q is not in\n%s", m, want, readable(t, got))
		}
	}
}

// The script is one that bash reads, runs the commands in order and ends at the
// first that fails.
func TestIgnitionScript(t *testing.T) {
	bash := needs.Program(t, "bash", "apt-get install bash")
	for reason, c := range map[string]struct {
		pre, post []string
		want      string
	}{
		"in order":          {[]string{"echo 'it''s'; A=1", "cat <<EOF\n$A {{ x }}\nEOF"}, []string{"echo after"}, "its\n1 {{ x }}\nkubeadm join --config /etc/kubeadm.yml --v 3\nmkdir -p /run/cluster-api\nmv /etc/kubeadm.yml /tmp/\nafter\n"},
		"fails before":      {[]string{"false"}, []string{"echo after"}, ""},
		"fails in a script": {nil, []string{"false", "echo after"}, "kubeadm join --config /etc/kubeadm.yml --v 3\nmkdir -p /run/cluster-api\nmv /etc/kubeadm.yml /tmp/\n"},
	} {
		spec := bootstrapv1.KubeadmConfigSpec{PreKubeadmCommands: c.pre, PostKubeadmCommands: c.post, Verbosity: ptr[int32](3)}
		script := igniteFile(t, ignite(t, input(t, fleet.JoinWorker, "v1.35.0", spec)), "/etc/kubeadm.sh")
		script = strings.ReplaceAll(script, "echo success > /run/cluster-api/bootstrap-success.complete", ":")
		tools := `kubeadm() { echo kubeadm "$@"; }; mkdir() { echo mkdir "$@"; }; mv() { echo mv "$@"; };` + "\n"
		cmd := exec.CommandContext(t.Context(), bash)
		cmd.Stdin = strings.NewReader(tools + script)
		out, _ := cmd.CombinedOutput()
		if d := cmp.Diff(c.want, string(out)); d != "" {
			t.Errorf("%s (-want +got):\n%s", reason, d)
		}
	}
}

// A path has one entry: what the user writes takes the place of ours.
func TestIgnitionFileTwice(t *testing.T) {
	spec := bootstrapv1.KubeadmConfigSpec{Files: []bootstrapv1.File{
		{Path: "/etc/kubernetes/pki/ca.crt", Permissions: "0644", Content: "mine"}, {Path: "/etc/a", Content: "1"}, {Path: "/etc/a", Append: ptr(true), Content: "2"},
	}}
	c := ignite(t, input(t, fleet.JoinInit, "v1.35.0", spec))
	if got := igniteFile(t, c, "/etc/kubernetes/pki/ca.crt"); got != "mine" {
		t.Errorf("ca.crt holds %q", got)
	}
	for _, f := range c.Storage.Files {
		if f.Path == "/etc/a" && (len(f.Append) != 1 || content(t, f.Append[0]) != "2" || content(t, f.Contents) != "1") {
			t.Errorf("/etc/a: %+v", f)
		}
	}
}

// A mode that sets the user needs the next version of the specification, which
// the one before leaves out without a word.
func TestIgnitionSpecialMode(t *testing.T) {
	for permissions, want := range map[string]string{"0755": "3.3.0", "4755": "3.4.0"} {
		in := input(t, fleet.JoinWorker, "v1.35.0", bootstrapv1.KubeadmConfigSpec{
			Format: "ignition", Files: []bootstrapv1.File{{Path: "/opt/x", Permissions: permissions}},
		})
		u, err := userData(in)
		if err != nil || !bytes.Contains(u.Content.Reveal(), []byte(`"version":"`+want+`"`)) {
			t.Errorf("%s: want version %s: %v", permissions, want, err)
		}
	}
}

func TestIgnitionRefused(t *testing.T) {
	files := func(f bootstrapv1.File) func(*bootstrapv1.KubeadmConfigSpec) {
		return func(s *bootstrapv1.KubeadmConfigSpec) { s.Files = []bootstrapv1.File{f} }
	}
	user := func(u bootstrapv1.User) func(*bootstrapv1.KubeadmConfigSpec) {
		return func(s *bootstrapv1.KubeadmConfigSpec) { s.Users = []bootstrapv1.User{u} }
	}
	partition := func(p bootstrapv1.Partition) func(*bootstrapv1.KubeadmConfigSpec) {
		return func(s *bootstrapv1.KubeadmConfigSpec) { s.DiskSetup.Partitions = []bootstrapv1.Partition{p} }
	}
	filesystem := func(f bootstrapv1.Filesystem) func(*bootstrapv1.KubeadmConfigSpec) {
		return func(s *bootstrapv1.KubeadmConfigSpec) { s.DiskSetup.Filesystems = []bootstrapv1.Filesystem{f} }
	}
	mount := func(m ...string) func(*bootstrapv1.KubeadmConfigSpec) {
		return func(s *bootstrapv1.KubeadmConfigSpec) { s.Mounts = []bootstrapv1.MountPoints{m} }
	}
	add := func(s string) func(*bootstrapv1.KubeadmConfigSpec) {
		return func(c *bootstrapv1.KubeadmConfigSpec) { c.Ignition.ContainerLinuxConfig.AdditionalConfig = s }
	}
	for want, change := range map[string]func(*bootstrapv1.KubeadmConfigSpec){
		"bootCommands: Ignition has none":                                             func(s *bootstrapv1.KubeadmConfigSpec) { s.BootCommands = []string{"x"} },
		"files[0] (/etc/kubeadm.sh): path":                                            files(bootstrapv1.File{Path: "/etc/kubeadm.sh"}),
		"files[0] (/etc/kubeadm.yml): path":                                           files(bootstrapv1.File{Path: "/etc/kubeadm.yml"}),
		"files[0] (/run/x): path: /run is empty":                                      files(bootstrapv1.File{Path: "/run/x"}),
		"files[0] (/tmp/x): path: /tmp is empty":                                      files(bootstrapv1.File{Path: "/tmp/x"}),
		"files[0] (x): path: must begin with /":                                       files(bootstrapv1.File{Path: "x"}),
		`files[0] (/x): permissions: "rw" is not a mode`:                              files(bootstrapv1.File{Path: "/x", Permissions: "rw"}),
		"files[0] (/x): encoding: the content is not in base64":                       files(bootstrapv1.File{Path: "/x", Encoding: "base64", Content: "%"}),
		`files[0] (/x): encoding: there is no encoding "rot13"`:                       files(bootstrapv1.File{Path: "/x", Encoding: "rot13"}),
		"files[0] (/x): contentFrom.secret: there is no Secret nope":                  files(bootstrapv1.File{Path: "/x", ContentFrom: bootstrapv1.FileSource{Secret: bootstrapv1.SecretFileSource{Name: "nope", Key: "a"}}}),
		"users[0] (u): inactive":                                                      user(bootstrapv1.User{Name: "u", Inactive: ptr(true)}),
		"users[0] (u): passwdFrom.secret":                                             user(bootstrapv1.User{Name: "u", PasswdFrom: bootstrapv1.PasswdSource{Secret: bootstrapv1.SecretPasswdSource{Name: "nope", Key: "x"}}}),
		"diskSetup.partitions[0].diskLayout":                                          partition(bootstrapv1.Partition{Device: "/dev/b", DiskLayout: []bootstrapv1.PartitionSpec{{Percentage: 1}}}),
		"diskSetup.partitions[0].tableType":                                           partition(bootstrapv1.Partition{Device: "/dev/b", TableType: "mbr"}),
		"diskSetup.filesystems[0].partition":                                          filesystem(bootstrapv1.Filesystem{Device: "/dev/b", Partition: "auto"}),
		"diskSetup.filesystems[0].replaceFS":                                          filesystem(bootstrapv1.Filesystem{Device: "/dev/b", ReplaceFS: "ntfs"}),
		"mounts[0]: a mount has a device and a path":                                  mount("/dev/b"),
		`mounts[0]: "b" is no device`:                                                 mount("b", "/x"),
		`mounts[0]: "LABEL=a b" is no device`:                                         mount("LABEL=a b", "/x"),
		`mounts[0]: "x" is no path`:                                                   mount("/dev/b", "x"),
		"storage.filesystems.0.format: invalid filesystem":                            filesystem(bootstrapv1.Filesystem{Device: "/dev/b", Label: "a", Filesystem: "zfs"}),
		"additionalConfig: yaml: unmarshal errors: line 1: there is no field stroage": add("stroage: {}"),
		"nodeRegistration: Ignition evaluates no Jinja": func(s *bootstrapv1.KubeadmConfigSpec) {
			s.JoinConfiguration.NodeRegistration.Name = "{{ ds.meta_data.local_hostname }}"
		},
	} {
		in := input(t, fleet.JoinWorker, "v1.35.0", bootstrapv1.KubeadmConfigSpec{Format: "ignition"})
		edit(&in.Pool.Bootstrap, change)
		_, err := userData(in)
		if fleet.KindOf(err) != "Invalid" || !strings.Contains(fmt.Sprint(err), want) || !strings.Contains(fmt.Sprint(err), "of pool eu-1-md-0: ") {
			t.Errorf("%v\nwant kind Invalid and %q", err, want)
		}
	}
}

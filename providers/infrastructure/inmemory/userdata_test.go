package inmemory

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

// TestWrongInit: an init with wrong data makes no cluster, and says why.
func TestWrongInit(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*testing.T, *lab, *config)
		want  string // of the console
	}{
		"no header":            {func(_ *testing.T, _ *lab, c *config) { c.header = "" }, "unhandled non-multipart userdata"},
		"template header only": {func(_ *testing.T, _ *lab, c *config) { c.header = "## template: jinja\n" }, "unhandled non-multipart userdata"},
		"broken template":      {func(_ *testing.T, _ *lab, c *config) { c.commands = append(c.commands, "echo ${#array[@]} {% if") }, "failed to render the jinja template"},
		"broken YAML":          {func(_ *testing.T, _ *lab, c *config) { c.header += "a: b: c\n" }, "failed loading yaml blob"},
		"no kubeadm command":   {func(_ *testing.T, _ *lab, c *config) { c.commands = []string{"echo kubeadm"} }, "no command of runcmd is kubeadm"},
		"no configuration": {
			func(_ *testing.T, _ *lab, c *config) { delete(c.files, initPath) },
			`unable to read config from "/run/kubeadm/kubeadm.yaml"`,
		},
		"no ClusterConfiguration": {func(_ *testing.T, _ *lab, c *config) {
			c.replace(initPath, "kind: ClusterConfiguration", "kind: KubeletConfiguration")
		}, "no ClusterConfiguration"},
		"two ClusterConfigurations": {func(_ *testing.T, _ *lab, c *config) {
			c.replace(initPath, "kind: InitConfiguration", "kind: ClusterConfiguration")
		}, "two documents of kind ClusterConfiguration"},
		"unknown API version": {func(_ *testing.T, _ *lab, c *config) { c.replace(initPath, "v1beta4", "v1beta2") }, "does not know"},
		"arguments of another API version": {
			func(_ *testing.T, _ *lab, c *config) { c.replace(initPath, "v1beta4", "v1beta3") },
			"kubeletExtraArgs",
		},
		"another version": {
			func(_ *testing.T, _ *lab, c *config) { c.replace(initPath, "v1.34.1", "v1.33.0") },
			`kubernetesVersion is "v1.33.0", and the machine has v1.34.1`,
		},
		"another endpoint": {func(_ *testing.T, l *lab, c *config) {
			c.replace(initPath, l.network.Endpoint.Host, "127.9.9.9")
		}, "is not where this machine's API server answers"},
		"forbidden node label": {func(_ *testing.T, _ *lab, c *config) {
			c.replace(initPath, "example.org/pool=cp", "node-role.kubernetes.io/worker=")
		}, "unknown 'kubernetes.io' or 'k8s.io' labels"},
		"no CA key":  {func(_ *testing.T, _ *lab, c *config) { delete(c.files, pkiPath+"ca.key") }, "/etc/kubernetes/pki/ca.key is not there"},
		"no etcd CA": {func(_ *testing.T, _ *lab, c *config) { delete(c.files, pkiPath+"etcd/ca.crt") }, "/etc/kubernetes/pki/etcd/ca.crt is not there"},
		"no front proxy CA": {
			func(_ *testing.T, _ *lab, c *config) { delete(c.files, pkiPath+"front-proxy-ca.crt") },
			"/etc/kubernetes/pki/front-proxy-ca.crt is not there",
		},
		"no service account key": {func(_ *testing.T, _ *lab, c *config) { delete(c.files, pkiPath+"sa.key") }, "/etc/kubernetes/pki/sa.key is not there"},
		"readable key":           {func(_ *testing.T, _ *lab, c *config) { c.modes[pkiPath+"etcd/ca.key"] = "0640" }, "has mode 0640"},
		"key of another authority": {
			func(_ *testing.T, l *lab, c *config) { c.files[pkiPath+"ca.key"] = l.pki["etcd/ca.key"] },
			"private key does not match public key",
		},
		"other service account key": {
			func(t *testing.T, _ *lab, c *config) { c.files[pkiPath+"sa.key"] = newTestPKI(t)["sa.key"] },
			"the public key does not belong to the private key",
		},
		"expired authority": {func(t *testing.T, _ *lab, c *config) {
			c.files[pkiPath+"ca.crt"], c.files[pkiPath+"ca.key"] = newTestCA(t, -time.Minute)
		}, "expired or not yet valid"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, CloudOptions{})
				c := l.pki.initConfig(l.network.Endpoint)
				tc.spoil(t, l, c)
				v := l.boot("cp-0", c)
				time.Sleep(10 * time.Minute)
				got := l.machine(v.ID)
				if !strings.Contains(got.Message, tc.want) {
					t.Errorf("console = %q, want it to say %q", got.Message, tc.want)
				}
				if l.ready("cp-0") != "absent" || l.available() {
					t.Error("a machine with wrong data made a cluster")
				}
				if got.State != "Running" {
					t.Errorf("state = %s, want Running: the virtual machine is well", got.State)
				}
			})
		})
	}
}

// TestNoTemplate: without the template header the name stays as it is written.
func TestNoTemplate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		c := l.pki.initConfig(l.network.Endpoint)
		c.header = "#cloud-config\n"
		v := l.boot("cp-0", c)
		if got := l.machine(v.ID); l.ready("cp-0") != "absent" {
			t.Errorf("a name that is no template was rendered; console %q", got.Message)
		}
	})
}

func TestSecondInitIsNoPartOfTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		l.bootInit("cp-0")
		v := l.bootInit("cp-1")
		if got := l.machine(v.ID).Message; !strings.Contains(got, "made a second cluster of its own") || l.ready("cp-1") != "absent" {
			t.Errorf("console = %q, ready %s", got, l.ready("cp-1"))
		}
	})
}

func TestReadCloudConfig(t *testing.T) {
	const zipped = "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==" // "hello"
	got, err := readCloudConfig([]byte(`## template: jinja
#cloud-config
write_files:
- {path: /plain, content: "a {{ v1.local_hostname }}"}
- {path: /mode, content: b, permissions: "0600"}
- {path: /number, content: b, permissions: 0640}
- {path: /base64, content: `+b64("bytes")+`, encoding: b64}
- {path: /gzip, content: `+zipped+`, encoding: gzip+base64}
- {path: /append, content: one}
- {path: /append, content: two, append: true}
- {path: /raw, content: "{% raw %}{{ not.mine }}{% endraw %}"}
- {path: /missing, content: "{{ ds.meta_data.moon }}"}
- {path: /key, content: "{{ ds.meta_data['local-hostname'] }}"}
runcmd:
- echo hello
- [ls, -l]
users: [{name: core}]
`), map[string]string{"v1.local_hostname": "m-0", "ds.meta_data.local_hostname": "m-1"})
	if err != nil {
		t.Fatal(err)
	}
	files, modes := map[string]string{}, map[string]string{}
	for path, f := range got.files {
		files[path], modes[path] = string(f.content), f.mode.String()
	}
	if d := cmp.Diff(map[string]string{
		"/plain": "a m-0", "/mode": "b", "/number": "b", "/base64": "bytes", "/gzip": "hello",
		"/append": "onetwo", "/raw": "{{ not.mine }}", "/missing": "CI_MISSING_JINJA_VAR/moon", "/key": "m-1",
	}, files); d != "" {
		t.Errorf("files: %s", d)
	}
	for path, want := range map[string]string{"/plain": "-rw-r--r--", "/mode": "-rw-------", "/number": "-rw-r-----"} {
		if modes[path] != want {
			t.Errorf("mode of %s = %s, want %s", path, modes[path], want)
		}
	}
	if d := cmp.Diff([]string{"echo hello", "ls -l"}, got.commands); d != "" {
		t.Errorf("commands: %s", d)
	}
}

func TestReadCloudConfigErrors(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"no path":          {"write_files: [{content: a}]", "no path"},
		"unknown encoding": {"write_files: [{path: /a, content: a, encoding: rot13}]", `no encoding "rot13"`},
		"broken base64":    {"write_files: [{path: /a, content: '%', encoding: base64}]", "illegal base64"},
		"broken gzip":      {"write_files: [{path: /a, content: " + b64("plain text, no archive") + ", encoding: gz+b64}]", "gzip"},
		"mode in words":    {"write_files: [{path: /a, content: a, permissions: rw}]", "no octal number"},
		"mode as a list":   {"write_files: [{path: /a, content: a, permissions: [6]}]", "no number"},
		"command as a map": {"runcmd: [{a: b}]", "neither a string nor a list"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readCloudConfig([]byte("#cloud-config\n"+tc.in), nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want it to say %q", err, tc.want)
			}
		})
	}
}

// TestOldKubeadm: kubeadm below 1.31 does not know v1beta4.
func TestOldKubeadm(t *testing.T) {
	c := newTestPKI(t).initConfig(fleet.Endpoint{Host: "127.0.0.1", Port: 6443})
	c.replace(initPath, "v1.34.1", "v1.30.4")
	_, err := parseBoot(VMSpec{Name: "cp-0", Version: "v1.30.4", UserData: c.bytes()}, "id")
	if err == nil || !strings.Contains(err.Error(), "does not know") {
		t.Errorf("error = %v, want it to say that the API version is not known", err)
	}
}

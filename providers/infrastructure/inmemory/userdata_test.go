package inmemory

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// TestWrongJoin: a join with wrong data adds no Node, and says why: at once, or
// after kubeadm's patience is over.
func TestWrongJoin(t *testing.T) {
	const gaveUp = "kubeadm join: gave up after 5m0s: "
	for name, tc := range map[string]struct {
		control bool
		spoil   func(*testing.T, *lab, *config)
		token   func(*corev1.Secret)
		at      time.Duration // when it has said its last word
		want    string
	}{
		"another endpoint": {
			spoil: func(_ *testing.T, l *lab, c *config) { c.replace(joinPath, l.network.Endpoint.Host, "127.9.9.9") },
			at:    5 * time.Minute, want: gaveUp + "couldn't validate the identity of the API Server",
		},
		"another CA hash": {
			spoil: func(_ *testing.T, l *lab, c *config) {
				c.replace(joinPath, firstHash([]byte(l.pki["ca.crt"])), firstHash([]byte(l.pki["etcd/ca.crt"])))
			},
			want: "kubeadm join: couldn't validate the identity of the API Server: cluster CA found in cluster-info ConfigMap is invalid",
		},
		"no CA hash": {
			spoil: func(_ *testing.T, l *lab, c *config) {
				c.replace(joinPath, "caCertHashes: ["+firstHash([]byte(l.pki["ca.crt"]))+"]", "caCertHashes: []")
			},
			want: "without caCertHashes can be unsafe",
		},
		"unknown token": {
			spoil: func(_ *testing.T, _ *lab, c *config) { c.replace(joinPath, "abcdef.", "ghijkl.") },
			at:    5 * time.Minute, want: gaveUp + `couldn't validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID "ghijkl"`,
		},
		"expired token": {
			token: func(s *corev1.Secret) {
				s.Data["expiration"] = []byte(time.Now().Add(-time.Second).Format(time.RFC3339))
			},
			at: 5 * time.Minute, want: gaveUp + "couldn't validate the identity of the API Server: could not find a JWS signature",
		},
		"token of another type": {
			token: func(s *corev1.Secret) { s.Type = "Opaque" },
			at:    5 * time.Minute, want: gaveUp + "couldn't validate the identity of the API Server: could not find a JWS signature",
		},
		"token for nothing": {
			token: func(s *corev1.Secret) { delete(s.Data, "usage-bootstrap-signing") },
			at:    5 * time.Minute, want: gaveUp + "couldn't validate the identity of the API Server: could not find a JWS signature",
		},
		"token without rights": {
			token: func(s *corev1.Secret) { delete(s.Data, "auth-extra-groups") },
			at:    5 * time.Minute, want: "may not request a certificate",
		},
		"wrong secret": {
			spoil: func(_ *testing.T, _ *lab, c *config) { c.replace(joinPath, "0123456789abcdef", "fedcba9876543210") },
			want:  "failed to verify JWS signature",
		},
		"malformed token": {
			spoil: func(_ *testing.T, _ *lab, c *config) { c.replace(joinPath, testToken, "abc.def") },
			want:  "the bootstrap token is not of the form",
		},
		"no discovery": {
			spoil: func(_ *testing.T, _ *lab, c *config) { c.replace(joinPath, "bootstrapToken:", "tlsBootstrap:") },
			want:  "discovery.bootstrapToken: Required value",
		},
		"init's document": {
			spoil: func(_ *testing.T, _ *lab, c *config) { c.replace(joinPath, "JoinConfiguration", "InitConfiguration") },
			want:  "no JoinConfiguration",
		},
		"name of a ready node": {
			spoil: func(_ *testing.T, _ *lab, c *config) {
				c.replace(joinPath, "{{ ds.meta_data.local_hostname }}", "cp-0")
			},
			want: `a Node with name "cp-0" and status "Ready" already exists`,
		},
		"control plane without keys": {
			control: true,
			spoil:   func(_ *testing.T, _ *lab, c *config) { delete(c.files, pkiPath+"sa.pub") },
			want:    "/etc/kubernetes/pki/sa.pub is not there",
		},
		"control plane with other authorities": {
			control: true,
			spoil: func(t *testing.T, _ *lab, c *config) {
				c.files[pkiPath+"etcd/ca.crt"], c.files[pkiPath+"etcd/ca.key"] = newTestCA(t, time.Hour)
			},
			want: "are not those of the cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t, CloudOptions{})
				l.bootInit("cp-0")
				l.token(tc.token)
				c := l.pki.joinConfig(l.network.Endpoint, tc.control)
				if tc.spoil != nil {
					tc.spoil(t, l, c)
				}
				v := l.boot("m-0", c)
				time.Sleep(tc.at)
				synctest.Wait()
				if got := l.machine(v.ID).Message; !strings.Contains(got, tc.want) {
					t.Errorf("console = %q, want it to say %q", got, tc.want)
				}
				if l.ready("m-0") != "absent" {
					t.Error("a machine with wrong data became a Node")
				}
				l.token(nil)                                        // too late
				if err := l.StopVM(t.Context(), v.ID); err != nil { // cloud-init runs once
					t.Fatal(err)
				}
				if err := l.StartVM(t.Context(), v.ID); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				if l.ready("m-0") != "absent" {
					t.Error("a machine whose kubeadm has ended became a Node")
				}
			})
		})
	}
}

// TestJoinWaits: a token that comes within kubeadm's patience is in time.
func TestJoinWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, CloudOptions{})
		early := l.bootWorker("w-0")
		if got := l.machine(early.ID).Message; !strings.HasPrefix(got, "kubeadm join: waiting: ") {
			t.Errorf("console before there is a cluster = %q", got)
		}
		l.bootInit("cp-0")
		time.Sleep(4 * time.Minute)
		if got := l.ready("w-0"); got != "absent" {
			t.Errorf("ready without a token = %s", got)
		}
		l.token(nil)
		time.Sleep(10 * time.Second)
		if got := l.machine(early.ID); l.ready("w-0") != "True" || got.Message != "" {
			t.Errorf("ready = %s, console %q, want a Node and an empty console", l.ready("w-0"), got.Message)
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

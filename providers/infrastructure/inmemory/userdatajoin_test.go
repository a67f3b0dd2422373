package inmemory

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

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

package fleet_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/fleet"
)

// TestSecretMovesWhileAChangeWaits: a Secret moves from Git to the secret store, or the other way, while a change waits.
func TestSecretMovesWhileAChangeWaits(t *testing.T) {
	k := fleet.Key{Namespace: "prod", Name: "s"}
	git := func(v string) fleet.Object {
		return fleet.Object{Secrets: map[fleet.Key]fleet.SecretData{k: fleet.NewSecretData(map[string][]byte{"p": []byte(v)})}}
	}
	stored := fleet.Object{Stored: []fleet.Key{k}}
	a, b := &fleet.Cluster{Infrastructure: git("leaked")}, &fleet.Cluster{Infrastructure: stored}
	if got := a.WhileWaiting(b).Infrastructure; len(got.Secrets) > 0 || len(got.Stored) != 1 {
		t.Errorf("Git to store: still used: %s; stored %v", got.Secrets[k]["p"].Reveal(), got.Stored)
	}
	a, b = &fleet.Cluster{Infrastructure: stored}, &fleet.Cluster{Infrastructure: git("new")}
	if got := a.WhileWaiting(b).Infrastructure; string(got.Secrets[k]["p"].Reveal()) != "new" || len(got.Stored) > 0 {
		t.Errorf("store to Git: %v, stored %v", got.Secrets, got.Stored)
	}
}

// TestCredentialsWaitWithWhatNamesThem: a Secret that changes together with the reference of a pool, or with the object
// that refers to it, belongs to what waits.
func TestCredentialsWaitWithWhatNamesThem(t *testing.T) {
	k, other := fleet.Key{Namespace: "prod", Name: "login"}, fleet.Key{Namespace: "prod", Name: "ssh"}
	type say struct{ cloud, user, secret string }
	define := func(rev string, is say, pools ...fleet.PoolName) *fleet.Cluster {
		object := func(kind, spec string, k fleet.Key) fleet.Object {
			return fleet.Object{
				GVK: schema.GroupVersionKind{Kind: kind}, Namespace: "prod", Name: "x", Spec: []byte(spec),
				Secrets: map[fleet.Key]fleet.SecretData{k: fleet.NewSecretData(map[string][]byte{"p": []byte(is.secret)})},
			}
		}
		c := &fleet.Cluster{Digest: rev, Infrastructure: object("OpenStackCluster", `{}`, k), Companions: []fleet.Object{object("HostPool", `{"user":"`+is.user+`"}`, other)}}
		for _, name := range pools {
			c.Workers = append(c.Workers, fleet.Pool{
				Name: name, Role: fleet.RoleWorker, Template: fleet.TemplateHash("3-" + rev),
				Infrastructure: object("OpenStackMachineTemplate", `{"flavor":"`+rev+`","identityRef":{"cloudName":"`+is.cloud+`"}}`, k),
			})
		}
		return c
	}
	for name, c := range map[string]struct {
		next                 *fleet.Cluster
		cluster, pool, hosts string
	}{
		"nothing else":        {define("2", say{"a", "root", "new"}, "md"), "new", "new", "new"},
		"the cloud of a pool": {define("2", say{"b", "root", "new"}, "md"), "old", "old", "old"},
		"the user of hosts":   {define("2", say{"a", "deploy", "new"}, "md"), "new", "new", "old"},
		"a pool comes":        {define("2", say{"a", "root", "new"}, "md", "more"), "new", "new", "new"},
		"a pool goes":         {define("2", say{"a", "root", "new"}), "new", "new", "new"},
	} {
		got := define("1", say{"a", "root", "old"}, "md").WhileWaiting(c.next)
		of := func(o fleet.Object, k fleet.Key) string { return string(o.Secrets[k]["p"].Reveal()) }
		if a, b, h := of(got.Infrastructure, k), of(got.Workers[0].Infrastructure, k), of(got.Companions[0], other); a != c.cluster || b != c.pool || h != c.hosts {
			t.Errorf("%s changes, too: the cluster uses %q, the pool %q, the hosts %q; want %q, %q, %q", name, a, b, h, c.cluster, c.pool, c.hosts)
		}
	}
}

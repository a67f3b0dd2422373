package cloud_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/openstackauth"
	"fairlead.dev/providers/infrastructure/openstack/cloud"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

// One refusal answers for all clusters for a while, so that the account is not locked.
func TestRefusedCredential(t *testing.T) {
	inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, p *cloud.Project) {
		c.SetPassword("alice", "another")
		for range 50 {
			_, err := p.Snapshot(t.Context(), eu1())
			if fleet.KindOf(err) != fleet.Unauthorized || !strings.Contains(err.Error(), "The request you have made requires authentication.") || !strings.Contains(err.Error(), "Secret prod/creds") {
				t.Fatalf("%v, want Keystone's words and the Secret", err)
			}
		}
		posts := 0
		for _, call := range c.Calls() {
			if call.Method == http.MethodPost {
				posts++
			}
		}
		if posts != 1 {
			t.Errorf("Keystone was asked %d times, want once", posts)
		}
		c.SetPassword("alice", "alice-secret")
		time.Sleep(time.Minute)
		see(t, p, eu1())
		c.RevokeTokens()
		time.Sleep(time.Minute)
		see(t, p, eu1())
		c.RevokeTokens()
		c.SetPassword("alice", "another")
		time.Sleep(time.Minute)
		if _, err := p.Snapshot(t.Context(), eu1()); fleet.KindOf(err) != fleet.Unauthorized {
			t.Errorf("with a token that cannot be renewed: %v, want kind Unauthorized", err)
		}
	})
}

func TestCredential(t *testing.T) {
	const auth = "auth: {auth_url: http://x/v3, username: u, password: s3cret, project_name: p, user_domain_name: d, project_domain_name: d}"
	good := "clouds: {openstack: {" + auth + "}}"
	for reason, tc := range map[string]struct {
		change func(c *openstackauth.Credential)
		want   string
	}{
		"nothing":       {func(c *openstackauth.Credential) { c.Secret = nil }, "it has no key clouds.yaml"},
		"no YAML":       {func(c *openstackauth.Credential) { *c = credential("{s3cret") }, "is not YAML"},
		"another cloud": {func(c *openstackauth.Credential) { c.Cloud = "other" }, `no cloud "other"; it has ["openstack"]`},
		"no auth":       {func(c *openstackauth.Credential) { *c = credential("clouds: {openstack: {region_name: s3cret}}") }, "no auth.auth_url"},
		"a vendor": {func(c *openstackauth.Credential) {
			*c = credential("clouds: {openstack: {profile: rackspace, auth: {username: s3cret}}}")
		}, "no auth.auth_url"},
		"a file": {func(c *openstackauth.Credential) {
			*c = credential("clouds: {openstack: {cacert: /etc/ca.pem, " + auth + "}}")
		}, "names the file /etc/ca.pem"},
		"no certificate": {func(c *openstackauth.Credential) {
			c.Secret[openstackauth.CACertKey] = fleet.NewSecret([]byte("s3cret"))
		}, "cacert holds no certificate in PEM"},
		"half a pair": {func(c *openstackauth.Credential) { c.Secret["cert"] = fleet.NewSecret([]byte("s3cret")) }, "needs cert and key"},
		"a file of a key": {func(c *openstackauth.Credential) {
			*c = credential("clouds: {openstack: {cert: /c, key: /k, " + auth + "}}")
		}, "needs cert and key"},
	} {
		c := credential(good)
		tc.change(&c)
		c.From = "Secret prod/creds"
		_, err := cloud.NewSessions(cloud.Options{}).Project(c)
		if fleet.KindOf(err) != fleet.Unauthorized || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "Secret prod/creds") {
			t.Errorf("%s: %v, want %q", reason, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v shows the credential", reason, err)
		}
	}
	s := cloud.NewSessions(cloud.Options{})
	a, err := s.Project(credential(good))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := s.Project(credential(good))
	rotated, _ := s.Project(credential(strings.Replace(good, "s3cret", "new", 1)))
	if a != again || a == rotated || rotated == nil {
		t.Error("the same credential must give the same session, a rotated one another")
	}
	t.Setenv("OS_REGION_NAME", "elsewhere")
	e, err := cloud.NewSessions(cloud.Options{}).Project(credential(good))
	if err != nil || e.Region() != "" {
		t.Errorf("region %q, %v, want nothing of the environment", e.Region(), err)
	}
}

// A token that cannot be renewed is not asked for again and again, whoever shares
// the credential: that locks accounts.
func TestRefusedRenewal(t *testing.T) {
	inBubble(t, cloud.Options{}, func(t *testing.T, c *ost.Cloud, p *cloud.Project) {
		see(t, p, eu1())
		c.SetPassword("alice", "another")
		c.RevokeTokens()
		time.Sleep(time.Minute)
		c.ForgetCalls()
		for range 20 {
			if _, err := p.Snapshot(t.Context(), eu1()); fleet.KindOf(err) != fleet.Unauthorized || !strings.Contains(err.Error(), "requires authentication") {
				t.Fatalf("%v, want Keystone's words", err)
			}
		}
		posts := 0
		for _, call := range c.Calls() {
			if call.Method == http.MethodPost {
				posts++
			}
		}
		if posts != 1 {
			t.Errorf("Keystone was asked %d times, want once", posts)
		}
		c.SetPassword("alice", "alice-secret")
		time.Sleep(time.Minute)
		see(t, p, eu1())
	})
}

package aws_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// identityProvider is an identity provider of people, in the spec of a control plane.
const identityProvider = "oidcIdentityProviderConfig: {identityProviderConfigName: people, issuerUrl: 'https://login.example.com', clientId: fairlead, groupsClaim: groups, requiredClaims: {org: a}, tags: {team: a}}, "

// identityProviders returns the identity providers, as "name client status".
func (w *managedWorld) identityProviders() string {
	var out []string
	for _, t := range w.cloud.Things(awstest.IdentityProviders) {
		out = append(out, t.Attr["name"]+" "+t.Attr["oidc.clientId"]+" "+t.Attr["status"])
	}
	return strings.Join(out, ", ")
}

// TestIdentityProvider: an identity provider of people is associated and disassociated as Git says. What EKS fills in is no difference, and
// a cluster without one costs no request.
func TestIdentityProvider(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		time.Sleep(time.Minute)
		if n := w.made("ListIdentityProviderConfigs"); n > 0 {
			t.Errorf("%d listings for a cluster without one", n)
		}
		w.change("{", "{"+identityProvider)
		if s, _ := w.look(); !s.Ready || !strings.Contains(fmt.Sprint(s.Drift), "associate identity provider people") {
			t.Errorf("%+v", s)
		}
		w.rest()
		time.Sleep(time.Minute)
		p := w.cloud.Things(awstest.IdentityProviders)[0]
		if w.identityProviders() != "people fairlead ACTIVE" || !w.cluster.Owns(p.Tags) || p.Tags["team"] != "a" || p.Attr["oidc.groupsClaim"] != "groups" || p.Attr["claims"] != `{"org":"a"}` {
			t.Errorf("it is %+v", p)
		}
		w.cloud.Edit(p.ID, func(p *awstest.Thing) {
			p.Attr["oidc.usernameClaim"], p.Attr["oidc.usernamePrefix"] = "sub", "https://login.example.com#"
			delete(p.Tags, "team")
		})
		w.rest()
		if p, _ = w.cloud.Thing(p.ID); p.Tags["team"] != "a" || w.made("AssociateIdentityProviderConfig") != 1 {
			t.Errorf("it is %+v, associated %d times", p, w.made("AssociateIdentityProviderConfig"))
		}
		now := identityProvider
		for _, change := range [][3]string{{"clientId: fairlead", "clientId: other", "clientId"}, {"groups, ", "teams, groupsPrefix: g, usernameClaim: email, usernamePrefix: '-', ", "groupsClaim, groupsPrefix, usernameClaim, usernamePrefix"}, {"org: a", "org: b", "requiredClaims"}} {
			now = strings.Replace(now, change[0], change[1], 1)
			w.change("{", "{"+now)
			if s, _ := w.look(); !s.Ready || !strings.Contains(fmt.Sprint(s.Drift), "disassociate identity provider people, which differs in "+change[2]+": it is") {
				t.Errorf("%q: %+v", change, s)
			}
			w.rest()
			time.Sleep(time.Minute)
		}
		if w.identityProviders() != "people other ACTIVE" || w.made("DisassociateIdentityProviderConfig") != 3 {
			t.Errorf("%s, disassociated %d times", w.identityProviders(), w.made("DisassociateIdentityProviderConfig"))
		}
		w.change("{", "{")
		w.rest()
		time.Sleep(time.Minute)
		w.rest()
		w.cloud.Forget()
		w.rest()
		if w.identityProviders() != "" || w.made("ListIdentityProviderConfigs") > 0 {
			t.Errorf("left is %q, listed %d times", w.identityProviders(), w.made("ListIdentityProviderConfigs"))
		}
		w.quiet()
	})
}

// TestIdentityProviderOfOthers: one of people stays, and is told. What EKS refuses is told, and holds nothing else.
func TestIdentityProviderOfOthers(t *testing.T) {
	inCluster(t, strings.Replace(planeSpec, "{", "{"+identityProvider, 1), groupSpec, func(w *managedWorld) {
		w.rest()
		time.Sleep(time.Minute)
		p := w.cloud.Things(awstest.IdentityProviders)[0]
		tags := maps.Clone(p.Tags)
		w.cloud.Edit(p.ID, func(p *awstest.Thing) { p.Tags = map[string]string{} })
		wantKind(t, "one of others", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "identity provider people is there without the tags of this cluster, and EKS takes one (disassociate it")
		w.change("{", "{")
		w.rest()
		if w.identityProviders() != "people fairlead ACTIVE" {
			t.Errorf("of others there is %q", w.identityProviders())
		}
		w.cloud.Edit(p.ID, func(p *awstest.Thing) { p.Tags = tags })
		w.change("{", "{logging: {apiServer: true}, "+strings.Replace(identityProvider, "login", "missing", 1))
		for range 12 {
			w.step()
			time.Sleep(time.Minute)
		}
		if k := w.cloud.Things(awstest.ManagedClusters)[0]; w.identityProviders() != "" || !strings.Contains(k.Attr["logging"], `"api"`) || !strings.Contains(fmt.Sprint(w.errs), "Issuer url https://missing.example.com") {
			t.Errorf("%q, %s, errors %v", w.identityProviders(), k.Attr["logging"], w.errs)
		}
		w.errs = nil
		w.cloud.Deny("ListIdentityProviderConfigs", true)
		wantKind(t, "without the permission", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Unauthorized, "allow eks:ListIdentityProviderConfigs")
		w.change("{", "{logging: {apiServer: true}, ")
		if s, _ := w.look(); !s.Ready || !strings.Contains(fmt.Sprint(s.Drift), "ListIdentityProviderConfigs") {
			t.Errorf("%+v", s)
		}
		w.cluster.Delete = true
		w.rest()
		w.quiet()
	})
}

// TestIdentityProviderSweep
func TestIdentityProviderSweep(t *testing.T) {
	live := func(w *managedWorld, client *awstest.Client) {
		w.start(client)
		rest := func() {
			for range 150 {
				if client.Dead() {
					client = w.cloud.Client()
					w.start(client)
				}
				if w.step() && !client.Dead() {
					return
				}
			}
			w.Fatalf("not at rest: %v", w.errs)
		}
		w.change("{", "{"+identityProvider)
		rest()
		w.change("{", "{"+strings.Replace(identityProvider, "clientId: fairlead", "clientId: other", 1))
		rest()
		w.change("{", "{")
		rest()
		w.change("{", "{"+identityProvider)
		rest()
		if got := w.identityProviders(); !strings.HasPrefix(got, "people fairlead") {
			w.Errorf("%s", got)
		}
		w.cluster.Delete = true
		rest()
		if left := len(w.cloud.Things(awstest.ManagedClusters)); left > 0 {
			w.Errorf("left: %v", left)
		}
	}
	changes := 0
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		client := w.cloud.Client()
		live(w, client)
		changes = client.Changes()
	})
	for n := 1; n <= changes; n++ {
		for _, cut := range []awstest.Cut{awstest.Before, awstest.After} {
			inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
				client := w.cloud.Client()
				client.DieAtChange(n, cut)
				live(w, client)
			})
		}
	}
}

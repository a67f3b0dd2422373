package aws_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/aws/awstest"
)

// trustSpec is a control plane whose service accounts may have roles.
var trustSpec = strings.Replace(planeSpec, "{", "{associateOIDCProvider: true, ", 1)

// trust returns the only OIDC provider.
func (w *managedWorld) trust() awstest.Thing {
	w.Helper()
	all := w.cloud.Things(awstest.Trusts)
	if len(all) != 1 {
		w.Fatalf("%d OIDC providers", len(all))
	}
	return all[0]
}

// quiet fails if there were errors.
func (w *managedWorld) quiet() {
	w.Helper()
	if len(w.errs) > 0 {
		w.Errorf("errors: %v", w.errs)
	}
}

// TestTrust: IAM trusts the tokens of service accounts if Git says so, and no longer once Git does not.
func TestTrust(t *testing.T) {
	inCluster(t, trustSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		is := w.trust()
		if !strings.HasPrefix(is.ID, "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-central-1.amazonaws.com/id/") || !slices.Equal(is.Sets["audiences"], []string{"sts.amazonaws.com"}) || !w.cluster.Owns(is.Tags) {
			t.Errorf("it is %+v", is)
		}
		before := w.made("GetOpenIDConnectProvider")
		for range 3 {
			w.look()
		}
		if n := w.made("GetOpenIDConnectProvider") - before; n > 0 {
			t.Errorf("%d requests for what is known", n)
		}
		time.Sleep(10 * time.Minute)
		w.cloud.Edit(is.ID, func(t *awstest.Thing) { t.Sets["audiences"] = nil })
		w.change("{", "{associateOIDCProvider: true, additionalTags: {team: a}, ")
		w.rest()
		if is := w.trust(); !slices.Equal(is.Sets["audiences"], []string{"sts.amazonaws.com"}) || is.Tags["team"] != "a" {
			t.Errorf("it is %+v", is)
		}
		w.change("{", "{")
		w.rest()
		if left := w.cloud.Things(awstest.Trusts); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		w.cloud.Forget()
		time.Sleep(10 * time.Minute)
		w.rest()
		if n := w.made("GetOpenIDConnectProvider"); n > 0 {
			t.Errorf("%d requests for what is not wanted", n)
		}
		w.change("{", "{associateOIDCProvider: true, ")
		w.rest()
		w.cluster.Delete = true
		w.rest()
		if left := w.cloud.Things(awstest.Trusts); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		w.quiet()
	})
}

// TestTrustOfOthers: one that people made of the issuer does as well. It is not changed, and stays.
func TestTrustOfOthers(t *testing.T) {
	inCluster(t, trustSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		id := w.trust().ID
		w.cloud.Edit(id, func(t *awstest.Thing) { t.Tags = map[string]string{} })
		time.Sleep(10 * time.Minute)
		w.cloud.Forget()
		w.rest()
		w.cloud.Edit(id, func(t *awstest.Thing) { t.Sets["audiences"] = []string{"mine"} })
		time.Sleep(10 * time.Minute)
		if s, _ := w.look(); !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "takes no tokens for sts.amazonaws.com (add this audience") {
			t.Errorf("%+v", s)
		}
		wantKind(t, "one of others", w.plane.Ensure(w.Context(), w.op(), &w.cluster), fleet.Invalid, "without the tags of this cluster")
		w.change("{", "{")
		w.rest()
		w.cluster.Delete = true
		w.rest()
		if n := w.made("CreateOpenIDConnectProvider") + w.made("DeleteOpenIDConnectProvider") + w.made("TagOpenIDConnectProvider") + w.made("AddClientIDToOpenIDConnectProvider"); n > 0 || w.trust().ID != id {
			t.Errorf("%d changes of it", n)
		}
	})
}

// TestTrustShowsLate: one that was just made is not found for seconds, and asked for again without an error.
func TestTrustShowsLate(t *testing.T) {
	inCluster(t, planeSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.change("{", "{associateOIDCProvider: true, ")
		for range 2 {
			w.say(w.plane.Ensure(w.Context(), w.op(), &w.cluster))
		}
		if w.trust(); w.made("CreateOpenIDConnectProvider") != 2 {
			t.Errorf("asked for %d times", w.made("CreateOpenIDConnectProvider"))
		}
		w.quiet()
	})
}

// TestTrustIsOrphaned: one whose cluster of EKS people deleted is listed once the cluster left Git, and goes.
func TestTrustIsOrphaned(t *testing.T) {
	inCluster(t, trustSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		other := w.cluster
		other.Key.Name = "eu-2"
		orphans := func() (out []fleet.Orphan) {
			found, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range found {
				if o.Kind == "OIDC provider" {
					out = append(out, o)
				}
			}
			return out
		}
		found := orphans()
		if len(found) != 1 || found[0].ID != w.trust().ID {
			t.Fatalf("orphans %v", found)
		}
		if err := w.provider.RemoveOrphan(w.Context(), "fleet-a", []*fleet.Cluster{&other}, found[0]); err != nil || len(w.cloud.Things(awstest.Trusts)) > 0 {
			t.Errorf("it is there: %v", err)
		}
		w.cloud.Deny("ListOpenIDConnectProviders", true)
		_, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other})
		wantKind(t, "a fleet with OIDC providers", err, fleet.Unauthorized, "allow iam:ListOpenIDConnectProviders in the policy")
		setPlane(t, &other, planeSpec)
		if _, err := w.provider.Orphans(w.Context(), "fleet-a", []*fleet.Cluster{&other}); err != nil {
			t.Errorf("a fleet without: %v", err)
		}
	})
}

// TestOutageOfIAM: a cluster whose OIDC provider was seen is looked after while IAM is away. What it denies is told.
func TestOutageOfIAM(t *testing.T) {
	inCluster(t, trustSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		time.Sleep(10 * time.Minute)
		end := w.cloud.Inject(awstest.Fault{Action: "GetOpenIDConnectProvider", Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable"})
		if s, _ := w.look(); !s.Ready || len(s.Drift) > 0 {
			t.Errorf("%+v", s)
		}
		end()
		end = w.cloud.Inject(awstest.Fault{Action: "GetOpenIDConnectProvider", Status: http.StatusServiceUnavailable, Code: "ServiceUnavailable"})
		w.start(w.cloud.Client()) // another one, which never saw it
		if s, _ := w.look(); !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "look at OIDC provider") {
			t.Errorf("%+v", s)
		}
		end()
		w.cloud.Deny("GetOpenIDConnectProvider", true)
		if s, _ := w.look(); !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "allow iam:GetOpenIDConnectProvider in the policy") {
			t.Errorf("%+v", s)
		}
		w.quiet()
	})
}

// TestClusterWithoutIssuer: a cluster that EKS could not create has no issuer, and can be deleted.
func TestClusterWithoutIssuer(t *testing.T) {
	inCluster(t, trustSpec, groupSpec, func(w *managedWorld) {
		w.cluster.KeptPools = nil
		w.rest()
		w.cloud.Edit(w.cloud.Things(awstest.ManagedClusters)[0].ID, func(k *awstest.Thing) { k.Attr["status"] = "FAILED" })
		w.cluster.Delete = true
		w.rest()
		if left := w.cloud.Things(awstest.ManagedClusters); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
		w.quiet()
	})
}

// TestDropTrustOfOthers: the OIDC provider of others stays when the cluster goes.
func TestDropTrustOfOthers(t *testing.T) {
	inCluster(t, trustSpec, groupSpec, func(w *managedWorld) {
		w.rest()
		w.cloud.Edit(w.trust().ID, func(t *awstest.Thing) { t.Tags = map[string]string{"owner": "terraform"} })
		w.cluster.Delete = true
		w.rest()
		w.trust()
		w.quiet()
	})
}

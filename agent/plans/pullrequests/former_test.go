package pullrequests

import (
	"testing"

	"fairlead.dev/agent/plans/forge/forgetest"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// What a former version planned says its failures to programs, too.
func TestPlanOfFormerVersion(t *testing.T) {
	w := newWorld()
	k := fleet.Key{Namespace: "prod", Name: "a"}
	after := w.fleets["base"]
	after.Clusters = []fleet.Cluster{{Key: k, Digest: "x", Fleet: "f"}}
	w.dark = fleet.Errorf(fleet.Unavailable, "look", "dial 10.0.0.7:6443")
	w.propose(1, after)
	w.settled(t, w.start())
	p := w.plans[1]
	p.Errors, p.Headline, p.Comment = nil, "", "" // it wrote none of them
	w.plans[1] = p
	w.settled(t, w.start())
	if len(w.plans[1].Errors) == 0 {
		t.Errorf("verdict %s, and programs are told no error", w.plans[1].Verdict)
	}
}

// What a former version planned where the Git provider is none that is supported any more does not stay for ever.
func TestPlansWithoutForge(t *testing.T) {
	w := newWorld()
	w.plans[1] = status.Plan{Number: 1, Head: forgetest.Hash(1), Base: "main@sha1:1", Verdict: "success", Summary: "nothing to do"}
	w.named = []fleet.Revision{}
	q := w.start()
	q.p.Forge = nil
	w.settled(t, q)
	if len(w.plans) > 0 {
		t.Errorf("there stay %v", w.plans)
	}
}

package hosts

import (
	"maps"
	"strings"
	"testing"

	"fairlead.dev/fleet"
)

// A claim that lost a tag, or has a wrong one, is that of a machine with damaged tags,
// which the planner holds. It is no load balancer, whose host would be cleaned, and the
// load balancer of the cluster leads to it as before: the other hosts know what it was.
func TestDamagedClaim(t *testing.T) {
	const missing = " is missing"
	for name, test := range map[string]struct {
		damage func(tags map[string]string)
		want   string
	}{
		"Machine":     {func(tags map[string]string) { delete(tags, "fairlead.dev/machine") }, "fairlead.dev/machine" + missing},
		"Role":        {func(tags map[string]string) { delete(tags, "fairlead.dev/role") }, "fairlead.dev/role" + missing},
		"Pool":        {func(tags map[string]string) { delete(tags, "fairlead.dev/pool") }, "fairlead.dev/pool" + missing},
		"Template":    {func(tags map[string]string) { delete(tags, "fairlead.dev/template") }, "fairlead.dev/template" + missing},
		"Version":     {func(tags map[string]string) { delete(tags, "fairlead.dev/version") }, "fairlead.dev/version" + missing},
		"OtherRole":   {func(tags map[string]string) { tags["fairlead.dev/role"] = "worker" }, "the claim may be forged: the other hosts of its pool note another claim with that id"},
		"GarbledName": {func(tags map[string]string) { tags["fairlead.dev/machine"] = "??" }, `fairlead.dev/machine is "??", which is no name`},
		"All that only machines have": {func(tags map[string]string) {
			maps.DeleteFunc(tags, func(k, _ string) bool {
				return k != fleet.TagFleet && k != fleet.TagCluster && k != fleet.TagOperation
			})
		}, "fairlead.dev/machine" + missing},
		"None": {func(map[string]string) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTown()
			tags := maps.Clone(w.tags("cp-0"))
			test.damage(tags)
			k := *w.r[0].state.Claim
			k.Tags = tags
			w.r[0].state.Claim = &k
			list := w.r.machines(w.c)
			if len(list) != 1 || list[0].host.Name != "h0" {
				t.Fatalf("machines %+v, want the one on h0", list)
			}
			if got := list[0].machine().Damaged; !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("damaged %q, want %q", got, test.want)
			}
			b, err := w.r.balancer(w.c, w.spec)
			if err != nil || len(b.others) > 0 {
				t.Errorf("%d former load balancers, %v: the host would be cleaned", len(b.others), err)
			}
			if b != nil && !strings.Contains(string(b.config), "server cp-0 10.0.0.0:6443") {
				t.Errorf("the load balancer leads no more to cp-0:\n%s", b.config)
			}
		})
	}
}

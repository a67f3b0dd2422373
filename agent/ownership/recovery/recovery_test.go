package recovery

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/fleet"
)

// TestRun: a fleet is taken over where the plan holds the home alone and nobody else owns
// the fleet.
func TestRun(t *testing.T) {
	home, other := fleet.Key{Namespace: "ops", Name: "home"}, fleet.Key{Namespace: "prod", Name: "eu-1"}
	changes := func(keys ...fleet.Key) *preview.Plan {
		p := &preview.Plan{}
		for _, k := range keys {
			p.Changes = append(p.Changes, preview.Change{Change: "create machine", Cluster: k.String()})
		}
		return p
	}
	gone := fleet.Owner{Agent: "in-home", Epoch: 3}
	for name, c := range map[string]struct {
		reason string
		plan   *preview.Plan
		change func(o *Options)
		want   string // of the error; empty: none
	}{
		"home alone":      {reason: "nothing else would be changed", plan: changes(home)},
		"another cluster": {reason: "its secrets may not be the right ones", plan: changes(home, other), want: "prod/eu-1 would be changed"},
		"meant":           {reason: "a person says so", plan: changes(other), change: func(o *Options) { o.AllowChanges = true }},
		"dry run":         {reason: "nothing is taken over", plan: changes(other), change: func(o *Options) { o.DryRun = true }},
		"another fleet":   {reason: "its secrets are not ours", plan: changes(), change: func(o *Options) { o.Fleet = "other" }, want: `the escrow is that of fleet "f"`},
		"owned":           {reason: "the owner may be there", plan: changes(), change: func(o *Options) { o.Owner = gone }, want: "be sure that it is gone"},
		"owner is gone":   {reason: "a person says so", plan: changes(), change: func(o *Options) { o.Owner, o.TakeOver = gone, gone }},
		"owner came back": {reason: "it is another epoch", plan: changes(), change: func(o *Options) {
			o.Owner, o.TakeOver = fleet.Owner{Agent: "in-home", Epoch: 4}, gone
		}, want: "be sure that it is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := Options{
				Escrow: &escrow.Escrow{Fleet: "f"}, Fleet: "f", Home: home, To: secrets.NewMemory(), Self: "here", Out: &out,
				Plan: func(context.Context) (*preview.Plan, error) { return c.plan, nil },
			}
			if c.change != nil {
				c.change(&o)
			}
			err := Run(t.Context(), o)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

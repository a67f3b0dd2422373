package plan

import (
	"testing"

	"fairlead.dev/fleet"
)

// TestAskedFor: a request means one machine, and not the next one of its host, which may have its provider id. An
// annotation in Git means whichever machine has the id.
func TestAskedFor(t *testing.T) {
	c := (&fleet.Cluster{Workers: []fleet.Pool{{Name: "md"}}}).WithRequests([]fleet.Request{
		{Kind: fleet.RequestReplace, Machine: "one", ProviderID: "maas:///a/x", Answer: fleet.Answer{State: fleet.RequestAccepted}},
	})
	p := &c.Workers[0]
	byGit := &fleet.Pool{Replace: map[fleet.MachineID]string{{ProviderID: "maas:///a/x"}: "asked for in Git"}}
	for name, c := range map[string]struct {
		machine fleet.Machine
		pool    *fleet.Pool
		want    bool
	}{
		"the machine":                {fleet.Machine{Name: "one", ProviderID: "maas:///a/x"}, p, true},
		"the next one of its host":   {fleet.Machine{Name: "two", ProviderID: "maas:///a/x"}, p, false},
		"the next one of its name":   {fleet.Machine{Name: "one", ProviderID: "maas:///a/y"}, p, false},
		"named by Git":               {fleet.Machine{Name: "two", ProviderID: "maas:///a/x"}, byGit, true},
		"one without an id, and Git": {fleet.Machine{Name: "two"}, &fleet.Pool{Replace: map[fleet.MachineID]string{{}: "asked for in Git"}}, false},
	} {
		if got := unwanted(&machine{Machine: &c.machine, pool: c.pool}); got != c.want {
			t.Errorf("%s: it is to be replaced: %t, want %t", name, got, c.want)
		}
	}
}

package pivot

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func opsHome() fleet.Key { return fleet.Key{Namespace: "ops", Name: "home"} }

// next returns the step that is Now, and whether somebody else does it.
func next(list []Step) (Name, bool) {
	for _, s := range list {
		if s.State == Now {
			return s.Name, s.Waits
		}
	}
	return "", false
}

// The lines are a bootstrap from nothing, in their order.
func TestSteps(t *testing.T) {
	s := steps{want: Destination{To: "home.ops.home", Home: opsHome()}, home: true, kubeconfig: true, old: true}
	mine := fleet.Owner{Agent: "laptop", Epoch: 1}
	theirs := fleet.Owner{Agent: "home.ops.home", Epoch: 2}
	at := func(step fleet.SuccessionStep) fleet.Succession {
		return fleet.Succession{ID: "1", To: "home.ops.home", Step: step}
	}
	for _, c := range []struct {
		reason string
		seen   Observed
		want   Name
		waits  bool
	}{
		{"nobody owns a new fleet", Observed{}, Owned, true},
		{"there is no API server yet", Observed{Owner: mine, Unreachable: "no kubeconfig yet"}, Reach, true},
		{"pods need a network", Observed{Owner: mine, Addons: []string{"DaemonSet kube-system/cni"}, ControlPlane: "0 of 3"}, Addons, false},
		{"all machines of the control plane are to be ready", Observed{Owner: mine, ControlPlane: "1 of 3"}, ControlPlane, true},
		{"then the agent", Observed{Owner: mine}, Install, false},
		{"then the owner is asked", Observed{Owner: mine, Installed: true}, Ask, false},
		{"another move has to end first", Observed{Owner: mine, Installed: true, Next: fleet.Succession{ID: "2", To: "other", Step: fleet.StepReady}}, Ask, true},
		{"the owner agrees", Observed{Owner: mine, Installed: true, Next: at(fleet.StepAsked)}, Grant, true},
		{"no secret moves before", Observed{Owner: mine, Installed: true, Next: at(fleet.StepGranted)}, Move, false},
		{"the new agent tries", Observed{Owner: mine, Installed: true, Next: at(fleet.StepMoved)}, Ready, true},
		{"the owner pushes", Observed{Owner: mine, Installed: true, Next: at(fleet.StepReady)}, HandOver, true},
		{"the new owner has not acted", Observed{Owner: theirs, Next: at(fleet.StepHandedOver), Leftover: []string{"ops/home-ca"}}, Acts, true},
		{"people keep a way in", Observed{Owner: theirs, Leftover: []string{"ops/home-ca"}}, WriteConfig, false},
		{"before the secrets go", Observed{Owner: theirs, Kubeconfig: true, Leftover: []string{"ops/home-ca"}, OldAgent: true}, Clean, false},
		{"and the old agent", Observed{Owner: theirs, Kubeconfig: true, OldAgent: true}, Uninstall, false},
		{"all is done", Observed{Owner: theirs, Kubeconfig: true}, "", false},
		{"an agent that was removed meanwhile is installed again", Observed{Owner: mine, Next: at(fleet.StepReady)}, Install, false},
	} {
		got, waits := next(s.Steps(c.seen))
		if got != c.want || waits != c.waits {
			t.Errorf("%s: next is %q (waits %v), want %q (%v)", c.reason, got, waits, c.want, c.waits)
		}
	}
}

// --keep leaves the old store and agent. An owner that is gone is replaced first.
func TestShapes(t *testing.T) {
	names := func(s steps, seen Observed) (out []Name) {
		for _, step := range s.Steps(seen) {
			out = append(out, step.Name)
		}
		return out
	}
	gone := fleet.Owner{Agent: "home.ops.home", Epoch: 4}
	here := steps{want: Destination{To: "laptop", SkipCleanup: true}}
	if diff := cmp.Diff([]Name{Owned, Ask, Grant, Move, Ready, HandOver, Acts}, names(here, Observed{Owner: gone})); diff != "" {
		t.Errorf("a rescue: %s", diff)
	}
	over := steps{want: Destination{To: "home.ops.new", TakeOver: gone, Self: "laptop"}}
	if got, waits := next(over.Steps(Observed{Owner: gone})); got != TakeOver || waits {
		t.Errorf("an owner that is gone: next is %q", got)
	}
	if got, _ := next(over.Steps(Observed{Owner: fleet.Owner{Agent: "laptop", Epoch: 5}})); got == TakeOver {
		t.Error("an owner is taken over twice")
	}
	again := steps{want: Destination{To: gone.Agent, TakeOver: gone, Self: "laptop"}, home: true}
	if got, _ := next(again.Steps(Observed{Owner: gone, Unreachable: "it is gone"})); got != TakeOver {
		t.Errorf("a home that is made again under its name: next is %q", got)
	}
	if got, _ := next(again.Steps(Observed{Owner: fleet.Owner{Agent: gone.Agent, Epoch: 6}})); got != "" {
		t.Errorf("a home that was made again: next is %q", got)
	}
	if got, _ := next(over.Steps(Observed{Owner: fleet.Owner{Agent: "home.ops.home", Epoch: 5}})); got == TakeOver {
		t.Error("an owner that came back since is taken over")
	}
}

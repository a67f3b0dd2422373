package pivot

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
)

func opsHome() fleet.Key { return fleet.Key{Namespace: "ops", Name: "home"} }

// next is the step that is Now, and whether somebody else takes it.
func next(list []Step) (Name, bool) {
	for _, s := range list {
		if s.State == Now {
			return s.Name, s.Waits
		}
	}
	return "", false
}

// Each line is seen after the one above it, of a bootstrap from nothing.
func TestSteps(t *testing.T) {
	s := steps{want: Want{To: "home.ops.home", Home: opsHome()}, home: true, kubeconfig: true, old: true}
	mine := fleet.Owner{Agent: "laptop", Epoch: 1}
	theirs := fleet.Owner{Agent: "home.ops.home", Epoch: 2}
	at := func(step fleet.SuccessionStep) fleet.Succession {
		return fleet.Succession{ID: "1", To: "home.ops.home", Step: step}
	}
	for _, c := range []struct {
		reason string
		seen   Seen
		want   Name
		waits  bool
	}{
		{"nobody owns a new fleet", Seen{}, Owned, true},
		{"there is no API server yet", Seen{Owner: mine, Unreachable: "no kubeconfig yet"}, Reach, true},
		{"pods need a network", Seen{Owner: mine, Addons: []string{"DaemonSet kube-system/cni"}, ControlPlane: "0 of 3"}, Addons, false},
		{"all machines of the control plane are to be ready", Seen{Owner: mine, ControlPlane: "1 of 3"}, ControlPlane, true},
		{"then the agent", Seen{Owner: mine}, Install, false},
		{"then the owner is asked", Seen{Owner: mine, Installed: true}, Ask, false},
		{"another move has to end first", Seen{Owner: mine, Installed: true, Next: fleet.Succession{ID: "2", To: "other", Step: fleet.StepReady}}, Ask, true},
		{"the owner agrees", Seen{Owner: mine, Installed: true, Next: at(fleet.StepAsked)}, Grant, true},
		{"no secret moves before", Seen{Owner: mine, Installed: true, Next: at(fleet.StepGranted)}, Move, false},
		{"the new agent tries", Seen{Owner: mine, Installed: true, Next: at(fleet.StepMoved)}, Ready, true},
		{"the owner pushes", Seen{Owner: mine, Installed: true, Next: at(fleet.StepReady)}, HandOver, true},
		{"the new owner has not acted", Seen{Owner: theirs, Next: at(fleet.StepHandedOver), Leftover: []string{"ops/home-ca"}}, Acts, true},
		{"people keep a way in", Seen{Owner: theirs, Leftover: []string{"ops/home-ca"}}, WriteConfig, false},
		{"before the secrets go", Seen{Owner: theirs, Kubeconfig: true, Leftover: []string{"ops/home-ca"}, OldAgent: true}, Clean, false},
		{"and the old agent", Seen{Owner: theirs, Kubeconfig: true, OldAgent: true}, Uninstall, false},
		{"all is done", Seen{Owner: theirs, Kubeconfig: true}, "", false},
		{"an agent that was removed meanwhile is installed again", Seen{Owner: mine, Next: at(fleet.StepReady)}, Install, false},
	} {
		got, waits := next(s.Steps(c.seen))
		if got != c.want || waits != c.waits {
			t.Errorf("%s: next is %q (waits %v), want %q (%v)", c.reason, got, waits, c.want, c.waits)
		}
	}
}

// --keep leaves the old place alone, and a dead owner is replaced first.
func TestShapes(t *testing.T) {
	names := func(s steps, seen Seen) (out []Name) {
		for _, step := range s.Steps(seen) {
			out = append(out, step.Name)
		}
		return out
	}
	gone := fleet.Owner{Agent: "home.ops.home", Epoch: 4}
	here := steps{want: Want{To: "laptop", Keep: true}}
	if diff := cmp.Diff([]Name{Owned, Ask, Grant, Move, Ready, HandOver, Acts}, names(here, Seen{Owner: gone})); diff != "" {
		t.Errorf("a rescue: %s", diff)
	}
	over := steps{want: Want{To: "home.ops.new", TakeOver: gone, Self: "laptop"}}
	if got, waits := next(over.Steps(Seen{Owner: gone})); got != TakeOver || waits {
		t.Errorf("an owner that is gone: next is %q", got)
	}
	if got, _ := next(over.Steps(Seen{Owner: fleet.Owner{Agent: "laptop", Epoch: 5}})); got == TakeOver {
		t.Error("an owner is taken over twice")
	}
	again := steps{want: Want{To: gone.Agent, TakeOver: gone, Self: "laptop"}, home: true}
	if got, _ := next(again.Steps(Seen{Owner: gone, Unreachable: "it is gone"})); got != TakeOver {
		t.Errorf("a home that is made again under its name: next is %q", got)
	}
	if got, _ := next(again.Steps(Seen{Owner: fleet.Owner{Agent: gone.Agent, Epoch: 6}})); got != "" {
		t.Errorf("a home that was made again: next is %q", got)
	}
	if got, _ := next(over.Steps(Seen{Owner: fleet.Owner{Agent: "home.ops.home", Epoch: 5}})); got == TakeOver {
		t.Error("an owner that came back since is taken over")
	}
}

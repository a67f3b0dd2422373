package openstack_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fleet"
	ost "fairlead.dev/providers/infrastructure/openstack/openstacktest"
)

const (
	home  = "project alpha"
	spare = "project beta in region RegionOne"
)

// A pool in a project of its own leaves Git, and the agent ends on the way: its
// machines are drained and deleted, nothing is left there, and the place is forgotten.
// Its Secret may go then.
func TestPoolInAnotherProjectLeavesGit(t *testing.T) {
	for name, restart := range map[string]bool{"one agent": false, "another agent": true} {
		t.Run(name, func(t *testing.T) {
			onStack(t, func(s *stack) {
				s.inBeta()
				s.wanted.Pools = nil
				if restart {
					s.end()
					s.start()
					s.after = func() {
						if s.count("DrainNode") == 1 && s.after != nil {
							s.after = nil
							s.end()
							s.start()
						}
					}
				}
				s.until("empty", func() bool { return len(s.left()) == 0 })
				if s.count("DrainNode") < 2 || s.count("DeleteMachine") < 2 {
					s.Errorf("done is %q, want each machine drained, then deleted", s.did)
				}
				s.calm()
				s.wantPlaces(home)
				delete(s.wanted.Secrets, "spare")
				s.did = nil
				s.calm()
				if len(s.did) > 0 {
					s.Errorf("without the Secret there is done: %q", s.did)
				}
			})
		})
	}
}

// A pool whose identityRef changes rolls from project to project: never fewer than
// its replicas are there, and never more than one above.
func TestPoolMovesToAnotherProject(t *testing.T) {
	onStack(t, func(s *stack) {
		s.inBeta()
		for _, move := range []struct {
			identity string
			want     map[string]int
			places   []string
		}{
			{"roof", map[string]int{"alpha": 2, "beta": 0}, []string{home}},
			{"spare", map[string]int{"alpha": 0, "beta": 2}, []string{home, spare}},
		} {
			s.wanted.Pools[0].Identity = move.identity
			s.after = func() {
				if n := s.servers(); n["alpha"]+n["beta"] < 2 || n["alpha"]+n["beta"] > 3 {
					s.Errorf("on the way to %s there are servers %v", move.identity, n)
				}
				ready := 0
				for _, m := range s.last.Report.Machines {
					if m.Machine.Pool == "spare" && m.Phase == fleet.MachinePhaseRunning {
						ready++
					}
				}
				if s.last.Err == nil && ready < 2 {
					s.Errorf("on the way to %s %d machines run", move.identity, ready)
				}
			}
			s.did = nil
			s.until("moved", func() bool {
				n := s.servers()
				return n["alpha"] == move.want["alpha"] && n["beta"] == move.want["beta"]
			})
			s.calm()
			s.wantPlaces(move.places...)
			if s.count("DrainNode") < 2 {
				s.Errorf("done is %q, want each machine drained", s.did)
			}
		}
	})
}

// A cluster that is deleted leaves nothing in a project that Git does not lead to any
// more, whichever agent deletes it.
func TestDeletionWithARememberedProject(t *testing.T) {
	onStack(t, func(s *stack) {
		s.inBeta()
		s.wanted.Pools, s.wanted.Delete = nil, true
		s.end()
		s.start()
		s.until("deleted", func() bool { return s.last.Plan.Phase == fleet.PhaseDeleted })
		if left := s.left(); len(left) > 0 {
			s.Errorf("left: %q", left)
		}
	})
}

// The Secret leaves Git with the pool: that is told, and nothing is done anywhere, not
// where deletion is wished either. With the Secret back it goes on; without it once
// people say that the project is gone.
func TestSecretOfARememberedProjectIsGone(t *testing.T) {
	for name, deleted := range map[string]bool{"pool leaves": false, "cluster is deleted": true} {
		t.Run(name, func(t *testing.T) {
			onStack(t, func(s *stack) {
				s.inBeta()
				before := fmt.Sprint(s.cloud.Objects(ost.Servers), s.cloud.Objects(ost.Ports), s.cloud.Objects(ost.LoadBalancers))
				s.wanted.Pools, s.wanted.Delete = nil, deleted
				delete(s.wanted.Secrets, "spare")
				for range 2 { // this agent and the next
					for range 60 {
						s.pass()
						for _, words := range []string{"look in project " + s.cloud.ProjectID("beta"), "Secret prod/spare", "bring it back", "fairlead.dev/forget-place"} {
							if !strings.Contains(s.last.Report.Failure, words) {
								s.Fatalf("told is %q, want %q", s.last.Report.Failure, words)
							}
						}
					}
					s.end()
					s.start()
				}
				if len(s.did) > 0 {
					s.Errorf("done is %q", s.did)
				}
				if after := fmt.Sprint(s.cloud.Objects(ost.Servers), s.cloud.Objects(ost.Ports), s.cloud.Objects(ost.LoadBalancers)); after != before {
					s.Errorf("the cloud has\n%s\nand had\n%s", after, before)
				}
				s.wantPlaces(home, spare)
				s.wanted.Secrets["spare"] = s.secret("bob")
				if deleted {
					s.until("deleted", func() bool { return s.last.Plan.Phase == fleet.PhaseDeleted })
				} else {
					s.calm()
					s.wantPlaces(home)
				}
				if left := s.left(); len(left) > 0 {
					s.Errorf("left: %q", left)
				}
			})
		})
	}
}

// A project that people say is gone is not looked for, and the cluster goes on.
func TestProjectIsGivenUp(t *testing.T) {
	onStack(t, func(s *stack) {
		s.inBeta()
		id := s.lives.Places[1].ID
		s.wanted.Pools = nil
		delete(s.wanted.Secrets, "spare")
		s.pass()
		s.wanted.Forget = id
		s.calm()
		s.wantPlaces(home)
		s.wanted.Forget = ""
		s.calm()
	})
}

// What an older version wrote tells of no places: they are learned at the first look,
// and nothing is done.
func TestPlacesAreLearned(t *testing.T) {
	onStack(t, func(s *stack) {
		s.inBeta()
		s.lives = fleet.Residence{}
		s.end()
		s.start()
		s.calm()
		s.wantPlaces(home, spare)
		if len(s.did) > 0 {
			s.Errorf("done is %q", s.did)
		}
	})
}

package page

import (
	"fairlead.dev/agent/console/statusview"
	"fairlead.dev/fleet"
)

// Rollouts is the view of staged rollouts.
type Rollouts struct {
	Stages  []Stage           `json:"stages"`  // in their order
	Waiting []statusview.Wait `json:"waiting"` // clusters that wait for the newest definition
	More    int               `json:"-"`       // that wait beside those that are shown

	Shown []statusview.Wait `json:"-"`
}

// A Stage is one stage, and what failed in it.
type Stage struct {
	statusview.Stage
	Sign     Sign         `json:"-"`
	Command  string       `json:"command,omitempty"` // what people can do about it
	Failures []FailedHere `json:"failures,omitempty"`
	Ask      []Ask        `json:"ask,omitempty"`
}

// A FailedHere is a cluster that failed in the stage.
type FailedHere struct {
	Cluster string `json:"cluster"`
	Why     string `json:"why"`
}

func rolloutsView() view {
	return view{name: "rollouts", title: "Rollouts", build: func(s *state, q query) (any, bool) {
		out := Rollouts{Stages: []Stage{}, Waiting: []statusview.Wait{}}
		r := statusview.RolloutOf(s.Status)
		if r == nil {
			return out, true
		}
		ask := newAsker(s.Requests, q.options)
		for i, st := range r.Stages {
			one := Stage{Stage: st, Sign: stageSign(st), Command: st.What()}
			for _, f := range s.Status.Fleet.Rollout.Stages[i].Failed {
				one.Failures = append(one.Failures, FailedHere{f.Cluster.String(), f.Why})
			}
			one.Ask = ask.ofStage(s.Status.Fleet.Rollout.Stages[i])
			out.Stages = append(out.Stages, one)
		}
		out.Waiting = append(out.Waiting, r.Waiting...)
		out.Shown = out.Waiting[:min(len(out.Waiting), pageRows)]
		out.More = len(out.Waiting) - len(out.Shown)
		return out, true
	}}
}

func stageSign(s statusview.Stage) Sign {
	switch fleet.StageState(s.State) {
	case fleet.StageDone:
		return OK
	case fleet.StageHalted:
		return Failing
	case fleet.StageApproval:
		return Problem
	case fleet.StageChanging:
		return Changing
	default:
		return Suspended
	}
}

// countAttention returns how many stages wait for people.
func countAttention(s *state) int {
	n := 0
	for _, st := range s.Status.Fleet.Rollout.Stages {
		n += btoi(st.State == fleet.StageHalted || st.State == fleet.StageApproval)
	}
	return n
}

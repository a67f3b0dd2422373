package takeover

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/fleet"
)

// A Fleet has one cluster of one control-plane machine and a pool of one worker, whose
// number is on the status branch once somebody writes one. No agent has followed it yet.
type Fleet struct {
	Old, New string   // programs
	Source   string   // URL of the repository
	Bare     string   // the repository
	Secrets  string   // folder
	Flags    []string // of the providers, for agents and plans
	Cluster  fleet.Key
	Pool     string
	Logs     string // folder
}

const (
	// patience bounds how long anything may take on a slow machine.
	patience = 15 * time.Minute
	// defaultCalm is how long an agent is watched that is to do nothing.
	defaultCalm = time.Minute
)

// Run has the old agent make the cluster, the new one take its place, and the old one
// come back.
func Run(t *testing.T, f Fleet) {
	t.Helper()
	w := &world{Fleet: f, t: t}
	w.start("old", f.Old)
	w.reach(1)
	w.run(f.Old, "scale", f.Cluster.String(), f.Pool, "2", "--source", f.Source)
	r := w.reach(2)
	i := slices.IndexFunc(r.Machines, func(m fleet.MachineReport) bool { return m.Machine.Role == fleet.RoleWorker })
	w.run(f.Old, "replace", string(r.Machines[i].Machine.Name), "--source", f.Source, "--wait", "15m")
	w.reach(2)
	w.settle(f.Old)
	w.stop()

	w.nothing("the new agent after the old one", f.New, f.Old)
	w.run(f.New, "scale", f.Cluster.String(), f.Pool, "1", "--source", f.Source)
	w.reach(1)
	w.settle(f.New)
	w.run(f.New, "suspend", f.Cluster.String(), "--for", "2h", "--reason", "somebody looks", "--source", f.Source, "--wait", "1m")
	w.wait("a cluster that is suspended", func() (bool, string) {
		r, err := w.report()
		return slices.ContainsFunc(r.Conditions, func(c fleet.Condition) bool { return c.Type == "Paused" && c.Status == fleet.True }), fmt.Sprint(err, describe(r))
	})
	w.stop()

	w.nothing("the old agent after the new one", f.Old, f.New)
	w.run(f.Old, "scale", f.Cluster.String(), f.Pool, "2", "--source", f.Source)
	for range 10 {
		if r, _ := w.report(); len(r.Machines) != 2 {
			t.Fatalf("the new agent was asked to suspend the cluster, and the old one goes on: %s", describe(r))
		}
		backoff.Sleep(t.Context(), time.Second)
	}
	w.run(f.Old, "resume", f.Cluster.String(), "--source", f.Source, "--wait", "1m")
	w.reach(2)
	w.stop()
}

// nothing checks that the agent of a program, which follows one of another, plans nothing,
// does nothing, and reads what was asked for.
func (w *world) nothing(what, program, other string) {
	w.t.Helper()
	if out, err := w.plan(program); err != nil {
		w.t.Errorf("%s plans: %v\n%s", what, err, out)
	}
	if is, was := w.run(program, "requests", "--source", w.Source, "-o", "json"), w.run(other, "requests", "--source", w.Source, "-o", "json"); is != was {
		w.t.Errorf("%s reads the requests\n%sand the other\n%s", what, is, was)
	}
	before, err := w.report()
	if err != nil {
		w.t.Fatal(err)
	}
	head := w.git("rev-parse", "fairlead/status")
	log := w.start(strings.ReplaceAll(what, " ", "-"), program)
	calm := defaultCalm
	if text := os.Getenv("FAIRLEAD_TEST_CALM"); text != "" {
		if calm, err = time.ParseDuration(text); err != nil {
			w.t.Fatal(err)
		}
	}
	for end := time.Now().Add(calm); time.Now().Before(end); backoff.Sleep(w.t.Context(), time.Second) {
		r, err := w.report()
		if err != nil {
			w.t.Fatal(err)
		}
		if got, want := machines(r), machines(before); !slices.Equal(got, want) {
			w.t.Fatalf("%s has the machines %v, and there were %v", what, got, want)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "Carrying out") {
			w.t.Errorf("%s: %s", what, line)
		}
	}
	if strings.Count(string(text), "\n") < 3 {
		w.t.Errorf("%s says nothing:\n%s", what, text)
	}
	after, err := w.report()
	if err != nil {
		w.t.Fatal(err)
	}
	if after.Digest != before.Digest || after.Endpoint != before.Endpoint || after.Phase != before.Phase || after.Failure != "" {
		w.t.Errorf("%s reports\n%s\nand before there was\n%s", what, describe(after), describe(before))
	}
	w.t.Logf("measured: %s: in %s no action, %s commits to the status branch, which changed:\n%s", what, calm,
		w.git("rev-list", "--count", head+"..fairlead/status"), w.git("diff", "--stat", head, "fairlead/status"))
}

// settle waits until the plan of a program is empty: what machines left behind is put in
// order after the cluster is complete.
func (w *world) settle(program string) {
	w.t.Helper()
	w.wait("an empty plan", func() (bool, string) {
		out, err := w.plan(program)
		return err == nil, out
	})
}

func machines(r fleet.Report) []string {
	var out []string
	for _, m := range r.Machines {
		out = append(out, fmt.Sprintf("%s %s", m.Machine.Name, m.Machine.ProviderID))
	}
	return out
}

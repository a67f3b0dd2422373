package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/plans/preview"
	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/sources"
	"fairlead.dev/sources/files"
	"fairlead.dev/sources/status"
)

// written says when an agent last wrote the status branch b.
func written(ctx context.Context, b sources.Branch, now time.Time) (string, error) {
	logged, ok := b.(sources.Logged)
	if !ok {
		return "the status of a folder, of which it is not known when it was written", nil
	}
	head, _, err := b.Read(ctx)
	if err != nil {
		return "", err
	}
	last, err := logged.Log(ctx, head, 1)
	if err != nil || len(last) == 0 {
		return "a status branch without commits", err
	}
	return fmt.Sprintf("the status branch, last written at %s, %s ago: what changed since then, and was not looked at, is not in this plan",
		last[0].At.Format(time.RFC3339), now.Sub(last[0].At).Round(time.Second)), nil
}

// planFile is a plan that was kept, to be compared with what is done.
type planFile struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	At         time.Time        `json:"at"`
	Revision   string           `json:"revision"`
	Changes    []preview.Change `json:"changes"`
}

const (
	planVersion = "fairlead.dev/v1alpha1"
	planKind    = "Plan"
)

// keepPlan writes p to the file called name.
func keepPlan(name string, p *preview.Plan, now time.Time) error {
	b, err := json.MarshalIndent(planFile{APIVersion: planVersion, Kind: planKind, At: now.UTC().Truncate(time.Second), Revision: p.Revision, Changes: p.Changes}, "", "  ")
	if err != nil {
		return err
	}
	if err := files.ReplaceFile(name, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("cannot keep the plan: %w", err)
	}
	return nil
}

// readPlan returns the plan in the file called name.
func readPlan(name string) (planFile, error) {
	var f planFile
	b, err := os.ReadFile(name)
	if err != nil {
		return f, fmt.Errorf("cannot read the plan: %w", err)
	}
	if err := documents.UnmarshalStrict(b, &f, documents.BuiltLimits()); err != nil {
		return f, fmt.Errorf("%s is no plan that fairlead plan --out wrote: %s", name, documents.OneLine(err))
	}
	if f.APIVersion != planVersion || f.Kind != planKind {
		return f, fmt.Errorf("%s is a %s of %s: it has to be a %s of %s", name, f.Kind, f.APIVersion, planKind, planVersion)
	}
	return f, nil
}

// What became of a planned change.
const (
	becameDone    = "done"
	becamePending = "to come"
	becameUnseen  = "not told by the status branch"
)

// became says what s tells of a planned change.
func became(s status.Status, c preview.Change) string {
	k, err := fleet.ParseKey(c.Cluster)
	if err != nil {
		return becameUnseen
	}
	one, known := s.Cluster(k)
	there := func(name string) bool {
		return slices.ContainsFunc(one.Report.Machines, func(m fleet.MachineReport) bool { return string(m.Machine.Name) == name })
	}
	pool := slices.ContainsFunc(one.Report.Pools, func(p fleet.PoolReport) bool {
		return string(p.Name) == c.Pool && p.Kept() && p.Phase != fleet.KeptPhasePending
	})
	done := false
	switch forecast.ChangeKind(c.Change) {
	case forecast.CreateCluster:
		done = known && one.Report.Phase == fleet.PhaseProvisioned
	case forecast.DeleteCluster:
		done = !known || one.Report.Phase == fleet.PhaseDeleted
	case forecast.CreateMachine:
		done = there(c.Machine)
	case forecast.DeleteMachine:
		done = !there(c.Machine)
	case forecast.CreatePool:
		done = pool
	case forecast.DeletePool:
		done = !pool
	case forecast.ReplaceMachine:
		done = there(c.By) && !there(c.Machine)
	default:
		return becameUnseen
	}
	if done {
		return becameDone
	}
	return becamePending
}

// changeView is what became of one planned change, as JSON and YAML.
type changeView struct {
	preview.Change
	State string `json:"state"` // done, to come, or that nothing tells
}

// compareKept shows what became of the changes of f, by s. Where some are to come, the error
// ends the process with exitChanges.
func compareKept(w io.Writer, form output.Format, f planFile, s status.Status) error {
	t := output.Table{Header: []string{"STATE", "CHANGE", "CLUSTER", "POOL", "MACHINE", "REASON"}}
	views, pending := []changeView{}, 0
	for _, c := range f.Changes {
		state := became(s, c)
		if state == becamePending {
			pending++
		}
		machine := c.Machine
		if c.By != "" {
			machine += " → " + c.By
		}
		t.Add(state, c.Change, c.Cluster, c.Pool, machine, c.Reason)
		views = append(views, changeView{c, state})
	}
	if err := t.Write(w, form, views); err != nil {
		return err
	}
	if form == output.FormatTable {
		fmt.Fprintf(w, "\nplanned for %s at %s: %d of %s to come; the fleet is at %s\n", f.Revision, f.At.Format(time.RFC3339), pending, output.Count(len(f.Changes), "change"), s.Fleet.Revision)
	}
	if pending > 0 {
		return errors.Join(&exitError{exitChanges}, s.Whole())
	}
	return s.Whole()
}

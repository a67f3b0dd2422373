package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Undo gives clusters back to Cluster API, as long as Fairlead has not acted on them: the
// manifests are paused, the ownership tags removed, and the Cluster is unpaused, unless it
// was paused before. Secrets stay in the store, and manifests in the folder.
func (a *Adoption) Undo(ctx context.Context, clusters []fleet.Key) []Result {
	return each(ctx, clusters, a.undo)
}

func (a *Adoption) undo(ctx context.Context, k fleet.Key) ([]fleet.Problem, error) {
	op := "undo the adoption of " + k.String()
	f, err := a.read(ctx, k)
	if err != nil {
		return nil, err
	}
	by := f.cluster.GetAnnotations()[adoptedBy]
	switch by {
	case string(a.o.Fleet):
	case "":
		a.o.OnStep(k, Note, "was not adopted, or that was undone: nothing to do")
		return nil, nil
	default:
		return nil, fleet.Errorf(fleet.Conflict, op, "fleet %s adopted it, and this is %s", by, a.o.Fleet)
	}
	there, err := a.find(ctx, k)
	if err != nil {
		return nil, err
	}
	if err := a.checkUnfollowed(ctx, k); err != nil {
		return nil, err
	}
	a.o.Secrets.add(f)
	if there != nil {
		if err := a.revert(ctx, f, there); err != nil {
			return nil, err
		}
	}
	if err := a.releaseSecrets(ctx, k); err != nil {
		return nil, err
	}
	if err := a.unpauseHosts(ctx, f); err != nil {
		return nil, err
	}
	return nil, a.unpause(ctx, f)
}

// checkUnfollowed returns an error where an agent acts on the cluster.
func (a *Adoption) checkUnfollowed(ctx context.Context, k fleet.Key) error {
	if a.o.Status == nil {
		return nil
	}
	s, err := a.o.Status(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the status branch: %w", err)
	}
	if err := s.DamageOf(k); err != nil {
		return err
	}
	c, ok := s.Cluster(k)
	if !ok || c.Report.Phase == fleet.PhaseDeleted {
		return nil
	}
	for _, cond := range c.Report.Conditions {
		if cond.Type == "Paused" && cond.Status == "True" {
			return nil
		}
	}
	return fleet.Errorf(fleet.Conflict, "undo the adoption of "+k.String(),
		"the agent %s keeps it by now (pause it first: put spec.paused: true into its Cluster, push, and wait until fairlead tree %s says Paused)", s.Owner.Agent, k)
}

// revert pauses the manifests and removes the ownership tags.
func (a *Adoption) revert(ctx context.Context, f *existing, there *fleet.Cluster) error {
	if !there.Paused {
		a.o.OnStep(f.key, Write, there.Overlay+" is held again, with spec.paused")
		if !a.o.DryRun {
			if err := setPaused(filepath.Join(a.o.Folder, there.Overlay, clusterFile), true); err != nil {
				return err
			}
		}
	}
	p, err := a.o.Infrastructure(there.Provider)
	if err != nil {
		return err
	}
	adopter := providers.AbilitiesOf(p).Adopter
	if adopter == nil {
		return fleet.Errorf(fleet.Invalid, "undo the adoption of "+f.key.String(), "the provider %s cannot mark what it did not create", there.Provider)
	}
	a.o.OnStep(f.key, Mark, "is taken off everything again")
	if a.o.DryRun {
		return nil
	}
	running := *there
	running.Paused = false
	return adopter.Release(ctx, &running, f.adopted(&running))
}

// unpause lets Cluster API's controllers act again.
func (a *Adoption) unpause(ctx context.Context, f *existing) error {
	if f.cluster.GetAnnotations()[pausedBefore] != "" {
		a.o.OnStep(f.key, Pause, "stays: it was paused before")
	} else {
		a.o.OnStep(f.key, Pause, "is taken back: Cluster API acts again")
	}
	if a.o.DryRun {
		return nil
	}
	body := map[string]any{"metadata": map[string]any{
		"resourceVersion": f.cluster.GetResourceVersion(), "annotations": map[string]any{adoptedBy: nil, pausedBefore: nil},
	}}
	if f.cluster.GetAnnotations()[pausedBefore] == "" {
		body["spec"] = map[string]any{"paused": nil}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = a.o.Management.patch(ctx, f.key, data)
	return err
}

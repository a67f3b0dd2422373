package sdk

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
)

// A change is what is to become of a release.
type change struct {
	fleet.ReleaseRef
	fleet.ReleaseOptions
	chart  *chartv2.Chart
	values map[string]any
	labels func(revision int) map[string]string
	force  bool // fields of objects that others manage are taken over
}

// waiting returns Helm's strategy: without an option it waits for hooks alone.
func waiting(o fleet.ReleaseOptions) kube.WaitStrategy {
	if o.Wait || o.WaitForJobs {
		return kube.StatusWatcherStrategy
	}
	return kube.HookOnlyStrategy
}

// installOrUpgrade installs or upgrades a release whose newest revision is old, nil for
// none. What was cut off is finished or taken up first: Helm would refuse.
func (c *Client) installOrUpgrade(ctx context.Context, cfg *action.Configuration, old *releasev1.Release, ch change) error {
	if missing := action.CheckDependencies(ch.chart, dependencies(ch.chart)); missing != nil {
		return fmt.Errorf("%w: %w", helm.ErrRefused, missing)
	}
	if old != nil && old.Info.Status == common.StatusUninstalling {
		c.log.Info("resuming an interrupted removal", "release", ch.ReleaseRef)
		if err := uninstall(ctx, cfg, ch.Name, ch.ReleaseOptions); err != nil {
			return err
		}
		var err error
		if old, err = last(cfg, ch.Name); err != nil {
			return err
		}
	}
	if old == nil || old.Info.Status == common.StatusUninstalled {
		return install(ctx, cfg, old, ch)
	}
	if old.Info.Status.IsPending() {
		c.log.Info("resuming an interrupted change", "release", ch.ReleaseRef, "status", old.Info.Status)
		old.SetStatus(common.StatusFailed, "it was cut off")
		if err := cfg.Releases.Update(old); err != nil {
			return err
		}
	}
	up := action.NewUpgrade(cfg)
	up.Namespace, up.Install, up.ResetValues = ch.Namespace, true, true
	up.Labels, up.MaxHistory = ch.labels(old.Version+1), ch.MaxHistory
	up.WaitStrategy, up.WaitForJobs, up.Timeout = waiting(ch.ReleaseOptions), ch.WaitForJobs, ch.Timeout
	up.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	up.RollbackOnFailure, up.CleanupOnFail = ch.Atomic, ch.CleanupOnFail
	up.SkipCRDs, up.DisableHooks, up.DisableOpenAPIValidation = ch.SkipCRDs, ch.DisableHooks, ch.DisableOpenAPIValidation
	// What a failed revision had begun to make carries the name of the release, and is taken up
	// without this: an object of anybody else is not.
	up.TakeOwnership = ch.TakeOwnership
	switch {
	case ch.Replace:
		up.ForceReplace, up.ServerSideApply = true, "false"
	case ch.force:
		up.ForceConflicts, up.ServerSideApply = true, "true"
	}
	_, err := up.RunWithContext(ctx, ch.Name, ch.chart, ch.values)
	return refused(err)
}

func install(ctx context.Context, cfg *action.Configuration, old *releasev1.Release, ch change) error {
	in := action.NewInstall(cfg)
	in.ReleaseName, in.Namespace, in.CreateNamespace = ch.Name, ch.Namespace, ch.CreateNamespace
	revision := 1
	if old != nil {
		in.Replace, revision = true, old.Version+1
	}
	in.Labels = ch.labels(revision)
	in.WaitStrategy, in.WaitForJobs, in.Timeout = waiting(ch.ReleaseOptions), ch.WaitForJobs, ch.Timeout
	in.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	in.RollbackOnFailure, in.ForceConflicts = ch.Atomic, ch.force
	in.SkipCRDs, in.DisableHooks, in.DisableOpenAPIValidation = ch.SkipCRDs, ch.DisableHooks, ch.DisableOpenAPIValidation
	in.TakeOwnership = ch.TakeOwnership
	_, err := in.RunWithContext(ctx, ch.chart, ch.values)
	return refused(err)
}

// uninstall removes a release. Nothing there is success.
func uninstall(ctx context.Context, cfg *action.Configuration, name string, o fleet.ReleaseOptions) error {
	un := action.NewUninstall(cfg)
	un.IgnoreNotFound, un.KeepHistory, un.DisableHooks = true, o.KeepHistory, o.DisableHooks
	un.WaitStrategy, un.Timeout = waiting(o), o.Timeout
	un.WaitOptions = []kube.WaitOption{kube.WithWaitContext(ctx)}
	_, err := un.Run(name)
	return err
}

func dependencies(c *chartv2.Chart) []chart.Dependency {
	out := make([]chart.Dependency, 0, len(c.Metadata.Dependencies))
	for _, d := range c.Metadata.Dependencies {
		out = append(out, d)
	}
	return out
}

// errForeign is in the error of a release that somebody else installed.
var errForeign = errors.New("somebody else installed a release of this name")

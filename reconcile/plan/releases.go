package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// The condition of releases of Helm, and its reasons.
// Source: cluster-api-addon-provider-helm, api/v1alpha1: conditions of HelmReleaseProxy.
const (
	helmReleaseReady     = "HelmReleaseReady"
	helmPreparing        = "PreparingToHelmInstall"
	helmPending          = "HelmReleasePending"
	helmInstallFailed    = "HelmInstallOrUpgradeFailed"
	helmUninstallFailed  = "HelmReleaseDeletionFailed"
	releaseGrace         = time.Minute      // until a change that Fairlead began, and that nothing seems to make, counts as cut off
	foreignGrace         = 15 * time.Minute // the same of one that somebody else began
	whyReleaseNotInGit   = "Git does not have it any more for this cluster"
	whyReleaseNotThere   = "the cluster does not have it"
	whyReleaseCutOff     = "changing it was cut off"
	whyReleaseFailed     = "its last change failed"
	whyReleaseMoved      = "somebody else changed it"
	whyReleaseDiffers    = "its chart, values or options changed"
	whyReleaseOtherOrder = "its strategy changed"
)

// keepReleases has the charts of HelmChartProxies installed, from when the control
// plane is initialized, and removed when Git no longer has them.
// Source: cluster-api-addon-provider-helm, controllers/helmchartproxy.
func (d *draft) keepReleases() {
	if d.unreachable || !d.initialized() {
		return
	}
	for i := range d.Desired.Releases {
		r := &d.Desired.Releases[i]
		try := d.releaseTry(r.ReleaseRef)
		if why := d.whyInstall(r); why != "" && !r.Paused && !d.busy(r.ReleaseRef) && (try.Digest != r.Digest || !d.tooSoonAfter(try)) {
			d.request(fleet.Action{Kind: fleet.InstallRelease, Addon: r.Proxy, Release: r.ReleaseRef, Mark: r.Digest, Reason: why})
		}
	}
	for i := range d.Observed.Workload.Releases {
		have := &d.Observed.Workload.Releases[i]
		if !d.goes(have) || d.busy(have.ReleaseRef) {
			continue
		}
		if try := d.releaseTry(have.ReleaseRef); try.Digest != "" || !d.tooSoonAfter(try) {
			d.request(fleet.Action{Kind: fleet.UninstallRelease, Addon: have.Proxy, Release: have.ReleaseRef, Reason: whyReleaseNotInGit})
		}
	}
}

// releaseState returns what the cluster has of a release, or nil.
func (f *facts) releaseState(ref fleet.ReleaseRef) *fleet.ReleaseState {
	all := f.Observed.Workload.Releases
	if i := slices.IndexFunc(all, func(s fleet.ReleaseState) bool { return s.ReleaseRef == ref }); i >= 0 {
		return &all[i]
	}
	return nil
}

// releaseTry returns the last change of a release that did not succeed; the zero
// value where none is known of.
func (f *facts) releaseTry(ref fleet.ReleaseRef) fleet.ReleaseTry {
	for _, t := range f.Observed.Workload.ReleaseTries {
		if t.ReleaseRef == ref {
			return t
		}
	}
	return fleet.ReleaseTry{}
}

// whyInstall says why r is to be installed or upgraded; empty: it is up to date.
func (f *facts) whyInstall(r *fleet.Release) string {
	have := f.releaseState(r.ReleaseRef)
	switch {
	case have == nil || have.Status == fleet.ReleaseUninstalled:
		return whyReleaseNotThere
	case r.Strategy == fleet.InstallOnce && have.Deployed:
		if have.Strategy != fleet.InstallOnce {
			return whyReleaseOtherOrder
		}
		return ""
	case have.Pending() || have.Status == fleet.ReleaseUninstalling:
		return whyReleaseCutOff
	case have.Digest != r.Digest:
		return whyReleaseDiffers
	case have.Status != fleet.ReleaseDeployed:
		return whyReleaseFailed
	case !have.Ours && (f.Desired.Drift == "" || f.Desired.Drift == fleet.DriftCorrect):
		return whyReleaseMoved
	}
	return ""
}

// goes reports whether a release is to be removed.
func (f *facts) goes(have *fleet.ReleaseState) bool {
	_, wanted := f.Desired.Release(have.ReleaseRef)
	return !wanted && !f.staysInstalled(have)
}

// staysInstalled reports whether a release that Git does not have stays installed.
func (f *facts) staysInstalled(have *fleet.ReleaseState) bool {
	return have.Strategy == fleet.InstallOnce || !have.Prune || have.Status == fleet.ReleaseUninstalled
}

// busy reports whether somebody changes a release now, and waits for it. One who
// was cut off looks as one who is at work, for a while.
func (d *draft) busy(ref fleet.ReleaseRef) bool {
	if d.releaseTry(ref).Running {
		d.wait("release %s: Helm is at work on it", ref)
		return true
	}
	have := d.releaseState(ref)
	if have == nil || !have.Pending() {
		return false
	}
	grace := releaseGrace
	if !have.Ours {
		grace = foreignGrace
	}
	left := grace - d.Now.Sub(d.from(have.Changed))
	if left <= 0 {
		return false
	}
	d.wait("release %s: somebody is at work on it, or was cut off", ref)
	d.wake(left)
	return true
}

// tooSoonAfter reports whether try failed so lately that another one is of no use
// yet.
func (d *draft) tooSoonAfter(try fleet.ReleaseTry) bool {
	if try.Failure == "" {
		return false
	}
	most := retry
	switch try.Failure {
	case fleet.Invalid, fleet.Unauthorized, fleet.Exhausted, fleet.NotFound, fleet.Conflict:
		most = slowRetry
	}
	left := min(max(try.Tried.Sub(try.Since)/retryGrowth, firstRetry), most) - d.Now.Sub(try.Tried)
	if left > 0 {
		d.wake(left)
	}
	return left > 0
}

// judgeRelease says how a release is that Git has for the cluster, and why.
func (f *facts) judgeRelease(r *fleet.Release) (fleet.AddonState, string) {
	try := f.releaseTry(r.ReleaseRef)
	switch why := f.whyInstall(r); {
	case r.Paused:
		return fleet.AddonPaused, ""
	case why == "":
		return fleet.AddonReady, ""
	case try.Failure != "" && try.Digest == r.Digest:
		return fleet.AddonFailed, try.Message
	case why == whyReleaseFailed:
		return fleet.AddonFailed, why
	default:
		return fleet.AddonPending, why
	}
}

// judgeLeftRelease says how a release is that Git does not have for the cluster, and why.
func (f *facts) judgeLeftRelease(have *fleet.ReleaseState) (fleet.AddonState, string) {
	switch try := f.releaseTry(have.ReleaseRef); {
	case f.staysInstalled(have):
		return fleet.AddonKept, "not in Git any more for this cluster, and stays"
	case try.Failure != "" && try.Digest == "":
		return fleet.AddonFailed, try.Message
	}
	return fleet.AddonRemoving, whyReleaseNotInGit
}

// releaseCondition tells whether all releases are as Git says.
func (f *facts) releaseCondition(l *ledger) {
	states := f.Observed.Workload.Releases
	switch {
	case f.deleting() || len(f.Desired.Releases)+len(states) == 0:
		return
	case f.unreachable && f.everInitialized():
		l.unknown(helmReleaseReady, clusterv1.ConnectionDownReason, "The API server does not answer")
		return
	case f.unreachable || !f.initialized():
		l.set(helmReleaseReady, false, "", helmPreparing, "Control plane not yet initialized")
		return
	}
	told := map[string][]string{} // by reason; empty: a note
	tell := func(reason, format string, args ...any) {
		told[reason] = append(told[reason], fmt.Sprintf(format, args...))
	}
	for i := range f.Desired.Releases {
		r := &f.Desired.Releases[i]
		switch state, why := f.judgeRelease(r); state {
		case fleet.AddonPaused:
			tell("", "%s is paused", r.ReleaseRef)
		case fleet.AddonFailed:
			tell(helmInstallFailed, "%s: %s", r.ReleaseRef, why)
		case fleet.AddonPending:
			tell(helmPending, "%s is being installed: %s", r.ReleaseRef, why)
		default:
		}
	}
	for i := range states {
		have := &states[i]
		if _, ok := f.Desired.Release(have.ReleaseRef); ok || have.Status == fleet.ReleaseUninstalled {
			continue
		}
		switch state, why := f.judgeLeftRelease(have); state {
		case fleet.AddonKept:
			tell("", "%s is %s", have.ReleaseRef, why)
		case fleet.AddonFailed:
			tell(helmUninstallFailed, "%s: %s", have.ReleaseRef, why)
		default:
			tell(helmPending, "%s is being removed", have.ReleaseRef)
		}
	}
	notes := strings.Join(told[""], "; ")
	for _, reason := range []string{helmInstallFailed, helmUninstallFailed, helmPending} {
		if len(told[reason]) > 0 {
			all := slices.Concat(told[helmInstallFailed], told[helmUninstallFailed], told[helmPending])
			l.set(helmReleaseReady, false, "", reason, strings.Join(all, "; "))
			return
		}
	}
	l.set(helmReleaseReady, true, clusterv1.ReadyReason, "", notes)
}

package plan

import (
	"slices"

	"fairlead.dev/fleet"
)

// What is said of addons while their cluster cannot be looked at.
const (
	whyNotInitialized = "Control plane not yet initialized"
	whyAPIServerDown  = "The API server does not answer"
	whyHelmAtWork     = "Helm is at work on it"
)

// addons tells how each addon of the cluster is, sorted. A cluster that is deleted has no
// report of addons: they go with it.
func (f *facts) addons() []fleet.AddonReport {
	if f.deleting() {
		return nil
	}
	w := &f.Observed.Workload
	var out []fleet.AddonReport
	for i := range f.Desired.ResourceSets {
		out = append(out, f.setReport(&f.Desired.ResourceSets[i]))
	}
	for i := range w.ResourceSets {
		if have := &w.ResourceSets[i]; !f.wantsSet(have.Name) {
			r := fleet.AddonReport{Kind: fleet.KindResourceSet, Name: have.Name}
			r.State, r.Message = judgeLeftSet(have)
			out = append(out, r)
		}
	}
	for i := range f.Desired.Releases {
		out = append(out, f.releaseReport(&f.Desired.Releases[i]))
	}
	for i := range w.Releases {
		have := &w.Releases[i]
		if _, wanted := f.Desired.Release(have.ReleaseRef); wanted || have.Status == fleet.ReleaseUninstalled {
			continue
		}
		r := fleet.AddonReport{Kind: fleet.KindChartProxy, Name: have.Proxy, Release: have.ReleaseRef.String(), HelmRevision: have.Revision}
		r.State, r.Message = f.judgeLeftRelease(have)
		out = append(out, r)
	}
	slices.SortFunc(out, fleet.AddonReport.Compare)
	return out
}

func (f *facts) wantsSet(name string) bool {
	_, wanted := f.Desired.ResourceSet(name)
	return wanted
}

// addonsUnseen says how an addon is whose cluster cannot be looked at; empty: it can.
func (f *facts) addonsUnseen() (fleet.AddonState, string) {
	switch {
	case f.unreachable && f.everInitialized():
		return fleet.AddonUnknown, whyAPIServerDown
	case f.unreachable || !f.initialized():
		return fleet.AddonPending, whyNotInitialized
	}
	return "", ""
}

func (f *facts) setReport(s *fleet.ResourceSet) fleet.AddonReport {
	r := fleet.AddonReport{Kind: fleet.KindResourceSet, Name: s.Name}
	if r.State, r.Message = f.addonsUnseen(); r.State != "" {
		return r
	}
	r.State, r.Message = f.judgeSet(s)
	have := f.resourceState(s.Name)
	if names := s.Pending(*have); !s.Paused && len(names) > 0 && s.Untried(*have, names) {
		r.Revision = f.Desired.Revision
	}
	return r
}

func (f *facts) releaseReport(rel *fleet.Release) fleet.AddonReport {
	r := fleet.AddonReport{Kind: fleet.KindChartProxy, Name: rel.Proxy, Chart: rel.Chart.String(), Release: rel.ReleaseRef.String()}
	if r.State, r.Message = f.addonsUnseen(); r.State != "" {
		return r
	}
	r.State, r.Message = f.judgeRelease(rel)
	have, try := f.releaseState(rel.ReleaseRef), f.releaseTry(rel.ReleaseRef)
	if r.State == fleet.AddonPending && try.Running {
		r.Message = whyHelmAtWork
	}
	if have != nil {
		r.HelmRevision = have.Revision
	}
	known := have != nil && have.Digest == rel.Digest || try.Digest == rel.Digest
	if r.State != fleet.AddonPaused && r.State != fleet.AddonReady && !known {
		r.Revision = f.Desired.Revision
	}
	return r
}

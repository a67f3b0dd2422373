package fleet

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// ReleaseProxyLabel on a release of Helm names the HelmChartProxy that it was
// installed for: no other release is ever changed.
//
// Helm keeps labels of a release on the Secret of each revision, which is all that
// is read of it. A revision that somebody else makes inherits them, and has another
// number than its label says.
const ReleaseProxyLabel = "fairlead.dev/helm-chart-proxy"

const (
	releaseDigestLabel   = "fairlead.dev/digest"
	releaseRevisionLabel = "fairlead.dev/revision"
	releaseStrategyLabel = "fairlead.dev/reconcile-strategy"
	releaseOptionsLabel  = "fairlead.dev/uninstall" // how it is removed, once nothing else tells
)

// The words of releaseOptionsLabel, with points between them.
const (
	keepHistory  = "keep-history"
	disableHooks = "disable-hooks"
	awaited      = "wait"
)

// Labels returns those of a revision of r.
func (r *Release) Labels(revision int) map[string]string {
	out := map[string]string{
		ReleaseProxyLabel:    r.Proxy,
		releaseDigestLabel:   r.Digest,
		releaseRevisionLabel: strconv.Itoa(revision),
		releaseStrategyLabel: string(r.Strategy),
		PruneAnnotation:      strconv.FormatBool(r.Prune),
	}
	var words []string
	for word, is := range map[string]bool{keepHistory: r.Options.KeepHistory, disableHooks: r.Options.DisableHooks, awaited: r.Options.Wait} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	out[releaseOptionsLabel] = strings.Join(words, ".")
	return out
}

// Removal returns the options that labels of a release have for its removal.
func Removal(labels map[string]string) ReleaseOptions {
	words := strings.Split(labels[releaseOptionsLabel], ".")
	return ReleaseOptions{
		KeepHistory:  slices.Contains(words, keepHistory),
		DisableHooks: slices.Contains(words, disableHooks),
		Wait:         slices.Contains(words, awaited),
	}
}

// ReleaseRevision returns what the labels say of a Secret in which Helm keeps a
// revision, in a namespace.
// Source: Helm, pkg/storage/driver: newSecretsObject.
func ReleaseRevision(namespace string, labels map[string]string) ReleaseState {
	s := ReleaseState{
		ReleaseRef: ReleaseRef{Namespace: namespace, Name: labels["name"]},
		Proxy:      labels[ReleaseProxyLabel], Status: labels["status"],
		Digest: labels[releaseDigestLabel], Ours: labels[releaseRevisionLabel] == labels["version"],
		Strategy: ReleaseStrategy(labels[releaseStrategyLabel]), Prune: labels[PruneAnnotation] == "true",
	}
	s.Revision, _ = strconv.Atoi(labels["version"]) // damaged: older than all
	s.Deployed = s.Status == ReleaseDeployed
	for _, key := range []string{"createdAt", "modifiedAt"} {
		if seconds, err := strconv.ParseInt(labels[key], 10, 64); err == nil {
			s.Changed = time.Unix(seconds, 0).UTC()
		}
	}
	return s
}

// NewestRevisions returns the newest revision of each release, sorted. It takes
// over revisions.
func NewestRevisions(revisions []ReleaseState) []ReleaseState {
	slices.SortFunc(revisions, func(a, b ReleaseState) int {
		if d := a.Compare(b.ReleaseRef); d != 0 {
			return d
		}
		return b.Revision - a.Revision
	})
	var out []ReleaseState
	for _, s := range revisions {
		if n := len(out); n == 0 || out[n-1].ReleaseRef != s.ReleaseRef {
			out = append(out, s)
		} else {
			out[n-1].Deployed = out[n-1].Deployed || s.Deployed
		}
	}
	return out
}

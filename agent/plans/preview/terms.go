package preview

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/fleet"
)

// ofGit says why a plan tells nothing of a field of a Cluster or a Pool that changes: by path, as a
// differ has it.
func ofGit(field string) (why string) {
	switch field {
	case "fleet", "key", "overlay", "revision", "digest":
		return "it names the definition"
	case "deletionRefused":
		return "it follows from others, and a problem tells it"
	case "residence", "neighborPlaces", "removals", "made", "rebooting", "neighbors", "apiElsewhere":
		return "Git does not say it: it is remembered or observed"
	case "former", "replace", "remediate":
		return "it follows from others, or from requests"
	}
	return ""
}

// opaque reports whether the values of a field are not for people: they may be secret, or are long.
func opaque(field string) bool {
	for _, of := range []string{"secrets", "configMaps", "bootstrap", "releases[", "resourceSets[", "older", "companions[", "guests[", "drainRules["} {
		if strings.HasPrefix(field, of) && (!strings.HasSuffix(of, "[") || strings.HasSuffix(field, "]")) {
			return true
		}
	}
	return strings.HasSuffix(field, ".older")
}

// byMachines reports whether a forecast tells of a field: machines, Nodes, addons or infrastructure
// change with it. It is reported as a setting only where the forecast has nothing to do for it now.
func byMachines(field string) bool {
	switch top, _, _ := strings.Cut(strings.ReplaceAll(field, "[", "."), "."); top {
	case "version", "template", "bootstrap", "infrastructure", "namePattern", "failureDomain", "replicas", "labels", "nodeLabels", "annotations", "taints",
		"rolloutAfter", "role", "kind", "provider", "apiPort", "ports":
		return true
	}
	return false
}

// ofAll is byMachines for the fields of a Cluster.
func ofAll(field string) bool {
	switch top, _, _ := strings.Cut(strings.ReplaceAll(field, "[", "."), "."); top {
	case "delete", "rotate", "recreate", "topology", "provider", "infrastructure", "companions", "guests", "endpoint", "network", "hosted", "resourceSets", "releases",
		"secrets", "configMaps", "controlPlane", "workers", "keptPools":
		return true
	}
	return false
}

// terms returns what of cluster before ends or changes with after. The config is that of each revision:
// labels decide by it what holds changes of a cluster back. What one of changes tells is left out.
// Where the cluster waits, changes tell nothing of what comes at once.
func terms(before, after *fleet.Cluster, was, is *fleet.Config, changes []Change, waits bool) []Change {
	l := ledger{cluster: after.Key.String()}
	pools := func(field string) bool { return field == "controlPlane" || field == "workers" }
	whole := differ{skip: func(field string) bool { return pools(field) || ofGit(field) != "" }, opaque: opaque}
	var now []string // what does not wait, where the rest does
	if waits {
		for _, d := range whole.differences(*before, *before.WhileWaiting(after)) {
			now = append(now, d.field)
		}
	}
	for _, d := range whole.differences(*before, *after) {
		if d.field == "drift" {
			d.from, d.to = effective(before.Drift, was), effective(after.Drift, is)
		}
		l.add("", endingOf(d, before, after, was, is), d, ofAll(d.field) && !slices.Contains(now, d.field))
	}
	for _, s := range after.ResourceSets {
		if old, ok := before.ResourceSet(s.Name); ok {
			l.addon("resourceSets["+s.Name+"]", old.Paused, s.Paused, string(old.Strategy), string(s.Strategy), string(fleet.ApplyOnce))
		}
	}
	for _, r := range after.Releases {
		i := slices.IndexFunc(before.Releases, func(old fleet.Release) bool { return old.ReleaseRef == r.ReleaseRef })
		if i >= 0 {
			old := before.Releases[i]
			l.addon("releases["+r.ReleaseRef.String()+"]", old.Paused, r.Paused, string(old.Strategy), string(r.Strategy), string(fleet.InstallOnce))
		}
	}
	for _, pool := range after.Pools() {
		old, ok := before.Pool(pool.Name)
		if !ok {
			l.add(string(pool.Name), document.ChangeSetting, difference{field: "pool", to: string(pool.Name)}, true)
			continue
		}
		each := differ{skip: func(field string) bool { return field == "name" || ofGit(field) != "" }, opaque: opaque}
		for _, d := range each.differences(old, pool) {
			l.add(string(pool.Name), endingOfPool(d), d, byMachines(d.field))
		}
	}
	for _, old := range before.Pools() {
		if _, ok := after.Pool(old.Name); !ok {
			l.add(string(old.Name), document.ChangeSetting, difference{field: "pool", from: string(old.Name)}, true)
		}
	}
	return l.changes(func(pool string) bool { return tells(changes, l.cluster, pool) })
}

func effective(d fleet.DriftPolicy, c *fleet.Config) string {
	for _, one := range []fleet.DriftPolicy{d, c.Drift} {
		if one != "" {
			return string(one)
		}
	}
	return string(fleet.DriftCorrect)
}

// A ledger collects the terms of one cluster, those of a kind and a pool as one change.
type ledger struct {
	cluster string
	lines   []line
}

type line struct {
	pool, kind, text string
	told             bool // a forecast tells it, if there is anything to do for it
}

func (l *ledger) add(pool, kind string, d difference, told bool) {
	l.lines = append(l.lines, line{pool, kind, d.String(), told})
}

// addon adds what ends of an addon, whose content is not for people: it is paused, or is no longer kept as Git says.
func (l *ledger) addon(field string, wasPaused, isPaused bool, from, to, once string) {
	if isPaused && !wasPaused {
		l.add("", document.StopManaging, difference{field: field + ".paused", from: "false", to: "true"}, false)
	}
	if to == once && from != once {
		l.add("", document.ReduceRepairs, difference{field: field + ".strategy", from: from, to: to}, false)
	}
}

// changes returns what was added. What a forecast tells of a pool, or of the cluster, is left out.
func (l *ledger) changes(forecast func(pool string) bool) []Change {
	var out []Change
	for _, one := range l.lines {
		if one.told && one.kind == document.ChangeSetting && forecast(one.pool) {
			continue
		}
		i := slices.IndexFunc(out, func(c Change) bool { return c.Change == one.kind && c.Pool == one.pool })
		if i < 0 {
			out = append(out, Change{Change: one.kind, Cluster: l.cluster, Pool: one.pool, Reason: one.text})
			continue
		}
		out[i].Reason += "; " + one.text
	}
	return out
}

// endingOf returns the kind of a difference between two definitions of a cluster.
func endingOf(d difference, before, after *fleet.Cluster, was, is *fleet.Config) string {
	switch top, _, _ := strings.Cut(strings.ReplaceAll(d.field, "[", "."), "."); top {
	case "abandon":
		if after.Abandon {
			return document.AbandonCluster
		}
	case "paused":
		if after.Paused {
			return document.StopManaging
		}
	case "keptPools":
		if strings.HasSuffix(d.field, "].paused") && d.to == "true" {
			return document.StopManaging
		}
	case "suspension":
		if after.Suspension != nil {
			return document.StopManaging
		}
	case "forgetPlaces":
		if d.to != "" {
			return document.StopManaging
		}
	case "protect", "leaveExternal":
		if d.to == "false" {
			return document.EndProtection
		}
	case "allowVersion":
		if d.to != "" {
			return document.EndProtection
		}
	case "drift":
		if d.from == string(fleet.DriftCorrect) {
			return document.ReduceRepairs
		}
	case "healthChecks":
		if d.from != "" || d.opaque {
			return document.ReduceRepairs
		}
	case "rolloutRelease":
		if after.RolloutRelease == fleet.ReleaseNow || after.RolloutRelease == fleet.ReleaseApprove {
			return document.LoosenRollout
		}
	case "labels":
		return endingOfLabels(before, after, was, is)
	}
	return document.ChangeSetting
}

// endingOfLabels says what a cluster leaves with other labels: a freeze, a window, a stage, or a group
// of the policy.
func endingOfLabels(before, after *fleet.Cluster, was, is *fleet.Config) string {
	leaves := func(s labels.Selector) bool {
		return s != nil && s.Matches(labels.Set(before.Labels)) && !s.Matches(labels.Set(after.Labels))
	}
	for _, c := range []*fleet.Config{was, is} {
		stages := slices.Clone(c.Waves.Stages)
		for _, of := range c.Waves.Classes {
			stages = append(stages, of.Stages...)
		}
		switch {
		case slices.ContainsFunc(c.Waves.Freezes, func(f fleet.Freeze) bool { return leaves(f.Select) }),
			slices.ContainsFunc(c.Waves.Windows, func(w fleet.Window) bool { return leaves(w.Select) }),
			slices.ContainsFunc(stages, func(s fleet.Stage) bool { return leaves(s.Select) }):
			return document.LoosenRollout
		}
		for _, g := range c.PullRequests.Fail.Groups {
			if s, err := labels.Parse(g.Selector); err == nil && leaves(s) {
				return document.WeakenPolicy
			}
		}
	}
	return document.ChangeSetting
}

// endingOfPool returns the kind of a difference between two definitions of a pool.
func endingOfPool(d difference) string {
	switch d.field {
	case "paused", "skipKubeProxy", "skipCoreDNS":
		if d.to == "true" {
			return document.StopManaging
		}
	case "maxRemediations", "certificatesExpiryDays", "remediation.maxRetry":
		if from, to := number(d.from), number(d.to); d.to != "" && to >= 0 && (from < 0 || to < from) {
			return document.ReduceRepairs
		}
	case "remediation.retryPeriodSeconds", "remediation.minHealthyPeriodSeconds":
		return document.ReduceRepairs
	}
	return document.ChangeSetting
}

// number returns the number that a text is, a length of time in seconds; without one: negative, which
// is no limit.
func number(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds()
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return -1
	}
	return n
}

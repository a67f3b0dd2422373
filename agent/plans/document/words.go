package document

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/reconcile/forecast"
	"fairlead.dev/sources/status"
)

// The kinds of changes that end a promise, and of what else a revision changes though no machine
// changes for it now. Other kinds are those of a forecast.
const (
	ShareSecrets   = "share secrets"       // somebody else can read secrets, or they are kept elsewhere
	AbandonCluster = "abandon cluster"     // the cluster stays, and is not managed
	LeaveCluster   = "leave cluster alone" // it is removed from Git, and stays
	StopManaging   = "stop managing"       // a part of a cluster, for a time or permanently
	ReduceRepairs  = "reduce repairs"
	EndProtection  = "end protection"
	LoosenRollout  = "loosen rollout" // stages, windows and freezes hold less back
	WeakenPolicy   = "weaken policy"  // plans of pull requests fail less often, or are of fewer
	ChangeSetting  = "change setting"
	MoveFleet      = "move fleet" // to another home of the agent
)

// ConfigFile is in the place of a cluster if a change is of the whole fleet.
const ConfigFile = "fleet.yaml"

// Title begins the title of a plan. The name of the fleet may follow.
const Title = "Fairlead plan"

// A word is how changes of a kind are counted and shown.
type word struct {
	kind       string
	verb, noun string // "create", "machine"
	after      string // follows the noun
	sign       string // "+", "-", "~", or "!" if it ends a promise
	interrupts string // what ends or moves with it
}

const promise = "this ends a promise"

// words returns the kinds, the most harmful first.
func words() []word {
	of := func(k forecast.ChangeKind) string { return string(k) }
	return []word{
		{ShareSecrets, "share secrets by", "change", "", "!", promise},
		{AbandonCluster, "abandon", "cluster", "", "!", promise},
		{LeaveCluster, "leave", "cluster", " alone", "!", promise},
		{StopManaging, "stop managing", "thing", "", "!", promise},
		{ReduceRepairs, "reduce repairs by", "change", "", "!", promise},
		{EndProtection, "end", "protection", "", "!", promise},
		{LoosenRollout, "loosen the rollout by", "change", "", "!", promise},
		{WeakenPolicy, "weaken the policy by", "change", "", "!", promise},
		{of(forecast.DeleteCluster), "delete", "cluster", "", "-", "everything on it ends"},
		{of(forecast.DeleteMachine), "delete", "machine", "", "-", "what runs on it moves"},
		{of(forecast.DeletePool), "delete", "pool", "", "-", "what runs on it moves"},
		{of(forecast.ReplaceMachine), "replace", "machine", "", "~", "what runs on it moves"},
		{of(forecast.UninstallRelease), "remove", "release", "", "-", ""},
		{of(forecast.PruneResources), "prune", "addon", "", "-", ""},
		{of(forecast.RebootMachine), "reboot", "machine", "", "~", ""},
		{of(forecast.UpdatePool), "update", "pool", "", "~", ""},
		{of(forecast.UpdateShared), "update", "infrastructure", "", "~", ""},
		{of(forecast.UpdateNode), "update", "node", "", "~", ""},
		{of(forecast.CreateCluster), "create", "cluster", "", "+", ""},
		{of(forecast.CreateMachine), "create", "machine", "", "+", ""},
		{of(forecast.CreatePool), "create", "pool", "", "+", ""},
		{of(forecast.PrepareHost), "prepare", "host", "", "~", ""},
		{of(forecast.ApplyResources), "apply", "addon", "", "~", ""},
		{of(forecast.InstallRelease), "install", "release", "", "+", ""},
		{of(forecast.UpgradeRelease), "upgrade", "release", "", "~", ""},
		{MoveFleet, "move the fleet", "", "", "~", ""},
		{ChangeSetting, "change", "setting", "", "~", ""},
	}
}

// wordOf returns how changes of a kind are shown, and its place among words.
func wordOf(kind string) (word, int) {
	all := words()
	i := slices.IndexFunc(all, func(w word) bool { return w.kind == kind })
	if i < 0 {
		return word{kind: kind, sign: "~"}, len(all)
	}
	return all[i], i
}

// EndsPromise reports whether a change of that kind ends a promise: that something is managed, repaired
// or protected, or who can read it.
func EndsPromise(kind string) bool {
	w, _ := wordOf(kind)
	return w.sign == "!"
}

// Sort puts what ends a promise first, the worst of it before the rest. Other changes keep their order.
func Sort(changes []status.PlannedChange) {
	sortBy(changes, func(kind string) int {
		if w, i := wordOf(kind); w.sign == "!" {
			return i
		}
		return len(words())
	})
}

// SortByLoss is Sort for all kinds: what is lost comes before what is created. Changes of a kind are sorted by cluster.
func SortByLoss(changes []status.PlannedChange) {
	slices.SortStableFunc(changes, func(a, b status.PlannedChange) int { return strings.Compare(a.Cluster, b.Cluster) })
	sortBy(changes, func(kind string) int {
		_, i := wordOf(kind)
		return i
	})
}

func sortBy(changes []status.PlannedChange, place func(kind string) int) {
	places := make(map[string]int)
	for _, c := range changes {
		if _, known := places[c.Change]; !known {
			places[c.Change] = place(c.Change)
		}
	}
	slices.SortStableFunc(changes, func(a, b status.PlannedChange) int { return places[a.Change] - places[b.Change] })
}

// Summary counts changes, the most harmful first: "delete 1 cluster, create 3 machines". It is empty
// without changes.
func Summary(changes []status.PlannedChange) string {
	counts := make(map[string]int)
	for _, c := range changes {
		counts[c.Change]++
	}
	var parts []string
	rest := len(changes)
	for _, w := range words() {
		n := counts[w.kind]
		if rest -= n; n == 0 {
			continue
		}
		part := w.verb
		if w.noun != "" {
			part += " " + output.Count(n, w.noun) + w.after
		}
		parts = append(parts, part)
	}
	if rest > 0 { // kinds of another version
		parts = append(parts, "change "+output.Count(rest, "other thing"))
	}
	return strings.Join(parts, ", ")
}

// Table returns changes as a table.
func Table(changes []status.PlannedChange) *output.Table {
	t := &output.Table{Header: []string{"", "CHANGE", "CLUSTER", "POOL", "MACHINE", "REASON"}, Style: styleOf}
	for _, c := range changes {
		w, _ := wordOf(c.Change)
		t.Add(w.sign, c.Change, clusterOf(c.Cluster), c.Pool, machineOf(c), c.Reason)
	}
	return t
}

// styleOf colours a row by its sign.
func styleOf(row []string) lipgloss.Style {
	colours := map[string]string{"+": "2", "-": "1", "~": "3", "!": "1"}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(colours[row[0]]))
}

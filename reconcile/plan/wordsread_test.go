package plan_test

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// words are the key=value pairs of a line, and the words that stand alone.
type words map[string]string

func parse(fields []string) words {
	w := words{}
	for _, f := range fields {
		k, v, _ := strings.Cut(f, "=")
		w[k] = v
	}
	return w
}

func (w words) is(k string) bool { _, ok := w[k]; return ok }

func (w words) number(k string, def int) int {
	if n, err := strconv.Atoi(w[k]); err == nil {
		return n
	}
	return def
}

func (w words) duration(k string) time.Duration {
	d, _ := time.ParseDuration(w[k])
	return d
}

// places are ids with commas between them; those with a star are used.
func places(list string) []fleet.PlaceSeen {
	var out []fleet.PlaceSeen
	for _, id := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		name, used := strings.CutSuffix(id, "*")
		name, named := strings.CutSuffix(name, "+")
		out = append(out, fleet.PlaceSeen{Place: fleet.Place{ID: name}, Used: used, Named: named})
	}
	return out
}

// guest states that a provider has workers of the cluster: in Git unless it left, and as it
// was seen.
func (s *script) guest(provider string, w words) {
	infrastructure := fleet.Object{Name: "of-" + provider}
	if !w.is("left") {
		s.in.Desired.Guests = append(s.in.Desired.Guests, fleet.Site{Provider: provider, Infrastructure: infrastructure})
	}
	if w.is("known") {
		g := fleet.Site{Provider: provider, Infrastructure: infrastructure}.Remembered()
		for _, p := range places(w["known"]) {
			g.Places = append(g.Places, p.Place)
		}
		s.in.Memory.Residence.Guests = append(s.in.Memory.Residence.Guests, g)
	}
	if w.is("settle") {
		s.in.SettleTimes = fleet.SettleTimes{provider: w.duration("settle")}
	}
	seen := fleet.GuestSeen{Provider: provider, Silence: w["away"]}
	if seen.Silence == "" {
		seen.Infrastructure = fleet.Infrastructure{Exists: !w.is("none"), Ready: w.is("ready"), Message: w["message"], Places: places(w["places"])}
		if d := w["drift"]; d != "" {
			seen.Infrastructure.Drift = []string{d}
		}
	}
	s.in.Observed.Guests = append(s.in.Observed.Guests, seen)
}

func setPool(p *fleet.Pool, w words) {
	p.Replicas = w.number("replicas", 1)
	p.Version = cmp.Or(w["version"], "v1.34.2")
	p.Template = template(p.Version, w["template"])
	if w.is("former") {
		p.Former = []fleet.TemplateHash{fleet.TemplateHash(w["former"])}
	}
	p.MaxSurge = w.number("surge", 1)
	p.MaxUnavailable = w.number("unavailable", 0)
	p.MinReadySeconds = w.number("min-ready", 0)
	p.MaxRemediations = w.number("remediations", -1)
	p.NodeDrainTimeoutSeconds = w.number("drain-timeout", 0)
	p.NodeVolumeDetachTimeoutSeconds = w.number("detach-timeout", 0)
	p.DeletionOrder = fleet.DeletionOrder(cmp.Or(w["order"], "Random"))
	p.Paused = w.is("paused")
	if w.is("domains") {
		p.FailureDomains = strings.Split(w["domains"], ",")
	}
	if w.is("replace") {
		p.Replace = map[fleet.MachineID]string{{ProviderID: fleet.ProviderID("sim://" + w["replace"])}: "asked for by Ada"}
	}
	if w.is("remediate") {
		p.Remediate = map[fleet.MachineID]string{{ProviderID: fleet.ProviderID("sim://" + w["remediate"])}: "asked for by Ada"}
	}
	if w.is("gate") {
		g := clusterv1.MachineReadinessGate{ConditionType: strings.TrimPrefix(w["gate"], "not-")}
		if g.ConditionType != w["gate"] {
			g.Polarity = clusterv1.NegativePolarityCondition
		}
		p.ReadinessGates = append(p.ReadinessGates, g)
	}
	if w.is("on-delete") {
		p.Strategy = fleet.OnDelete
	}
	if w.is("alone") {
		p.Kind, p.Strategy = fleet.LoneMachine, fleet.OnDelete
	}
	if w.is("set") {
		p.Kind, p.Strategy = fleet.LoneMachineSet, fleet.OnDelete
	}
	if w.is("annotate") {
		key := w["annotate"]
		if !strings.Contains(key, "/") {
			key = "cluster.x-k8s.io/" + key
		}
		p.Annotations = map[string]string{key: ""}
	}
	setRollout(p, w)
	if w.is("label") {
		p.NodeLabels = map[string]string{"node-role.kubernetes.io/" + w["label"]: ""}
	}
}

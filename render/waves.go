package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/window"
)

// RolloutManifest is spec.rollout of ConfigFile.
type RolloutManifest struct {
	Stages  []StageManifest       `json:"stages,omitempty"`
	Classes []ClassStagesManifest `json:"classes,omitempty"`
}

// ClassStagesManifest is an item of spec.rollout.classes.
type ClassStagesManifest struct {
	Class  string          `json:"class"` // namespace/name
	Stages []StageManifest `json:"stages"`
}

// StageManifest is an item of spec.rollout.stages.
type StageManifest struct {
	Name     string                `json:"name"`
	Select   *metav1.LabelSelector `json:"select,omitempty"`
	AtOnce   *Quantity             `json:"atOnce,omitempty"`
	Soak     string                `json:"soak,omitempty"`
	Failures int                   `json:"failures,omitempty"`
	Deadline string                `json:"deadline,omitempty"`
	Approval bool                  `json:"approval,omitempty"`
	// Approvals is how many different people have to approve.
	Approvals *int `json:"approvals,omitempty"`
	// Reviewers are accounts on the forge.
	Reviewers []string `json:"reviewers,omitempty"`
}

// WindowManifest is an item of spec.windows.
type WindowManifest struct {
	Name     string                `json:"name,omitempty"`
	Select   *metav1.LabelSelector `json:"select,omitempty"`
	Cron     string                `json:"cron,omitempty"`
	RRule    string                `json:"rrule,omitempty"`
	Start    string                `json:"start,omitempty"`
	Duration string                `json:"duration"`
	TimeZone string                `json:"timeZone,omitempty"`
}

// FreezeManifest is an item of spec.freezes.
type FreezeManifest struct {
	Select   *metav1.LabelSelector `json:"select,omitempty"`
	From     string                `json:"from"`
	Until    string                `json:"until"`
	TimeZone string                `json:"timeZone,omitempty"`
	Reason   string                `json:"reason"`
}

// A Quantity is a number of clusters, or a part of them: 3 or "10%".
type Quantity string

// UnmarshalJSON implements json.Unmarshaler.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		*q = Quantity(data)
		return nil
	}
	var s string
	err := json.Unmarshal(data, &s)
	*q = Quantity(s)
	return err
}

// Bounds of a RolloutManifest. Each list is gone through for each cluster with each decision.
const (
	mostStages  = 50
	mostWindows = 200
	mostSpan    = 366 * 24 * time.Hour
	// mostApprovals are those of one stage.
	mostApprovals = 10
	// mostReviewers are those of one stage.
	mostReviewers = 50
)

// checkedRollout returns the stages of m, and those of classes.
func checkedRollout(m *RolloutManifest, fail func(field, message, hint string)) (stages []fleet.Stage, classes []fleet.ClassStages) {
	if m == nil {
		return nil, nil
	}
	total := len(m.Stages)
	for _, c := range m.Classes {
		total += len(c.Stages)
	}
	if total == 0 || total > mostStages {
		fail("spec.rollout.stages", fmt.Sprintf("there are %d stages, and not from 1 to %d", total, mostStages), "remove spec.rollout if no change has to wait")
		return nil, nil
	}
	seen := map[string]bool{fleet.RestStage: true}
	stages = checkedStages(m.Stages, "spec.rollout.stages", seen, fail)
	for i, in := range m.Classes {
		field := fmt.Sprintf("spec.rollout.classes[%d].", i)
		k, err := fleet.ParseKey(in.Class)
		switch {
		case err != nil:
			fail(field+"class", err.Error(), "write NAMESPACE/NAME of the ClusterClass")
		case slices.ContainsFunc(classes, func(c fleet.ClassStages) bool { return c.Class == k }):
			fail(field+"class", in.Class+" has stages already", "put them into one list")
		}
		c := fleet.ClassStages{Class: k, Stages: checkedStages(in.Stages, field+"stages", seen, fail)}
		if n := len(in.Stages); n == 0 || in.Stages[n-1].Select != nil && !c.Stages[n-1].Select.Empty() {
			fail(field+"stages", "the last stage of a class does not select all its clusters", "end the list with one that has select: {}")
		}
		classes = append(classes, c)
	}
	return stages, classes
}

// checkedStages returns the stages of list, at field. Their names must not be in seen.
func checkedStages(list []StageManifest, at string, seen map[string]bool, fail func(field, message, hint string)) []fleet.Stage {
	out := make([]fleet.Stage, 0, len(list))
	for i, in := range list {
		field := fmt.Sprintf("%s[%d].", at, i)
		s := fleet.Stage{Name: in.Name, Failures: in.Failures, Approval: in.Approval}
		switch texts := validation.IsDNS1123Label(in.Name); {
		case len(texts) > 0:
			fail(field+"name", texts[0], "status, metrics and requests name the stage by it")
		case seen[in.Name]:
			fail(field+"name", fmt.Sprintf("%q is the name of another stage", in.Name), fmt.Sprintf("give each stage a name of its own; %s is the stage of clusters that no stage selects", fleet.RestStage))
		}
		seen[in.Name] = true
		s.Approvals = checkedApprovals(in, field+"approvals", fail)
		s.Reviewers = checkedReviewers(in, field+"reviewers", fail)
		s.Select = checkedSelector(in.Select, field+"select", fail)
		var err error
		if s.AtOnce, s.Percent, err = in.AtOnce.checked(); err != nil {
			fail(field+"atOnce", err.Error(), `write the number of clusters that change at a time, such as 2 or "10%"`)
		}
		if in.Failures < 0 {
			fail(field+"failures", fmt.Sprintf("%d is negative", in.Failures), "write the number of clusters that may fail before the stage is halted")
		}
		s.Soak = checkedSpan(in.Soak, field+"soak", "it is how long the next stage waits once this one is done, such as 24h", fail)
		s.Deadline = checkedSpan(in.Deadline, field+"deadline", "it is after how long a cluster that is not done counts as failed, such as 2h", fail)
		out = append(out, s)
	}
	return out
}

// checkedApprovals returns how many people have to approve; zero: the stage does not say it.
func checkedApprovals(in StageManifest, field string, fail func(field, message, hint string)) int {
	switch n := in.Approvals; {
	case n == nil:
		return 0
	case *n < 1 || *n > mostApprovals:
		fail(field, fmt.Sprintf("%d is not from 1 to %d", *n, mostApprovals), "it is the number of people who must approve")
	case !in.Approval:
		fail(field, "the stage needs no approval, so the number would have no effect", "add approval: true")
	default:
		return *n
	}
	return 0
}

// checkedReviewers returns who approves of a stage by a review, sorted.
func checkedReviewers(in StageManifest, field string, fail func(field, message, hint string)) []string {
	out := slices.Sorted(slices.Values(in.Reviewers))
	switch {
	case len(out) > mostReviewers:
		fail(field, fmt.Sprintf("there are %d, and at most %d", len(out), mostReviewers), "list only accounts that approve this stage")
	case len(out) > 0 && !in.Approval:
		fail(field, "the stage needs no approval, so a review would have no effect", "add approval: true")
	case len(slices.Compact(slices.Clone(out))) < len(out):
		fail(field, "an account is listed twice", "name each account once")
	}
	for _, name := range out {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
			fail(field, fmt.Sprintf("%q is no account", name), "write the name of the account at the Git provider, without @: see docs/guides/fleet/rollouts.md")
		}
	}
	return out
}

// namesReviewers reports whether a review may approve of anything.
func namesReviewers(w fleet.Waves) bool {
	names := func(s fleet.Stage) bool { return len(s.Reviewers) > 0 }
	return slices.ContainsFunc(w.Stages, names) || slices.ContainsFunc(w.Classes, func(c fleet.ClassStages) bool { return slices.ContainsFunc(c.Stages, names) })
}

// checked returns the number, or the percentage; none is one cluster.
func (q *Quantity) checked() (number, percent int, err error) {
	if q == nil {
		return 1, 0, nil
	}
	text, isPercent := strings.CutSuffix(string(*q), "%")
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("%q is neither a number nor a percentage", string(*q))
	case n < 1:
		return 0, 0, errors.New("nothing would ever be changed")
	case isPercent && n > 100:
		return 0, 0, fmt.Errorf("%s is more than 100%%", string(*q))
	case isPercent:
		return 0, n, nil
	}
	return n, 0, nil
}

// checkedSpan returns a length of time; none is zero.
func checkedSpan(text, field, hint string, fail func(field, message, hint string)) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		fail(field, fmt.Sprintf("invalid duration %q", text), hint)
	case d <= 0 || d > mostSpan:
		fail(field, text+" is not from a moment to a year", hint)
	}
	return d
}

// checkedSelector returns the selector of clusters. A missing one is refused, since it could mean
// all clusters or none.
func checkedSelector(s *metav1.LabelSelector, field string, fail func(field, message, hint string)) labels.Selector {
	if s == nil {
		fail(field, "missing label selector", "write matchLabels or matchExpressions over the labels of Clusters, or {} for all")
		return labels.Nothing()
	}
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		fail(field, err.Error(), "write matchLabels or matchExpressions as Kubernetes has them")
		return labels.Nothing()
	}
	return out
}

// checkedWindows returns the windows of list.
func checkedWindows(list []WindowManifest, fail func(field, message, hint string)) []fleet.Window {
	if len(list) > mostWindows {
		fail("spec.windows", fmt.Sprintf("there are %d windows, and at most %d", len(list), mostWindows), "let one select several clusters")
		return nil
	}
	var out []fleet.Window
	for i, in := range list {
		field := fmt.Sprintf("spec.windows[%d].", i)
		w, err := window.New(window.Rule{Cron: in.Cron, RRule: in.RRule, Start: in.Start, Duration: in.Duration, Zone: in.TimeZone})
		failWindow(field, err, fail)
		name := in.Name
		if name == "" {
			name = strings.TrimSpace(in.Cron + in.RRule + " " + in.TimeZone)
		}
		out = append(out, fleet.Window{Name: name, Select: checkedSelector(in.Select, field+"select", fail), Schedule: w})
	}
	return out
}

// checkedFreezes returns the freezes of list.
func checkedFreezes(list []FreezeManifest, fail func(field, message, hint string)) []fleet.Freeze {
	if len(list) > mostWindows {
		fail("spec.freezes", fmt.Sprintf("there are %d freezes, and at most %d", len(list), mostWindows), "remove those that are over")
		return nil
	}
	var out []fleet.Freeze
	for i, in := range list {
		field := fmt.Sprintf("spec.freezes[%d].", i)
		f, err := window.NewFreeze(in.From, in.Until, in.TimeZone)
		failWindow(field, err, fail)
		if in.Reason == "" {
			fail(field+"reason", "missing reason", "people whose changes wait read it")
		}
		out = append(out, fleet.Freeze{Select: checkedSelector(in.Select, field+"select", fail), From: f.From, Until: f.Until, Reason: in.Reason})
	}
	return out
}

// failWindow tells what is wrong with the window or freeze at field.
func failWindow(field string, err error, fail func(field, message, hint string)) {
	if wrong, ok := errors.AsType[*window.Error](err); ok {
		fail(field+wrong.Field, wrong.Message, wrong.Hint)
	}
}

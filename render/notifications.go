package render

import (
	"cmp"
	"fmt"
	"net/mail"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fleet"
)

// maxTargets bounds the targets of notifications.
const maxTargets = 32

// A NotificationManifest is a target of notifications in ConfigFile.
type NotificationManifest struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	Channel    string   `json:"channel,omitempty"`
	Recipients []string `json:"recipients,omitempty"`
	Events     []string `json:"events,omitempty"`
	Clusters   []string `json:"clusters,omitempty"`
}

// checkedNotifications validates list, and returns its targets sorted by name.
func checkedNotifications(list []NotificationManifest, fail func(field, message, hint string)) []fleet.NotificationTarget {
	if len(list) > maxTargets {
		fail("spec.notifications", fmt.Sprintf("%d targets are more than %d", len(list), maxTargets), "use fewer targets that forward events")
		return nil
	}
	var out []fleet.NotificationTarget
	for i, m := range list {
		at := func(field string) string { return fmt.Sprintf("spec.notifications[%d].%s", i, field) }
		for _, text := range validation.IsDNS1123Label(m.Name) {
			fail(at("name"), text, "it is the name of the folder that has the address and the credentials")
		}
		if slices.ContainsFunc(out, func(t fleet.NotificationTarget) bool { return t.Name == m.Name }) {
			fail(at("name"), fmt.Sprintf("two targets are called %q", m.Name), "give each a name of its own")
		}
		t := fleet.NotificationTarget{Name: m.Name, Type: fleet.TargetType(m.Type), Channel: m.Channel, Recipients: slices.Clone(m.Recipients), Clusters: slices.Clone(m.Clusters)}
		checkTarget(t, at, fail)
		for j, e := range m.Events {
			if !slices.Contains(fleet.EventTypes(), fleet.EventType(e)) {
				fail(fmt.Sprintf("%s[%d]", at("events"), j), fmt.Sprintf("%q is no event", e), fmt.Sprintf("use some of %v", fleet.EventTypes()))
			}
			t.Events = append(t.Events, fleet.EventType(e))
		}
		for j, pattern := range m.Clusters {
			if _, err := path.Match(pattern, ""); err != nil || strings.Count(pattern, "/") != 1 {
				fail(fmt.Sprintf("%s[%d]", at("clusters"), j), fmt.Sprintf("%q is no pattern for NAMESPACE/NAME", pattern), "for example prod/* or */eu-1")
			}
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b fleet.NotificationTarget) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// checkTarget says what is wrong with the type of t, and with the fields that go with it.
func checkTarget(t fleet.NotificationTarget, at func(string) string, fail func(field, message, hint string)) {
	if !slices.Contains(fleet.TargetTypes(), t.Type) {
		fail(at("type"), fmt.Sprintf("%q is not known", t.Type), fmt.Sprintf("use one of %v", fleet.TargetTypes()))
		return
	}
	switch {
	case t.Type == fleet.TargetMatrix && t.Channel == "":
		fail(at("channel"), "the room is missing", "write its id, such as !ops:example.com")
	case t.Channel != "" && t.Type != fleet.TargetMatrix && t.Type != fleet.TargetSlack:
		fail(at("channel"), fmt.Sprintf("a target of type %s has no channel", t.Type), "remove the field: the address says where messages go")
	}
	switch {
	case t.Type == fleet.TargetEmail && len(t.Recipients) == 0:
		fail(at("recipients"), "it has no recipient", "write addresses, such as ops@example.com")
	case t.Type != fleet.TargetEmail && len(t.Recipients) > 0:
		fail(at("recipients"), fmt.Sprintf("a target of type %s has no recipients", t.Type), "remove the field, or write type: email")
	}
	for i, r := range t.Recipients {
		if a, err := mail.ParseAddress(r); err != nil || a.Address != r {
			fail(fmt.Sprintf("%s[%d]", at("recipients"), i), fmt.Sprintf("%q is no address", r), "write it without a name, such as ops@example.com")
		}
	}
}

package render_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/render"
)

// What fleet.yaml may say, and how it is refused.
func TestRenderConfig(t *testing.T) {
	good := fleet.Config{StatusBranch: "fairlead/status", Prune: fleet.Prune{Limit: 1}}
	cases := map[string]struct {
		reason string
		file   string // none: no file
		id     fleet.ID
		want   fleet.Config
		errs   []string
	}{
		"None":    {reason: "a fleet needs no fleet.yaml", id: "from-url", want: good},
		"Minimal": {reason: "everything has a default", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\n", id: "from-url", want: good},
		"Full": {
			reason: "everything may be said",
			file:   "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: edge}\nspec:\n  prune: {enabled: true, limit: 5}\n  status: {branch: state/of-edge, history: {commits: 10000, days: 30}}\n",
			id:     "edge", want: fleet.Config{StatusBranch: "state/of-edge", StatusHistory: fleet.HistoryBound{Commits: 10000, Age: 720 * time.Hour}, Prune: fleet.Prune{Enabled: true, Limit: 5}},
		},
		"Notifications": {
			reason: "people are told", id: "from-url",
			file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec:\n  notifications:\n  - {name: room, type: matrix, channel: '!x:y'}\n  - {name: ops, type: email, recipients: [ops@example.com], events: [ClusterUpgraded], clusters: [prod/*]}\n",
			want: fleet.Config{StatusBranch: "fairlead/status", Prune: fleet.Prune{Limit: 1}, Notifications: []fleet.NotificationTarget{
				{Name: "ops", Type: "email", Recipients: []string{"ops@example.com"}, Events: []fleet.EventType{fleet.ClusterUpgraded}, Clusters: []string{"prod/*"}},
				{Name: "room", Type: "matrix", Channel: "!x:y"},
			}},
		},
		"BadNotifications": {
			reason: "each target has what goes with its type",
			file:   "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec:\n  notifications:\n  - {name: A, type: pager}\n  - {name: b, type: matrix}\n  - {name: b, type: webhook, channel: x, recipients: [a@b.c], events: [Bang], clusters: [prod]}\n  - {name: c, type: email}\n  - {name: d, type: email, recipients: ['A <a@b.c>']}\n",
			errs: []string{
				"spec.notifications[0].name: a lowercase RFC 1123 label", "spec.notifications[0].type: \"pager\" is not known", "spec.notifications[1].channel: the room is missing",
				"spec.notifications[2].channel: a target of type webhook has no channel", "spec.notifications[2].clusters[0]: \"prod\" is no pattern", "spec.notifications[2].events[0]: \"Bang\" is no event",
				"spec.notifications[2].name: two targets are called \"b\"", "spec.notifications[2].recipients: a target of type webhook has no recipients",
				"spec.notifications[3].recipients: it has no recipient", "spec.notifications[4].recipients[0]: \"A <a@b.c>\" is no address",
			},
		},
		"LimitZero":  {reason: "a limit of none is one", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {prune: {enabled: true, limit: 0}}\n", id: "from-url", want: fleet.Config{StatusBranch: "fairlead/status", Prune: fleet.Prune{Enabled: true}}},
		"Kind":       {reason: "it must be a Fleet", file: "apiVersion: v1\nkind: ConfigMap\n", errs: []string{`apiVersion: "v1" is not known`, `kind: "ConfigMap" is not known`}},
		"Unknown":    {reason: "unknown fields are named", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {cluster: {}, prune: {on: true}}\n", errs: []string{"spec.cluster: this field does not exist", "spec.prune.on: this field does not exist"}},
		"Case":       {reason: "fields are what they are called", file: "apiVersion: fairlead.dev/v1alpha1\nKind: Fleet\n", errs: []string{"Kind: this field does not exist"}},
		"Type":       {reason: "types are checked", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {prune: {limit: many}}\n", errs: []string{"spec.prune.limit: it is a string and should be a int"}},
		"History":    {reason: "a history has bounds", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {status: {history: {commits: 99, days: 0}}}\n", errs: []string{"spec.status.history.commits: 99 is not from 100", "spec.status.history.days: 0 is not from 1"}},
		"NoHistory":  {reason: "and says one", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {status: {history: {}}}\n", errs: []string{"spec.status.history: it has no limit"}},
		"Values":     {reason: "everything that is wrong is told", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata: {name: A_b}\nspec: {substitute: {a-b: x}, prune: {limit: -1}, status: {branch: 'a b'}, clusters: {include: [../x]}}\n", errs: []string{"metadata.name: a lowercase RFC 1123 label", "spec.clusters: the pattern \"../x\" is not within", "spec.prune.limit: -1 is negative", "spec.status.branch: \"a b\" cannot be", "spec.substitute: \"a-b\" cannot be"}},
		"Fraction":   {reason: "1.30 would become 1.3", file: "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nspec: {substitute: {V: 1.30}}\n", errs: []string{"1.30 is not a whole number; quote it"}},
		"Bomb":       {reason: "it is hostile as any file", file: aliasBomb(), errs: []string{"with aliases expanded"}},
		"TwoObjects": {reason: "it is one object", file: "a: b\n---\na: b\n", errs: []string{"the file must hold one document"}},
		"BadYAML":    {reason: "it is YAML", file: "a: [\n", errs: []string{"line 1: the file is not valid YAML"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			archive := tree(twoClusters)
			if tc.file != "" {
				archive = archive.with("-- fleet.yaml --\n" + tc.file)
			}
			f, err := newBuilder(render.Options{FleetID: "from-url"}).Render(context.Background(), fleet.Revision{Digest: "sha1:1"}, archive)
			if tc.errs == nil {
				if err != nil {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				if diff := cmp.Diff(tc.want, f.Config); diff != "" || f.ID != tc.id {
					t.Errorf("%s: id %q, want %q; -want, +got:\n%s", tc.reason, f.ID, tc.id, diff)
				}
				return
			}
			e, ok := errors.AsType[*render.ConfigError](err)
			if !ok || fleet.KindOf(err) != fleet.Invalid {
				t.Fatalf("%s: got %v, want a ConfigError of kind Invalid", tc.reason, err)
			}
			got := lines(e.Problems)
			if len(got) != len(tc.errs) {
				t.Fatalf("%s: got problems %q, want %q", tc.reason, got, tc.errs)
			}
			for i, want := range tc.errs {
				if !strings.HasPrefix(got[i], "fleet.yaml: ") || !strings.Contains(got[i], want) || e.Problems[i].Hint == "" {
					t.Errorf("%s: got %q, want %q with a hint", tc.reason, got[i], want)
				}
			}
		})
	}
}

// The example in the documentation is what it says it is.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/fleet-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```yaml\n")
	example, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("docs/reference/fleet-yaml.md has no example")
	}
	archive := tree("-- fleet.yaml --\n" + example + "-- clusters/prod/eu-1/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/prod/eu-1/c.yaml --\n" +
		clusterYAML("prod", "eu-1") + "spec: {version: \"${KUBERNETES_VERSION}\", pods: \"${POD_CIDRS}\"}\n" + "-- clusters/sandbox/a/kustomization.yaml --\nresources: [none]\n" +
		"-- clusters/ops/home/kustomization.yaml --\nresources: [c.yaml]\n-- clusters/ops/home/c.yaml --\n" + clusterYAML("ops", "home"))
	f := newBuilder(render.Options{}).render(t, "sha1:1", archive)
	want := fleet.Config{StatusBranch: "fairlead/status", StatusHistory: fleet.HistoryBound{Commits: 10_000, Age: 720 * time.Hour}, Drift: fleet.DriftCorrect, Prune: fleet.Prune{Enabled: true, Limit: 2}, Escrow: fleet.Escrow{
		Recipients: []string{"age1psq6mpu3n2pcmht3nhdt9n3gd5s9pulgwzcgrjjpdr6ue5caggpq5dhs8y"}, Branch: "fairlead/escrow",
	}, Notifications: []fleet.NotificationTarget{{Name: "ops", Type: fleet.TargetSlack}}, Home: fleet.Home{
		Cluster: fleet.Key{Namespace: "ops", Name: "home"}, Image: "registry.example.com/fairlead:v1.0.0", Namespace: "fairlead-system", Release: "fairlead",
	}}
	if diff := cmp.Diff(want, f.Config); diff != "" || f.ID != "edge" {
		t.Errorf("id %q; -want, +got:\n%s", f.ID, diff)
	}
	if diff := cmp.Diff([]string{"ops/home", "prod/eu-1"}, keys(f)); diff != "" || len(f.Problems) > 0 {
		t.Errorf("-want, +got:\n%s\nproblems: %q", diff, lines(f.Problems))
	}
}

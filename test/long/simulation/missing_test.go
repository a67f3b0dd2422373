package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// missing says what is not as Git says; nothing if all is.
func (l *life) missing() string {
	for i, w := range l.wishes {
		var pools map[string]int
		if !w.deleted {
			var wrong string
			if pools, wrong = l.sizes(i); wrong != "" {
				return wrong
			}
		}
		if missing := missingOf(l.facts, key(i), w, pools); missing != "" {
			return missing
		}
		if missing := l.missingAddons(key(i), w); missing != "" {
			return missing
		}
		if missing := l.missingPlane(i); missing != "" {
			return missing
		}
	}
	if problems := l.problems(); problems != "" { // it is read again with each commit
		return problems
	}
	return l.unsaid()
}

func missingOf(facts inmemory.Facts, k fleet.Key, w wish, pools map[string]int) string {
	networks := slices.DeleteFunc(slices.Clone(facts.Networks), func(n inmemory.Network) bool {
		return n.Tags[fleet.TagFleet] != theFleet || n.Tags[fleet.TagCluster] != k.String()
	})
	machines := ours(facts, k)
	if w.deleted {
		if len(networks)+len(machines) > 0 {
			return fmt.Sprintf("%s is deleted, and there are %d networks and %d machines", k, len(networks), len(machines))
		}
		return ""
	}
	if len(networks) != 1 {
		return fmt.Sprintf("%s has %d networks", k, len(networks))
	}
	want := map[string]int{k.Name + "-cp": w.controlPlanes}
	maps.Copy(want, pools)
	lone := k.Name + "-lone"
	if w.lone > 0 {
		want[lone] = 1
	}
	total := 0
	for pool, n := range want {
		total += n
		have := 0
		for _, m := range machines {
			if m.Tags[fleet.TagPool] == pool && (m.Tags[fleet.TagVersion] == w.release() || pool == lone) && available(m) {
				have++
			}
		}
		if have != n {
			return fmt.Sprintf("pool %s of %s has %d good machines, not %d: %s", pool, k, have, n, describe(machines))
		}
	}
	etcd, nodes := facts.Etcd[networks[0].ID], facts.Nodes[networks[0].ID]
	healthy := 0
	for _, e := range etcd.Members {
		if e.Healthy && !e.Learner {
			healthy++
		}
	}
	switch {
	case len(machines) != total:
		return fmt.Sprintf("%s has %d machines, not %d: %s", k, len(machines), total, describe(machines))
	case len(etcd.Members) != w.controlPlanes || healthy != w.controlPlanes:
		return fmt.Sprintf("%s has the etcd members %v", k, etcd.Members)
	case len(nodes) != total:
		return fmt.Sprintf("%s has the nodes %v", k, nodes)
	}
	return ""
}

// missingAddons says which ConfigMaps of the addons are not as Git says.
func (l *life) missingAddons(k fleet.Key, w wish) string {
	if w.deleted || w.addons == 0 {
		return ""
	}
	for _, n := range l.facts.Networks {
		if n.Tags[fleet.TagFleet] != theFleet || n.Tags[fleet.TagCluster] != k.String() {
			continue
		}
		for _, name := range []string{"always", "odd"} {
			have := ""
			if u, ok := l.cloud.Object(n.ID, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "kube-system", name); ok {
				have, _, _ = unstructured.NestedString(u.Object, "data", "version")
			}
			want := ""
			if slices.Contains(w.objects(), name) {
				want = fmt.Sprint(w.addons)
			}
			if have != want {
				return fmt.Sprintf("ConfigMap %s of %s has version %q, not %q", name, k, have, want)
			}
		}
	}
	return ""
}

func describe(machines []inmemory.MachineFacts) string {
	var b strings.Builder
	for _, m := range machines {
		fmt.Fprintf(&b, "\n  %s %s %s deleted %v stopped %v ready %v cordoned %v: %s",
			m.Name, m.Tags[fleet.TagVersion], m.State, m.Deleted, m.Stopped, m.Ready, m.Cordoned, m.Message)
	}
	return b.String()
}

package forecast

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
)

// git reads one line of what Git asks for.
func (s *script) git(word string, w words) error {
	c := s.in.Desired
	switch word {
	case "cluster":
		c.Delete, c.Protect, c.Paused, c.Abandon = w.is("delete"), w.is("protect"), w.is("paused"), w.is("abandon")
		if what, value, ok := strings.Cut(w["rotate"], ":"); ok {
			c.Rotate = map[fleet.Rotation]string{fleet.Rotation(what): value}
		}
	case "control-plane":
		c.ControlPlane = pool("cp", fleet.RoleControlPlane, w)
		if w.is("retry-period") {
			period, most := int32(w.number("retry-period", 0)), int32(w.number("max-retry", 1))
			c.ControlPlane.Remediation = fleet.RemediationLimits{RetryPeriodSeconds: &period, MaxRetry: &most}
		}
	case "pool":
		c.Workers = append(c.Workers, pool(fleet.PoolName(w[""]), fleet.RoleWorker, w))
	case "class":
		s.class(w)
	case "health-check":
		timeout := int32(300)
		h := clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: w[""]}}
		h.Spec.Checks.UnhealthyNodeConditions = []clusterv1.UnhealthyNodeCondition{{Type: "Ready", Status: "False", TimeoutSeconds: &timeout}}
		c.HealthChecks = append(c.HealthChecks, h)
	case "resources":
		set := fleet.ResourceSet{Name: w[""], Strategy: fleet.ReconcileStrategy, Prune: w.is("prune")}
		r := fleet.Resource{Name: "ConfigMap/" + w[""], Digest: w["objects"] + w["digest"]}
		for _, o := range w.list("objects") {
			r.Objects = append(r.Objects, fleet.Manifest{ObjectRef: object(o)})
		}
		set.Resources = []fleet.Resource{r}
		c.ResourceSets = append(c.ResourceSets, set)
	case "release":
		c.Releases = append(c.Releases, fleet.Release{
			ReleaseRef: fleet.ReleaseRef{Namespace: "net", Name: w[""]}, Proxy: w[""], Strategy: fleet.Continuous, Prune: true,
			Chart: fleet.Chart{Repository: "https://helm.example.com", Name: w[""], Version: w["version"]}, Digest: w["version"],
		})
	default:
		return fmt.Errorf("no word %s", word)
	}
	return nil
}

func object(name string) fleet.ObjectRef {
	return fleet.ObjectRef{Kind: "ConfigMap", Namespace: "net", Name: name}
}

func pool(name fleet.PoolName, role fleet.Role, w words) fleet.Pool {
	version := cmp.Or(w["version"], "v1.34.2")
	p := fleet.Pool{
		Name: name, Role: role, Replicas: w.number("replicas", 1), Version: version, Template: template(version, w["template"]),
		Strategy: fleet.RollingUpdate, MaxSurge: w.number("surge", 1), MaxUnavailable: w.number("unavailable", 0),
		MaxRemediations: -1, DeletionOrder: fleet.DeleteRandom, MinReadySeconds: w.number("min-ready", 0), Paused: w.is("paused"),
	}
	if w.is("on-delete") {
		p.Strategy = fleet.OnDelete
	}
	if w.is("label") {
		p.NodeLabels = map[string]string{"node-role.kubernetes.io/" + w["label"]: ""}
	}
	if w.is("rollout-after") {
		after, _ := time.ParseDuration(w["rollout-after"])
		p.RolloutAfter = newScript().in.Now.Add(after)
	}
	return p
}

// class reads "class versions=v1.33.4,v1.34.2 defer=md", which comes after the pools.
func (s *script) class(w words) {
	c := s.in.Desired
	c.Topology = &fleet.Topology{Class: fleet.Key{Namespace: "prod", Name: "dev"}, Listed: true, Concurrency: 1, Deferred: map[fleet.PoolName]string{}}
	for _, p := range c.Workers {
		c.Topology.Order = append(c.Topology.Order, p.Name)
	}
	for _, name := range w.list("defer") {
		c.Topology.Deferred[fleet.PoolName(name)] = "an annotation"
	}
	for _, v := range w.list("versions") {
		older := fleet.ClassVersion{Version: v, Pools: map[fleet.PoolName]fleet.Blueprint{}}
		for _, p := range c.Pools() {
			b := p.Blueprint()
			b.Template = template(v, "")
			older.Pools[p.Name] = b
		}
		c.Topology.Older = append(c.Topology.Older, older)
	}
}

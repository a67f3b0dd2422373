package fleet

import (
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// A Pod is a pod on a Node that is being drained.
type Pod struct {
	Namespace, Name string
	Fixed           bool // it stays whatever is done: a static pod, or one of a DaemonSet
	Labels          map[string]string
	NamespaceLabels map[string]string
	Finished        bool      // all its containers have ended
	Deleted         time.Time // its deletion timestamp, which its grace period is in; zero: it was not deleted
	Claims          []string  // names of PersistentVolumeClaims that it mounts, sorted
	Blocked         string    // why its last eviction was refused
}

// String returns "namespace/name".
func (p Pod) String() string { return p.Namespace + "/" + p.Name }

// A Volume is a PersistentVolume that is attached to a Node.
type Volume struct {
	Name  string // of the PersistentVolume, or of the attachment where it has none
	Claim string // "namespace/name" of the claim that it is bound to, may be empty
}

// unreachableGrace is how long after its deletion a pod on a Node that does not
// answer is waited for. Source: Cluster API, deletion of Machines.
const unreachableGrace = time.Second

// A DrainBehavior is what drain does with a pod at one time.
type DrainBehavior int

// The behaviors. All but DrainLater have the names of MachineDrainRule.
const (
	DrainSkip          DrainBehavior = iota // it goes down with the Node
	DrainEvict                              // it is evicted, or was and is on its way out
	DrainWaitCompleted                      // it is waited for, and ends by itself
	DrainLater                              // it goes, once others have gone
)

// DrainRules are the MachineDrainRules that hold for one machine, by name: the
// first that selects a pod decides.
type DrainRules []clusterv1.MachineDrainRule

// Behaviors says of each of pods, those of one Node that may be unreachable, whether
// it is its turn. Pods of a higher order wait until none of a lower one is left.
// Source: Cluster API, "MachineDrainRules".
func (r DrainRules) Behaviors(pods []Pod, unreachable bool, now time.Time) []DrainBehavior {
	behaviors, orders := make([]DrainBehavior, len(pods)), make([]int32, len(pods))
	first := int32(math.MaxInt32)
	for i := range pods {
		behaviors[i], orders[i] = r.behaviorOf(&pods[i], unreachable, now)
		if behaviors[i] != DrainSkip {
			first = min(first, orders[i])
		}
	}
	for i := range behaviors {
		if behaviors[i] == DrainEvict && orders[i] > first && pods[i].Deleted.IsZero() {
			behaviors[i] = DrainLater
		}
	}
	return behaviors
}

// behaviorOf returns how a drain treats p, and in which order. The label of the pod precedes
// all rules.
func (r DrainRules) behaviorOf(p *Pod, unreachable bool, now time.Time) (DrainBehavior, int32) {
	if p.Fixed || unreachable && !p.Deleted.IsZero() && now.Sub(p.Deleted) > unreachableGrace {
		return DrainSkip, 0
	}
	switch strings.ToLower(p.Labels[clusterv1.PodDrainLabel]) {
	case "skip":
		return DrainSkip, 0
	case "wait-completed", "waitcompleted":
		return untilCompleted(p), 0
	}
	i := slices.IndexFunc(r, func(r clusterv1.MachineDrainRule) bool { return selectsPod(&r, p) })
	if i < 0 {
		return DrainEvict, 0
	}
	switch d := r[i].Spec.Drain; d.Behavior {
	case clusterv1.MachineDrainRuleDrainBehaviorSkip:
		return DrainSkip, 0
	case clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted:
		return untilCompleted(p), 0
	default:
		return DrainEvict, value(d.Order)
	}
}

func value(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// untilCompleted waits for p unless it has finished.
func untilCompleted(p *Pod) DrainBehavior {
	if p.Finished {
		return DrainSkip
	}
	return DrainWaitCompleted
}

func selectsPod(r *clusterv1.MachineDrainRule, p *Pod) bool {
	for _, s := range r.Spec.Pods {
		if Selects(s.Selector, p.Labels) && Selects(s.NamespaceSelector, p.NamespaceLabels) {
			return true
		}
	}
	return len(r.Spec.Pods) == 0
}

// Selects reports whether s, which was checked before, selects what has these
// labels. No selector selects all.
func Selects(s *metav1.LabelSelector, have map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(have))
}

// DrainRulesOf returns the rules for the machines of the pool called name. Those of a pool
// that is not in Git any more have the labels that c.Removals tells.
func (c *Cluster) DrainRulesOf(name PoolName) DrainRules {
	p, ok := c.Pool(name)
	if !ok {
		p = c.Departed(name)
	}
	var out DrainRules
	for _, r := range c.DrainRules {
		if c.selectsMachines(&r, &p) {
			out = append(out, r)
		}
	}
	return out
}

func (c *Cluster) selectsMachines(r *clusterv1.MachineDrainRule, p *Pool) bool {
	for _, s := range r.Spec.Machines {
		if Selects(s.Selector, c.MachineLabels(p)) && Selects(s.ClusterSelector, c.Labels) {
			return true
		}
	}
	return len(r.Spec.Machines) == 0
}

// MachineLabels returns the labels that the machines of p have, with those that
// Cluster API gives every machine.
func (c *Cluster) MachineLabels(p *Pool) map[string]string {
	set := map[string]string{clusterv1.ClusterNameLabel: c.Key.Name}
	for k, v := range p.Labels {
		set[k] = v
	}
	if p.Role == RoleControlPlane {
		set[clusterv1.MachineControlPlaneLabel] = ""
		return set
	}
	if p.Kind != LoneMachine {
		set[clusterv1.MachineDeploymentNameLabel] = p.deployment()
	}
	return set
}

// Hooks returns the keys of annotations that begin with prefix, sorted: on a
// Node, they keep the removal of its machine waiting until their author
// takes them away. The prefixes are clusterv1.PreDrainDeleteHookAnnotationPrefix
// and clusterv1.PreTerminateDeleteHookAnnotationPrefix.
// Source: Cluster API, "Machine deletion phase hooks".
func Hooks(prefix string, annotations map[string]string) []string {
	var out []string
	for key := range annotations {
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// DeclaredHooks returns the hooks that p asks for, as annotations that the Nodes
// of its machines get once, when they join.
func DeclaredHooks(p *Pool) map[string]string {
	out := make(map[string]string)
	for _, prefix := range []string{clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.PreTerminateDeleteHookAnnotationPrefix} {
		for _, key := range Hooks(prefix, p.Annotations) {
			out[key] = p.Annotations[key]
		}
	}
	return out
}

package topology

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// An Upgrade is how the pools of a Cluster are upgraded, by the Cluster and its class. The planner
// uses it with the observed versions; the expanded objects are those of one version.
type Upgrade struct {
	Listed      bool              // the class lists kubernetesVersions
	Concurrency int               // pools at once, at least one
	Order       []string          // names of the MachineDeployments, then of the MachinePools, in the order of the topology
	Deferred    map[string]string // of these, those that are not to be upgraded yet, and by which annotation

	held string // the annotation that holds all that follow
}

func (x *expansion) upgrade() Upgrade {
	return Upgrade{
		Listed:      len(x.class.spec.KubernetesVersions) > 0,
		Concurrency: max(1, concurrency(x.cluster.Annotations[clusterv1.ClusterTopologyUpgradeConcurrencyAnnotation])),
		Deferred:    map[string]string{},
	}
}

// concurrency reads the annotation; 0 where it is no number.
func concurrency(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// add adds a pool, which the topology calls pool, by its annotations there. One that holds the sequence holds those after it too.
// Source: Cluster API, exp/topology/desiredstate.
func (u *Upgrade) add(notes map[string]string, pool, name string) {
	if u == nil {
		return
	}
	u.Order = append(u.Order, name)
	if _, ok := notes[clusterv1.ClusterTopologyHoldUpgradeSequenceAnnotation]; ok && u.held == "" {
		u.held = clusterv1.ClusterTopologyHoldUpgradeSequenceAnnotation + " of " + pool
	}
	if u.held != "" {
		u.Deferred[name] = u.held
	}
	if _, ok := notes[clusterv1.ClusterTopologyDeferUpgradeAnnotation]; ok {
		u.Deferred[name] = clusterv1.ClusterTopologyDeferUpgradeAnnotation
	}
}

// release ends the hold on the sequence: MachinePools do not wait for MachineDeployments that people hold.
func (u *Upgrade) release() {
	if u != nil {
		u.held = ""
	}
}

// older returns the versions of the class that come before that of the Cluster,
// which is one of them.
func (x *expansion) older() []string {
	for i, v := range x.class.spec.KubernetesVersions {
		if v == x.cluster.Spec.Topology.Version {
			return x.class.spec.KubernetesVersions[:i]
		}
	}
	return nil
}

// checkVersions keeps the rules of Cluster API's webhook: from the oldest to the
// newest, without a gap between minors.
// Source: Cluster API, core/webhooks/admission/clusterclass.go.
func (c *Class) checkVersions() {
	var last *version.Version
	for i, text := range c.spec.KubernetesVersions {
		at := fmt.Sprintf("spec.kubernetesVersions[%d]", i)
		v, err := version.ParseSemantic(text)
		switch {
		case err != nil, !strings.HasPrefix(text, "v"):
			c.problem(at, "", `%q must be a version of Kubernetes such as "v1.34.1"`, text)
			continue
		case last == nil:
		case v.LessThan(last), text == c.spec.KubernetesVersions[i-1], v.EqualTo(last) && v.BuildMetadata() == last.BuildMetadata():
			c.problem(at, "sort them from the oldest to the newest", "%s must be newer than v%s", text, last)
		case v.Major() != last.Major() || v.Minor() > last.Minor()+1:
			c.problem(at, "list a version of each minor: clusters are upgraded through all of them", "a version of minor %d must come before %s", last.Minor()+1, text)
		}
		last = v
	}
}

package fleet

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// AllowVersionAnnotation on a Cluster names a version of Kubernetes that its control plane
// may go to whatever version it has, and however old its kubelets are. It allows that
// version alone, so that it does not matter once the control plane has it.
const AllowVersionAnnotation = "fairlead.dev/allow-version"

// MaxKubeletSkew is how many minor versions a kubelet may be older than an API server.
// Source: Kubernetes, version skew policy.
const MaxKubeletSkew = 3

// A VersionStep is a step of a control plane from one version of Kubernetes to another one
// that is refused. The zero VersionStep is one that is allowed.
type VersionStep struct {
	Why  string // empty: it is allowed
	Hint string // what to do
}

// VersionStep judges whether the control plane of c may go from version from, the oldest
// that serves, to that of c: up by one minor version at most, and not back. A class that
// lists versions goes through all of them, and like Cluster API's webhook for topologies a
// class refuses an older patch version as well, but of a hosted control plane, whose keeper decides about patches.
// One whose pools are all kept by a cloud, too, goes to one version at a time. What cannot be read is allowed.
// Source: Cluster API, webhooks of KubeadmControlPlane and Cluster; Kubernetes, version skew policy.
func (c *Cluster) VersionStep(from string) VersionStep {
	to := c.Version()
	was, errFrom := version.ParseSemantic(from)
	next, errTo := version.ParseSemantic(to)
	if errFrom != nil || errTo != nil || c.AllowsVersion() {
		return VersionStep{}
	}
	minors := int(next.Minor()) - int(was.Minor())
	around := fmt.Sprintf("or annotate the Cluster with %s: %s", AllowVersionAnnotation, to)
	class := c.Topology != nil && !c.OnlyKeptPools()
	switch listed := class && c.Topology.Listed; {
	case next.Major() < was.Major(), next.Major() == was.Major() && minors < 0,
		c.Topology != nil && c.Hosted == nil && next.Major() == was.Major() && minors == 0 && next.Patch() < was.Patch():
		return VersionStep{
			Why:  fmt.Sprintf("the control plane cannot go back from %s to %s", from, to),
			Hint: fmt.Sprintf("set %s or a newer version, %s", from, around),
		}
	case next.Major() > was.Major(), minors > 1 && !listed:
		if class {
			around = "list versions in ClusterClass " + c.Topology.Class.String() + ", " + around
		}
		return VersionStep{
			Why:  fmt.Sprintf("the control plane cannot go from %s to %s: this skips a minor version", from, to),
			Hint: fmt.Sprintf("set v%d.%d first, %s", was.Major(), was.Minor()+1, around),
		}
	}
	return VersionStep{}
}

// AllowsVersion reports whether people allow the control plane to go to its version from any
// other one.
func (c *Cluster) AllowsVersion() bool { return c.AllowVersion != "" && c.AllowVersion == c.Version() }

// OlderVersion reports whether version a is older than b. What cannot be read is not.
func OlderVersion(a, b string) bool {
	x, errA := version.ParseSemantic(a)
	y, errB := version.ParseSemantic(b)
	return errA == nil && errB == nil && x.LessThan(y)
}

// CompareKubernetes compares two versions of Kubernetes without the builds that clouds add: v1.34.2-eks-a1b2c3 and
// v1.34.2-gke.1 are v1.34.2. It is negative if a is older; known is false if one cannot be read.
func CompareKubernetes(a, b string) (order int, known bool) {
	x, errA := version.ParseGeneric(a)
	y, errB := version.ParseGeneric(b)
	switch {
	case errA != nil || errB != nil:
		return 0, false
	case x.LessThan(y):
		return -1, true
	case y.LessThan(x):
		return 1, true
	}
	return 0, true
}

// PlainVersion returns v without the build that a cloud adds; empty if it cannot be read.
func PlainVersion(v string) string {
	p, err := version.ParseGeneric(v)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("v%d.%d.%d", p.Major(), p.Minor(), p.Patch())
}

// KubeletTooOld reports whether a kubelet is too old for API servers of version server. What
// cannot be read is not.
func KubeletTooOld(kubelet, server string) bool {
	k, errKubelet := version.ParseSemantic(kubelet)
	s, errServer := version.ParseSemantic(server)
	if errKubelet != nil || errServer != nil {
		return false
	}
	return k.Major() < s.Major() || k.Major() == s.Major() && k.Minor()+MaxKubeletSkew < s.Minor()
}

// String says why the step is refused and what to do, on a line.
func (s VersionStep) String() string {
	if s.Why == "" {
		return ""
	}
	return s.Why + "; " + s.Hint
}

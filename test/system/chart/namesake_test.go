package chart

import (
	"strings"
	"testing"

	"fairlead.dev/test/lab/kube"
)

// Two releases of one name for one fleet, as in two homes: the first acts, the
// second says what is wrong and waits. It takes over where it is told that the
// first is gone, and the first, come back, leaves it alone.
func TestTwoHomesOfOneName(t *testing.T) {
	long(t)
	k := kube.Start(t)
	program(t, "helm")
	first := newSite(t, k)
	one := first.start()
	if err := first.await(one, "the first agent has brought the cluster up", func() bool { return first.phase() == "Provisioned" }); err != nil {
		t.Fatal(err)
	}

	second := *first
	second.namespace = restricted(t, k, first.client)
	second.install(password)
	two := second.start()
	const refusal = `another agent of the name \"fairlead\"`
	eventually(t, "the second agent says that another has its name", func() bool { return strings.Contains(two.said(), refusal) })
	if ready(t, two) || !ready(t, one) {
		t.Error("the second agent is ready, or the first is not any more")
	}
	if strings.Contains(two.said(), "owning the fleet") {
		t.Error("the second agent took the fleet")
	}
	// An upgrade of the chart is not another place.
	one.stop()
	mustHelm(t, k, "upgrade", "fairlead", chart, "-n", first.namespace, "--reuse-values", "--set", "agent.workers=3")
	one = first.start()
	eventually(t, "the first agent goes on after an upgrade", func() bool { return ready(t, one) })

	one.stop()
	two.stop()
	mustHelm(t, k, "upgrade", "fairlead", chart, "-n", second.namespace, "--reuse-values", "--set", "extraArgs={--take-over=fairlead@1}")
	two = second.start()
	// A replica that does not lead yet is ready, too.
	eventually(t, "the second agent takes the fleet over", func() bool { return strings.Contains(two.said(), "owning the fleet") && ready(t, two) })
	one = first.start()
	eventually(t, "the first agent says that another has its name", func() bool { return strings.Contains(one.said(), refusal) })
	if ready(t, one) {
		t.Error("the first agent, come back, is ready")
	}
	// The argument stays, and is of the past.
	two.stop()
	two = second.start()
	eventually(t, "the second agent goes on", func() bool { return ready(t, two) })
}

package render

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"fairlead.dev/fleet"
)

// A spanned window can tell for how long it is open at most without a break.
type spanned interface{ Longest() time.Duration }

// withoutShortWindows returns the clusters of f of which some change could begin, and the problems of the
// others: each of their windows is shorter than a drain may take, so that no change ever begins.
func withoutShortWindows(f fleet.Fleet) ([]fleet.Cluster, []fleet.Problem) {
	windows := f.Config.Waves.Windows
	longest := make([]time.Duration, len(windows)) // asked for once
	lasts := func(i int) time.Duration {
		if s, ok := windows[i].Schedule.(spanned); ok && longest[i] == 0 {
			longest[i] = s.Longest()
		}
		return longest[i]
	}
	var problems []fleet.Problem
	short := func(c fleet.Cluster) bool {
		pool := slowest(&c)
		drain := drainOf(&pool)
		if drain == 0 {
			return false
		}
		best := -1
		for i, w := range windows {
			if !w.Select.Matches(labels.Set(c.Labels)) {
				continue
			}
			if best < 0 || lasts(i) > lasts(best) {
				best = i
			}
		}
		if best < 0 || lasts(best) > drain {
			return false
		}
		p := configProblem(fmt.Sprintf("spec.windows[%d].duration", best),
			fmt.Sprintf("window %q is open for %s at most, and a drain in pool %s of cluster %s may take %s: no change of the cluster ever begins", windows[best].Name, lasts(best), pool.Name, c.Key, drain),
			"open the window for longer, or lower nodeDrainTimeoutSeconds and nodeVolumeDetachTimeoutSeconds of the pool")
		p.Overlay, p.Cluster = c.Overlay, c.Key
		problems = append(problems, p)
		return true
	}
	return slices.DeleteFunc(f.Clusters, short), problems
}

// slowest returns the pool of c whose drains may take longest.
func slowest(c *fleet.Cluster) fleet.Pool {
	return slices.MaxFunc(append(c.Pools(), fleet.Pool{}), func(a, b fleet.Pool) int { return int(drainOf(&a) - drainOf(&b)) })
}

func drainOf(p *fleet.Pool) time.Duration {
	return time.Duration(p.NodeDrainTimeoutSeconds+p.NodeVolumeDetachTimeoutSeconds) * time.Second
}

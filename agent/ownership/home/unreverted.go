package home

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/agent/loop/backoff"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/fleet"
)

// An unreverted move began, and fleet.yaml names another home now. What it copied and
// installed is still in its home.
type unreverted struct {
	home fleet.Home // Cluster, Namespace and Release
	why  string     // why it was not taken back; empty: not tried since the agent started
}

// keepLeft remembers that the move to home is to be taken back. The next status says so.
func (h *Home) keepLeft(home fleet.Home, err error) {
	h.mu.Lock()
	h.toUndo = slices.DeleteFunc(h.toUndo, func(u unreverted) bool { return u.home.Cluster == home.Cluster })
	h.toUndo = append(h.toUndo, unreverted{fleet.Home{Cluster: home.Cluster, Namespace: home.Namespace, Release: home.Release}, fleet.OneLine(err)})
	slices.SortFunc(h.toUndo, func(a, b unreverted) int { return a.home.Cluster.Compare(b.home.Cluster) })
	h.mu.Unlock()
	h.p.Notify()
	select {
	case h.owed <- struct{}{}:
	default:
	}
}

// forgetLeft forgets the move to home: it was taken back, or goes on.
func (h *Home) forgetLeft(home fleet.Key) {
	h.mu.Lock()
	h.toUndo = slices.DeleteFunc(h.toUndo, func(u unreverted) bool { return u.home.Cluster == home })
	h.mu.Unlock()
	h.p.Notify()
}

// awaitUndo waits until nothing is taken back in home, which the fleet moves to now, and forgets
// that something is left there.
func (h *Home) awaitUndo(home fleet.Key) {
	h.mu.Lock()
	left := slices.ContainsFunc(h.toUndo, func(u unreverted) bool { return u.home.Cluster == home })
	h.mu.Unlock()
	if left {
		h.undoing.Lock()
		defer h.undoing.Unlock()
		h.forgetLeft(home)
	}
}

// undoLeft takes moves back that could not be taken back at once, until ctx ends.
func (h *Home) undoLeft(ctx context.Context, b ownership.Branch) {
	for wait := firstRetry; h.p.Mover != nil; wait = lastRetry {
		h.mu.Lock()
		list := slices.Clone(h.toUndo)
		h.mu.Unlock()
		if len(list) == 0 {
			select {
			case <-h.owed:
				continue
			case <-ctx.Done():
				return
			}
		}
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return
		}
		for _, u := range list {
			h.undoOne(ctx, b, u.home)
		}
	}
}

// undoOne tries to take the move to home back. A move there does not begin meanwhile.
func (h *Home) undoOne(ctx context.Context, b ownership.Branch, home fleet.Home) {
	h.undoing.Lock()
	defer h.undoing.Unlock()
	id, declared, clusters := h.p.Fleet()
	here, _ := ownership.HomeOf(h.o.Self)
	if declared.Cluster == home.Cluster || here == home.Cluster || !slices.Contains(clusters, home.Cluster) {
		h.forgetLeft(home.Cluster) // the fleet moves there again, or is there, or the cluster went with all that was in it
		return
	}
	m, err := h.p.Mover(h.move(b, id, home))
	if err == nil {
		err = m.Undo(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		h.p.Log.Warn("cannot revert an earlier move, retrying", "home", home.Cluster, "error", err, "after", lastRetry)
		h.keepLeft(home, err)
	default:
		h.p.Log.Info("reverted an earlier move", "home", home.Cluster)
		h.forgetLeft(home.Cluster)
	}
}

// leftProblem tells of the moves in list, which is not empty.
func leftProblem(list []unreverted) fleet.Problem {
	var parts []string
	for _, u := range list {
		parts = append(parts, fmt.Sprintf("%s (%s)", u.home.Cluster, cmp.Or(u.why, "not tried again yet")))
	}
	return fleet.Problem{
		File: "fleet.yaml", Field: "spec.home",
		Message: "an earlier move left copies of the secrets of all clusters, and an agent, in " + strings.Join(parts, ", ") + ": the agent removes them when the cluster answers",
		Hint:    "if the cluster is lost, remove it from Git: what is left goes with it",
	}
}

// parseUnreverted reads what formatUnreverted wrote, and skips what it cannot read.
func parseUnreverted(s string) []unreverted {
	var out []unreverted
	for _, item := range strings.Fields(s) {
		cluster, at, _ := strings.Cut(item, "@")
		k, err := fleet.ParseKey(cluster)
		if err != nil {
			continue
		}
		namespace, release, _ := strings.Cut(at, "/")
		out = append(out, unreverted{home: fleet.Home{
			Cluster: k, Namespace: cmp.Or(namespace, fleet.HomeNamespace), Release: cmp.Or(release, fleet.HomeRelease),
		}})
	}
	return out
}

// formatUnreverted returns list as sources.HomeStatus has it.
func formatUnreverted(list []unreverted) string {
	var items []string
	for _, u := range list {
		item := u.home.Cluster.String()
		namespace, release := cmp.Or(u.home.Namespace, fleet.HomeNamespace), cmp.Or(u.home.Release, fleet.HomeRelease)
		if namespace != fleet.HomeNamespace || release != fleet.HomeRelease {
			item += "@" + namespace + "/" + release
		}
		items = append(items, item)
	}
	return strings.Join(items, " ")
}

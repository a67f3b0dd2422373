package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// patience is how long a fleet may take to get as Git says, once nothing is in
// its way. It is far more than it needs.
const patience = 3 * time.Minute

// converged waits until the cloud has exactly the wanted machines of each
// cluster, the status branch says so too, and there is nothing to plan.
func (w *world) converged(ctx context.Context, wanted map[string]int) error {
	end := time.Now().Add(patience)
	for {
		missing, err := w.missing(ctx, wanted)
		if err != nil {
			return err
		}
		if missing == "" {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("not as Git says after %s: %s", patience, missing)
		}
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// missing says what is not as Git says; nothing if all is.
func (w *world) missing(ctx context.Context, wanted map[string]int) (string, error) {
	vms, err := w.client.VMs(ctx, map[string]string{"fairlead.dev/fleet": "harbour"})
	if err != nil {
		return "", err
	}
	names := map[string]bool{}
	have := map[string]int{}
	for _, v := range vms {
		k := v.Tags["fairlead.dev/cluster"]
		have[k]++
		if names[k+" "+v.Name] {
			return fmt.Sprintf("%s has two machines called %s", k, v.Name), nil
		}
		names[k+" "+v.Name] = true
	}
	for _, k := range slices.Sorted(maps.Keys(wanted)) {
		if have[k] != wanted[k] {
			return fmt.Sprintf("%s has %d machines, not %d", k, have[k], wanted[k]), nil
		}
	}
	if missing, err := w.unsaid(wanted); missing != "" || err != nil {
		return missing, err
	}
	if out, code, err := w.run("plan", w.url); code != 0 || err != nil {
		return fmt.Sprintf("the plan ends with code %d:\n%s", code, out), err
	}
	return "", nil
}

// halfDeleted names the clusters of which the status tells that a deletion which was
// taken back may have cost them their control plane, or that nothing is left of it or of
// them. The agent that deleted the last of it may have been killed before the status said so:
// then of wereDeleted only people know that this was wished.
func (w *world) halfDeleted(wereDeleted []string) ([]string, error) {
	out, code, err := w.run("status", w.url, "-o", "json")
	if err != nil || code != 0 {
		return nil, fmt.Errorf("status ends with code %d: %s: %w", code, out, err)
	}
	var s struct {
		Clusters []struct {
			Name    string
			Waiting []string
		}
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return nil, fmt.Errorf("status is no JSON: %w: %s", err, out)
	}
	var names []string
	for _, c := range s.Clusters {
		if slices.ContainsFunc(c.Waiting, func(n string) bool {
			return strings.HasPrefix(n, "the deletion of the cluster had begun") ||
				slices.Contains(wereDeleted, c.Name) &&
					(strings.HasPrefix(n, "nothing of the cluster is in ") || strings.HasPrefix(n, "all control-plane machines are gone"))
		}) {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// unsaid says what the status branch does not say yet.
func (w *world) unsaid(wanted map[string]int) (string, error) {
	out, code, err := w.run("status", w.url, "-o", "json")
	if err != nil || code != 0 {
		return fmt.Sprintf("status ends with code %d: %s", code, out), err
	}
	var s struct {
		Clusters []struct {
			Name, Phase    string
			Ready, Desired int
		}
		Problems, Orphans []any
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return "", fmt.Errorf("status is no JSON: %w: %s", err, out)
	}
	if len(s.Problems)+len(s.Orphans) > 0 {
		return fmt.Sprintf("the status has problems %v and orphans %v", s.Problems, s.Orphans), nil
	}
	told := map[string]bool{}
	for _, c := range s.Clusters {
		told[c.Name] = true
		n := wanted[c.Name]
		switch {
		case n == 0 && c.Phase != "Deleted":
			return fmt.Sprintf("%s is told to be %s, not Deleted", c.Name, c.Phase), nil
		case n > 0 && (c.Phase != "Provisioned" || c.Ready != n):
			return fmt.Sprintf("%s is told to be %s with %d machines ready, not Provisioned with %d", c.Name, c.Phase, c.Ready, n), nil
		}
	}
	for _, k := range slices.Sorted(maps.Keys(wanted)) {
		if wanted[k] > 0 && !told[k] {
			return "nothing is told of " + k, nil
		}
	}
	return "", nil
}

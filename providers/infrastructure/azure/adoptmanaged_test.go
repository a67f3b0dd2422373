package azure_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

const ofCAPZ = "sigs.k8s.io_cluster-api-provider-azure_cluster_eu-1"

// The ids of the cluster of AKS, and of its pools.
const (
	planeID  = "/subscriptions/" + azuretest.Subscription + "/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/aks-1"
	systemID = planeID + "/agentPools/system"
	userID   = planeID + "/agentPools/user"
)

// adoptsAKS runs f on a cluster of AKS as Cluster API's provider leaves it, which gives agent pools no tags of its own.
// Source: CAPZ, azure/services/managedclusters/spec.go and azure/services/agentpools/spec.go.
func adoptsAKS(t *testing.T, f func(w *managedWorld)) {
	t.Helper()
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.rest()
		for _, r := range w.Resources("") {
			pool := r.Kind == "agentpools"
			own := r.Tags["fairlead.dev_fleet"] != ""
			w.Edit(r.ID, func(body map[string]any) {
				switch {
				case pool:
					delete(body["properties"].(map[string]any), "tags")
				case strings.Contains(r.ID, "/MC_"): // which AKS made
					delete(body, "tags")
				case own:
					body["tags"] = map[string]any{ofCAPZ: "owned", "sigs.k8s.io_cluster-api-provider-azure_role": "common", "Name": r.Name}
				}
			})
		}
		w.start()
		time.Sleep(2 * tick)
		f(w)
	})
}

// contents returns all resources without tags of Fairlead and what changes with each change.
func (w *managedWorld) contents() map[string]string {
	out := make(map[string]string)
	for _, r := range w.Resources("") {
		p, _ := r.Body["properties"].(map[string]any)
		tags, _ := p["tags"].(map[string]any)
		maps.DeleteFunc(tags, func(k string, _ any) bool { return strings.HasPrefix(k, "fairlead.dev_") })
		if len(tags) == 0 {
			delete(p, "tags")
		}
		maps.DeleteFunc(r.Tags, func(k, _ string) bool { return strings.HasPrefix(k, "fairlead.dev_") })
		delete(r.Body, "tags")
		delete(r.Body, "etag")
		delete(r.Body, "eTag")
		delete(p, "eTag")
		data, err := json.Marshal(r.Body)
		if err != nil {
			w.Fatal(err)
		}
		if strings.Contains(r.ID, "/MC_") { // AKS gives what it makes the tags of the cluster or the pool
			r.Tags = nil
		}
		out[r.ID] = fmt.Sprint(r.Tags, string(data))
	}
	return out
}

// ofFairlead returns the names of the resources with tags of Fairlead, sorted.
func (w *managedWorld) ofFairlead() (out []string) {
	for _, r := range w.Resources("") {
		p, _ := r.Body["properties"].(map[string]any)
		if !strings.Contains(r.ID, "/MC_") && strings.Contains(fmt.Sprint(r.Tags, p["tags"]), "fairlead.dev_") {
			out = append(out, r.Name)
		}
	}
	slices.Sort(out)
	return out
}

// changing returns the calls that changed something.
func (w *managedWorld) changing() (out []string) {
	for _, c := range w.Calls() {
		if c.Changes() {
			out = append(out, c.Method+" "+c.ID)
		}
	}
	return out
}

// TestAdoptAKS: a cluster of AKS that Cluster API made gets tags, with its agent pools and its network, and nothing else changes:
// there is nothing to do afterwards, and it can be given back. Then it is changed and deleted as one that Fairlead made.
func TestAdoptAKS(t *testing.T) {
	adoptsAKS(t, func(w *managedWorld) {
		w.ResetCalls()
		untagged, err := w.p.Adoptable(w.Context(), &w.c, nil)
		if d := cmp.Diff([]string{"VNet aks-1", "agent pool system", "agent pool user", "cluster aks-1 of AKS", "resource group rg"}, untagged); err != nil || d != "" {
			t.Fatalf("to be tagged, %v, -want +got:\n%s", err, d)
		}
		if done := w.changing(); len(done) > 0 {
			t.Errorf("to look called %q", done)
		}
		w.Edit(userID, func(body map[string]any) { // which AKS decides from now on
			p := body["properties"].(map[string]any)
			p["enableAutoScaling"], p["minCount"], p["maxCount"] = true, 1, 5
		})
		w.c.KeptPools[1].Range = &fleet.PoolRange{Min: 1, Max: 5}
		before := w.contents()
		for range 2 {
			if err := w.p.Adopt(w.Context(), &w.c, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := w.p.Adoptable(w.Context(), &w.c, nil); err != nil { // AKS is still at work
				t.Error(err)
			}
			time.Sleep(2 * time.Minute)
			if left, err := w.p.Adoptable(w.Context(), &w.c, nil); err != nil || len(left) > 0 {
				t.Errorf("left are %q, %v", left, err)
			}
		}
		for _, call := range w.puts("PUT agentpools") {
			if p := call.Body["properties"].(map[string]any); p["enableAutoScaling"] == true && p["count"] != nil {
				t.Errorf("%s has the number of machines that AKS decides", call.ID)
			}
		}
		if d := cmp.Diff(before, w.contents()); d != "" {
			t.Errorf("more than tags of Fairlead changed: %s", d)
		}
		w.ResetCalls()
		if s, i := w.look(); !s.Ready || len(s.Drift) > 0 || s.Message != "" || len(i.Pools) != 2 || len(i.Pools[0].Drift)+len(i.Pools[0].Fixed)+len(i.Pools[1].Drift)+len(i.Pools[1].Fixed) > 0 || i.Pools[0].Damaged != "" {
			t.Errorf("it is %+v, with %+v", s, i)
		}
		if !w.step() || len(w.errs) > 0 {
			t.Errorf("there is something to do: %v", w.errs)
		}
		if err := w.plane.Ensure(w.Context(), "op", &w.c); err != nil {
			t.Error(err)
		}
		if done := w.changing(); len(done) > 0 {
			t.Errorf("nothing is to do, and %q was called", done)
		}
		for range 2 {
			if err := w.p.Release(w.Context(), &w.c, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
		}
		if left := w.ofFairlead(); len(left) > 0 || cmp.Diff(before, w.contents()) != "" {
			t.Errorf("given back, tags are on %q: %s", left, cmp.Diff(before, w.contents()))
		}
		if err := w.p.Adopt(w.Context(), &w.c, nil); err != nil {
			t.Fatal(err)
		}
		w.c.KeptPools[1].Range, w.c.KeptPools[1].Count = nil, 3
		w.rest()
		if w.is("user", "count") != 3.0 && w.is("user", "count") != 3 {
			t.Errorf("the pool has %v machines", w.is("user", "count"))
		}
		w.c.Delete = true
		w.rest()
		if left := w.Resources(""); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestAdoptAKSRefuses: what is not Cluster API's, or is not at rest, is not adopted, and the error says what to do.
func TestAdoptAKSRefuses(t *testing.T) {
	tag := func(tags map[string]any) func(body map[string]any) {
		return func(body map[string]any) { body["tags"] = tags }
	}
	for name, tc := range map[string]struct {
		edit func(w *managedWorld)
		kind fleet.ErrorKind
		text string
	}{
		"no cluster": {func(w *managedWorld) { w.Drop(planeID) }, fleet.NotFound, "resource group rg has no cluster aks-1 of AKS (name that of Cluster API in resourceGroupName)"},
		"of people":  {func(w *managedWorld) { w.Edit(planeID, tag(nil)) }, fleet.Invalid, "cluster aks-1 of AKS has no tag " + ofCAPZ + "=owned: Cluster API did not make it"},
		"of another fleet": {func(w *managedWorld) {
			w.Edit(planeID, tag(map[string]any{ofCAPZ: "owned", "fairlead.dev_fleet": "fleet-b", "fairlead.dev_cluster": "prod/eu-1"}))
		}, fleet.Conflict, "cluster aks-1 of AKS belongs to cluster prod/eu-1 of fleet fleet-b"},
		"at work": {func(w *managedWorld) {
			w.Edit(planeID, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Updating" })
		}, fleet.Conflict, "cluster aks-1 is Updating (wait until AKS has ended)"},
		"no agent pool": {func(w *managedWorld) { w.Drop(userID) }, fleet.NotFound, "cluster aks-1 of AKS has no agent pool user"},
		"a pool of another fleet": {func(w *managedWorld) {
			w.Edit(systemID, func(body map[string]any) {
				body["properties"].(map[string]any)["tags"] = map[string]any{"fairlead.dev_fleet": "fleet-b", "fairlead.dev_cluster": "prod/eu-1"}
			})
		}, fleet.Conflict, "agent pool system belongs to cluster prod/eu-1 of fleet fleet-b"},
	} {
		t.Run(name, func(t *testing.T) {
			adoptsAKS(t, func(w *managedWorld) {
				tc.edit(w)
				time.Sleep(2 * tick)
				w.ResetCalls()
				_, err := w.p.Adoptable(w.Context(), &w.c, nil)
				for what, err := range map[string]error{"to look": err, "to adopt": w.p.Adopt(w.Context(), &w.c, nil)} {
					wantError(t, what, err, tc.kind, tc.text)
				}
				if done := w.changing(); len(done) > 0 {
					t.Errorf("%q was called", done)
				}
			})
		})
	}
}

// TestAdoptAKSAgain: an adoption, or the end of one, that breaks off at any request goes on when it is asked for again.
func TestAdoptAKSAgain(t *testing.T) {
	for n := 0; ; n++ {
		met := 0
		adoptsAKS(t, func(w *managedWorld) {
			before := w.contents()
			end := w.Inject(azuretest.Fault{Changes: true, Skip: n, Times: 1, Lose: n%2 == 0, Cut: n%2 == 1})
			_ = w.p.Adopt(w.Context(), &w.c, nil)
			met = end()
			time.Sleep(2 * time.Minute)
			if err := w.p.Adopt(w.Context(), &w.c, nil); err != nil {
				t.Errorf("after request %d: %v", n, err)
			}
			time.Sleep(2 * time.Minute)
			if left, err := w.p.Adoptable(w.Context(), &w.c, nil); err != nil || len(left) > 0 || !w.step() || len(w.errs) > 0 {
				t.Errorf("after request %d %q is left, or there is something to do: %v, %v", n, left, err, w.errs)
			}
			end = w.Inject(azuretest.Fault{Changes: true, Skip: n, Times: 1, Lose: n%2 == 1, Cut: n%2 == 0})
			_ = w.p.Release(w.Context(), &w.c, nil)
			end()
			time.Sleep(2 * time.Minute)
			if err := w.p.Release(w.Context(), &w.c, nil); err != nil {
				t.Errorf("given back after request %d: %v", n, err)
			}
			time.Sleep(2 * time.Minute)
			if left := w.ofFairlead(); len(left) > 0 || cmp.Diff(before, w.contents()) != "" {
				t.Errorf("given back after request %d: %q, %s", n, left, cmp.Diff(before, w.contents()))
			}
		})
		if met == 0 {
			if n < 5 {
				t.Errorf("%d requests", n)
			}
			return
		}
	}
}

// TestAdoptAKSByTwo: two fleets that adopt one cluster at the same moment do not both have it.
func TestAdoptAKSByTwo(t *testing.T) {
	for _, method := range []string{"GET agentpools", "PUT agentpools"} {
		adoptsAKS(t, func(w *managedWorld) {
			end := w.Inject(azuretest.Fault{Method: method, Times: 1, Do: func(c azuretest.Call) {
				w.Edit(c.ID, func(body map[string]any) {
					body["properties"].(map[string]any)["tags"] = map[string]any{"fairlead.dev_fleet": "fleet-b", "fairlead.dev_cluster": "prod/eu-1"}
				})
			}})
			defer end()
			if err := w.p.Adopt(w.Context(), &w.c, nil); err == nil {
				t.Errorf("%s: it is adopted, and another fleet was first", method)
			}
			time.Sleep(2 * time.Minute)
			err := w.p.Adopt(w.Context(), &w.c, nil)
			wantError(t, "to adopt", err, fleet.Conflict, "agent pool system belongs to cluster prod/eu-1 of fleet fleet-b")
		})
	}
}

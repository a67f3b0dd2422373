package azure_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure"
	"fairlead.dev/providers/infrastructure/azure/api"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
	"fairlead.dev/test/run/kindstest"
)

// The specs of most tests of AKS.
const (
	planeSpec  = `{location: westeurope, subscriptionID: ` + azuretest.Subscription + `, resourceGroupName: rg, identityRef: {name: fleet}, version: v1.33.5}`
	systemSpec = `{name: system, mode: System, sku: Standard_D4s_v5}`
	userSpec   = `{name: user, mode: User, sku: Standard_D2s_v5, nodeLabels: {tier: web}}`
)

// setPlane gives c a control plane that AKS keeps, with a spec.
func setPlane(t testing.TB, c *fleet.Cluster, name, spec string) {
	t.Helper()
	k := api.ControlPlaneKinds()[0]
	normal, errs := k.Normalise(kindstest.Object(t, k, "v1beta1", "{metadata: {name: "+name+", namespace: prod}, spec: "+spec+"}"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	m := normal.(*fleet.HostedManifest)
	data, err := json.Marshal(m.Spec)
	if err != nil {
		t.Fatal(err)
	}
	c.Hosted = &fleet.HostedControlPlane{Version: m.Version, Object: fleet.Object{
		GVK:  schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: api.ManagedControlPlane},
		Name: name, Namespace: "prod", Spec: data,
	}}
}

// newManaged returns a cluster of AKS with a System pool of one machine and a User pool of two.
func newManaged(t testing.TB, plane string) fleet.Cluster {
	t.Helper()
	c := newCluster(t, clusterSpec, machineSpec)
	c.Infrastructure, c.ControlPlane, c.Workers = object(t, "AzureManagedCluster", "eu-1", `{}`), fleet.Pool{}, nil
	setPlane(t, &c, "aks-1", plane)
	c.KeptPools = []fleet.KeptPool{
		{Name: "system", Count: 1, Version: c.Hosted.Version, Infrastructure: object(t, "AzureManagedMachinePool", "system", systemSpec)},
		{Name: "user", Count: 2, Version: c.Hosted.Version, Infrastructure: object(t, "AzureManagedMachinePool", "user", userSpec)},
	}
	return c
}

// A managedWorld is a cluster of AKS in a subscription, with an agent that may die.
type managedWorld struct {
	*world
	plane *azure.ControlPlane
	c     fleet.Cluster
	errs  []error
	dead  bool
	cut   func() int
}

// inAKS runs f with a cluster of AKS.
func inAKS(t *testing.T, plane string, f func(w *managedWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cloud := azuretest.New(azuretest.Options{Page: 3, Lag: 2 * time.Second, Make: 4 * time.Second, Delete: 4 * time.Second, Managed: time.Minute})
		w := &managedWorld{world: newWorld(t, cloud), c: newManaged(t, plane)}
		w.start()
		f(w)
	})
}

// start starts an agent that knows nothing.
func (w *managedWorld) start() {
	w.p = w.provider()
	w.plane = azure.NewControlPlane(w.p)
}

// change writes another spec of the control plane into Git.
func (w *managedWorld) change(old, with string) {
	w.Helper()
	text := strings.Replace(planeSpec, old, with, 1)
	if text == planeSpec && old != with {
		w.Fatalf("%q is not in the spec", old)
	}
	setPlane(w, &w.c, "aks-1", text)
}

// versions has Git ask for a version of the cluster and of its pools.
func (w *managedWorld) versions(plane, pools string) {
	w.change("v1.33.5", plane)
	for i := range w.c.KeptPools {
		w.c.KeptPools[i].Version = pools
	}
}

func (w *managedWorld) say(err error) {
	if err != nil {
		w.errs = append(w.errs, err)
	}
}

func (w *managedWorld) look() (fleet.HostedState, fleet.Infrastructure) {
	time.Sleep(2 * tick)
	seen, err := w.plane.Observe(w.Context(), &w.c, nil)
	if err != nil {
		w.say(err)
		return fleet.HostedState{Exists: true, Message: "unseen: " + err.Error()}, fleet.Infrastructure{}
	}
	infra, err := w.p.Observe(w.Context(), w.c.ServedAt(seen.State.Endpoint))
	if err != nil {
		w.say(err)
		seen.State.Exists = true
	}
	return seen.State, infra
}

// step does what a planner does next, and reports whether nothing is left to do.
func (w *managedWorld) step() (done bool) {
	s, i := w.look()
	if w.c.Delete {
		for _, p := range i.Pools {
			if p.State != fleet.KeptDeleting {
				w.say(w.p.DeletePool(w.Context(), "op", &w.c, p.Name))
			}
		}
		if len(i.Pools) == 0 && s.Exists {
			w.say(w.plane.Delete(w.Context(), "op", &w.c))
		}
		return len(i.Pools) == 0 && !s.Exists
	}
	if !s.Ready || len(s.Drift) > 0 {
		w.say(w.plane.Ensure(w.Context(), "op", &w.c))
		return false
	}
	done = true
	for _, want := range w.c.KeptPools {
		at := slices.IndexFunc(i.Pools, func(p fleet.KeptPoolSeen) bool { return p.Name == want.Name })
		if at >= 0 {
			p := i.Pools[at]
			counted := want.Range == nil && p.Count == want.Count || want.Range != nil
			if p.State == fleet.KeptActive && counted && p.Range.Is(want.Range) && p.Version == want.Version && len(p.Drift) == 0 && len(p.Machines) == p.Count {
				continue
			}
			if done = false; p.State != fleet.KeptActive && p.State != fleet.KeptFailed {
				continue
			}
		}
		done = false
		w.say(w.p.EnsurePool(w.Context(), "op", &w.c, want))
	}
	return done
}

// rest goes on until nothing is left to do.
func (w *managedWorld) rest() {
	w.Helper()
	for range 200 {
		if w.step() && !w.reborn() {
			return
		}
		w.reborn()
		if n := len(w.Resources("managedclusters")); n > 1 {
			w.Fatalf("there are %d clusters", n)
		}
	}
	s, i := w.look()
	w.Fatalf("not at rest: %+v, pools %+v, errors %v", s, i.Pools, w.errs[max(0, len(w.errs)-3):])
}

// reborn replaces an agent that died.
func (w *managedWorld) reborn() bool {
	if !w.dead {
		return false
	}
	w.dead = false
	w.cut()
	w.start()
	return true
}

// puts returns the changes of a kind that were requested.
func (w *managedWorld) puts(method string) (out []azuretest.Call) {
	for _, call := range w.Calls() {
		if call.Method == method {
			out = append(out, call)
		}
	}
	return out
}

// is returns a property of a pool, or of the cluster without a pool.
func (w *managedWorld) is(pool, property string) any {
	w.Helper()
	for _, r := range w.Resources(map[bool]string{true: "managedclusters", false: "agentpools"}[pool == ""]) {
		if pool == "" || r.Name == pool {
			return r.Body["properties"].(map[string]any)[property]
		}
	}
	return nil
}

func (w *managedWorld) pool(name fleet.PoolName) *fleet.KeptPool {
	i := slices.IndexFunc(w.c.KeptPools, func(p fleet.KeptPool) bool { return p.Name == name })
	return &w.c.KeptPools[i]
}

func (w *managedWorld) seen(name fleet.PoolName) fleet.KeptPoolSeen {
	w.Helper()
	_, i := w.look()
	for _, p := range i.Pools {
		if p.Name == name {
			return p
		}
	}
	return fleet.KeptPoolSeen{}
}

// edit changes the cluster of AKS as people would, or a pool.
func (w *managedWorld) edit(kind string, change func(body, properties map[string]any)) {
	w.Helper()
	for _, r := range w.Resources(kind) {
		w.Edit(r.ID, func(body map[string]any) { change(body, body["properties"].(map[string]any)) })
	}
}

// says returns values with spaces between them.
func says(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }

// theirs returns what a request would make as that of somebody else.
func theirs(c azuretest.Call) map[string]any {
	p := maps.Clone(c.Body["properties"].(map[string]any))
	delete(p, "tags")
	p["theirs"] = true
	return map[string]any{"location": azuretest.Location, "properties": p}
}

// wantError fails if err has another kind, or lacks words.
func wantError(t testing.TB, what string, err error, kind fleet.ErrorKind, words ...string) {
	t.Helper()
	wantKind(t, what, err, kind)
	for _, s := range words {
		if err != nil && !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %v, want %q", what, err, s)
		}
	}
}

// TestManagedPlane: a cluster of AKS is made in a network of its own with its first System pool, upgraded with its pools,
// the plane first, and deleted: the last System pool goes with it. Nothing is left, and nothing was asked for twice.
func TestManagedPlane(t *testing.T) {
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.rest()
		seen, err := w.plane.Observe(w.Context(), &w.c, nil)
		if err != nil || !seen.State.Ready || seen.State.Version != "v1.33.5" || seen.State.Endpoint.Port != 443 || !strings.HasSuffix(seen.State.Endpoint.Host, ".hcp.westeurope.azmk8s.io") {
			w.Fatalf("%+v, %v", seen.State, err)
		}
		config := string(seen.Secrets[fleet.Kubeconfig][fleet.KubeconfigKey].Reveal())
		if !strings.Contains(config, seen.State.Endpoint.Host) || !strings.Contains(config, "client-key-data") || strings.Contains(config, "token") || strings.Contains(config, azuretest.Password) {
			w.Errorf("the kubeconfig is %s", config)
		}
		if ca := string(seen.Secrets[fleet.ClusterCA][fleet.TLSCertKey].Reveal()); ca != "CA of aks-1" {
			w.Errorf("the CA is %q", ca)
		}
		made := w.puts("PUT managedclusters")
		if len(made) != 1 || len(w.puts("PUT agentpools")) != 1 {
			w.Errorf("%d requests for a cluster, %d for pools", len(made), len(w.puts("PUT agentpools")))
		}
		first := fmt.Sprint(made[0].Body)
		for _, want := range []string{"fairlead.dev_cluster:prod/eu-1", "mode:System", "fairlead.dev_pool:system", "kubernetesVersion:1.33.5", "orchestratorVersion:1.33.5", "/virtualNetworks/aks-1/subnets/aks-1", "dnsPrefix:aks-1", "tier:Free"} {
			if !strings.Contains(first, want) {
				w.Errorf("the cluster was asked for without %s: %s", want, first)
			}
		}
		_, i := w.look()
		if !i.Ready || len(i.Machines) > 0 || len(i.Pools) != 2 || len(i.Pools[1].Machines) != 2 || !i.Places[0].Used || i.Pools[0].Created.IsZero() ||
			!strings.HasPrefix(string(i.Pools[0].Machines[0]), "azure:///subscriptions/"+azuretest.Subscription+"/resourceGroups/mc_rg_aks-1_westeurope/providers/Microsoft.Compute/virtualMachineScaleSets/aks-system-1-vmss/virtualMachines/") {
			w.Errorf("the infrastructure is %+v", i)
		}
		if n := len(w.Resources("networksecuritygroups")) + len(w.Resources("natgateways")); n > 0 {
			w.Errorf("%d things of the network that AKS does not need", n)
		}
		w.ResetCalls()
		w.versions("v1.34.1", "v1.34.1")
		w.rest()
		if is := says(w.is("", "currentKubernetesVersion"), w.is("system", "orchestratorVersion"), w.is("user", "orchestratorVersion")); is != "1.34.1 1.34.1 1.34.1" {
			w.Errorf("versions are %s", is)
		}
		var order []string
		for _, call := range w.Calls() {
			if strings.HasPrefix(call.Method, "PUT ") {
				order = append(order, call.Method)
			}
		}
		if got := strings.Join(order, ", "); got != "PUT managedclusters, PUT agentpools, PUT agentpools" {
			w.Errorf("the upgrade is %s", got)
		}
		w.c.Delete = true
		w.rest()
		for _, r := range w.Resources("") {
			w.Errorf("left: %s", r.ID)
		}
		for _, err := range w.errs {
			if kind := fleet.KindOf(err); kind != fleet.Conflict && kind != fleet.Unavailable { // AKS does one thing at a time
				w.Errorf("error: %v", err)
			}
		}
	})
}

// TestManagedSweep: an agent that dies at any change, before Azure has it or when the answer is on its way, makes no
// second cluster and no second pool, and the next one brings all to the same end.
func TestManagedSweep(t *testing.T) {
	t.Parallel()
	changes := 0
	live := func(w *managedWorld) {
		w.rest()
		w.versions("v1.34.1, sku: {tier: Standard}", "v1.34.1")
		w.pool("user").Count = 3
		w.rest()
		if is := says(w.is("", "currentKubernetesVersion"), w.is("user", "orchestratorVersion"), w.is("user", "count"), len(w.Resources("agentpools"))); is != "1.34.1 1.34.1 3 2" {
			w.Errorf("the end is %s", is)
		}
		w.c.Delete = true
		w.rest()
		for _, r := range w.Resources("") {
			w.Errorf("left: %s", r.ID)
		}
	}
	inAKS(t, planeSpec, func(w *managedWorld) {
		live(w)
		for _, c := range w.Calls() {
			if c.Changes() {
				changes++
			}
		}
	})
	if changes < 10 {
		t.Fatalf("only %d changes", changes)
	}
	for n := 1; n <= changes; n++ {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d %s", n, map[bool]string{true: "before", false: "after"}[before]), func(t *testing.T) {
				t.Parallel()
				inAKS(t, planeSpec, func(w *managedWorld) {
					w.Inject(azuretest.Fault{Changes: true, Skip: n - 1, Times: 1, Cut: before, Lose: !before, Do: func(azuretest.Call) {
						w.cut = w.Inject(azuretest.Fault{Cut: true})
						w.dead = true
					}})
					live(w)
				})
			})
		}
	}
}

// TestManagedChanges are the traps of a cluster of AKS.
func TestManagedChanges(t *testing.T) {
	t.Run("a cluster of others has the name", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			before := len(w.puts("PUT managedclusters"))
			w.c.Fleet = "fleet-b"
			s, _ := w.look()
			if s.Ready || !strings.Contains(s.Message, "without the tags of this cluster") {
				t.Errorf("%+v", s)
			}
			wantError(t, "the cluster of others", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Conflict, "another name")
			w.c.Delete = true
			_ = w.plane.Delete(w.Context(), "op", &w.c)
			time.Sleep(5 * time.Minute)
			if w.is("", "provisioningState") != "Succeeded" || len(w.puts("PUT managedclusters")) != before || len(w.puts("DELETE virtualnetworks")) > 0 {
				t.Errorf("the cluster of others is %v", w.is("", "provisioningState"))
			}
		})
	})
	for name, forget := range map[string]bool{"another name in Git at once": false, "another name in Git, and another agent": true} {
		t.Run(name, func(t *testing.T) {
			inAKS(t, planeSpec, func(w *managedWorld) {
				for w.is("", "dnsPrefix") == nil {
					w.step()
				}
				setPlane(t, &w.c, "another", strings.Replace(planeSpec, "{", "{virtualNetwork: {name: aks-1, cidrBlock: 10.0.0.0/8, subnet: {name: aks-1, cidrBlock: 10.240.0.0/16}}, dnsPrefix: aks-1, ", 1))
				if forget { // Azure lists the cluster by then
					time.Sleep(settle)
					w.start()
				}
				for range 3 {
					w.say(w.plane.Ensure(w.Context(), "op", &w.c))
				}
				for range 20 {
					w.step()
				}
				s, i := w.look()
				if !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "the cluster of AKS is aks-1") || len(i.Pools) == 0 {
					t.Errorf("%+v, %+v", s, i.Pools)
				}
				if n := len(w.puts("PUT managedclusters")); n != 1 {
					t.Errorf("%d requests for a cluster", n)
				}
			})
		})
	}
	for _, code := range []string{"InsufficientSubnetSize", "ErrCode_InsufficientVCPUQuota"} {
		t.Run("a number that AKS refuses holds up nothing else: "+code, func(t *testing.T) {
			inAKS(t, planeSpec, func(w *managedWorld) {
				w.rest()
				w.Inject(azuretest.Fault{Method: "PUT agentpools", Status: 400, Code: code, When: func(c azuretest.Call) bool {
					return strings.Contains(fmt.Sprint(c.Body), "count:9 ")
				}})
				w.pool("user").Count, w.pool("user").NodeLabels = 9, map[string]string{"a": "b"}
				w.versions("v1.34.1", "v1.34.1")
				for range 60 {
					w.step()
				}
				if is := says(w.is("user", "count"), w.is("user", "orchestratorVersion"), w.is("user", "nodeLabels")); is != "2 1.34.1 map[a:b tier:web]" {
					t.Errorf("the pool has %s", is)
				}
				if err := w.p.EnsurePool(w.Context(), "op", &w.c, *w.pool("user")); err == nil || !strings.Contains(err.Error(), code) {
					t.Errorf("the number: %v", err)
				}
			})
		})
	}
	t.Run("somebody makes one of that name meanwhile", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.Inject(azuretest.Fault{Method: "PUT managedclusters", Times: 1, Do: func(c azuretest.Call) { w.Put(c.ID, theirs(c)) }})
			for range 20 {
				w.step()
			}
			if w.is("", "theirs") != true {
				t.Error("the cluster of somebody else was changed")
			}
		})
	})
	t.Run("a policy has another value", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("{", "{additionalTags: {team: web}, oidcIssuerProfile: {enabled: true}, ")
			w.pool("user").Infrastructure = object(t, "AzureManagedMachinePool", "user", strings.Replace(userSpec, "web", "db", 1))
			policy := func() { // what AKS takes is changed back
				w.edit("managedclusters", func(body, _ map[string]any) {
					tags, _ := body["tags"].(map[string]any)
					tags["team"] = "ops"
				})
				w.edit("agentpools", func(_, p map[string]any) {
					if p["mode"] == "User" {
						p["nodeLabels"] = map[string]any{"tier": "web"}
					}
				})
			}
			w.ResetCalls()
			for range 60 {
				policy()
				w.step()
				time.Sleep(30 * time.Second)
			}
			policy()
			if plane, pool := len(w.puts("PUT managedclusters")), len(w.puts("PUT agentpools")); plane > 2 || pool > 2 {
				t.Errorf("in an hour %d requests change the cluster, and %d its pool", plane, pool)
			}
			s, _ := w.look()
			if p := w.seen("user"); !s.Ready || len(s.Drift) > 0 || !strings.Contains(s.Message, "changed it back: tag team (") || len(p.Drift) > 0 || !strings.Contains(p.Message, "changed it back: labels of its nodes differ (") {
				t.Errorf("%+v, %+v", s, p)
			}
			if got := says(w.is("", "oidcIssuerProfile")); got != "map[enabled:true]" {
				t.Errorf("what nothing changes back is %s", got)
			}
			before := len(w.puts("PUT managedclusters"))
			time.Sleep(time.Hour)
			for range 5 {
				w.step()
			}
			if n := len(w.puts("PUT managedclusters")) - before; n != 1 {
				t.Errorf("an hour later there are %d requests, want 1", n)
			}
			w.rest() // the policy is gone
			if s, _ = w.look(); s.Message != "" || w.seen("user").Message != "" {
				t.Errorf("%+v, %+v", s, w.seen("user"))
			}
			w.edit("managedclusters", func(body, _ map[string]any) { body["tags"].(map[string]any)["team"] = "me" })
			w.step()
			if n := len(w.puts("PUT managedclusters")) - before; n != 2 {
				t.Errorf("what people change later waits: %d requests", n)
			}
		})
	})
	t.Run("a policy has another value, and Git changes", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			policy := func() {
				w.edit("managedclusters", func(body, _ map[string]any) { body["tags"].(map[string]any)["team"] = "ops" })
				w.edit("agentpools", func(_, p map[string]any) {
					if p["mode"] == "User" {
						p["nodeLabels"] = map[string]any{"tier": "web"}
					}
				})
			}
			for _, value := range []string{"a", "b", "a", "ops", "a"} {
				w.change("{", "{additionalTags: {team: "+value+"}, ")
				w.pool("user").NodeLabels = map[string]string{"team": value}
				w.ResetCalls()
				for range 8 {
					policy()
					w.step()
					time.Sleep(30 * time.Second)
				}
				want := 1
				if value == "ops" {
					want = 0
				}
				if plane, pool := len(w.puts("PUT managedclusters")), len(w.puts("PUT agentpools")); plane != want || pool < 1 || pool > 2 {
					t.Errorf("%s: %d requests change the cluster, and %d its pool", value, plane, pool)
				}
			}
		})
	})
	t.Run("a change that is not made yet", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("{", "{additionalTags: {team: web}, ")
			before := func(state string) { // as it was before the change
				w.edit("managedclusters", func(body, p map[string]any) {
					delete(body["tags"].(map[string]any), "team")
					p["provisioningState"] = state
				})
			}
			for _, state := range []string{"Succeeded", "Failed"} {
				w.step()
				if state == "Failed" {
					time.Sleep(2 * settle)
				}
				before(state)
				if s, _ := w.look(); len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "team") {
					t.Errorf("%s: %+v", state, s)
				}
			}
		})
	})
	t.Run("another resource group", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			_, i := w.look()
			w.c.Residence = fleet.Residence{Provider: "azure", Places: []fleet.Place{i.Places[0].Place}}
			w.change("resourceGroupName: rg", "resourceGroupName: other")
			_, err := w.plane.Observe(w.Context(), &w.c, nil)
			wantError(t, "another group", err, fleet.Unauthorized, "a cluster cannot move")
			wantError(t, "another group", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Unauthorized)
		})
	})
	t.Run("versions", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.ResetCalls()
			w.change("v1.33.5", "v1.35.0")
			wantError(t, "two minor versions", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Invalid, "one minor version at a time", "1.34")
			w.change("v1.33.5", "v1.33.4")
			wantError(t, "an older patch", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Invalid, "does not go back", "set version: v1.33.5")
			w.change("v1.33.5", "v1.33.4, autoUpgradeProfile: {upgradeChannel: patch}")
			if s, _ := w.look(); len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "autoUpgradeProfile") {
				t.Errorf("a patch of the channel is drift: %q", s.Drift)
			}
			if n := len(w.puts("PUT managedclusters")); n > 0 {
				t.Errorf("%d changes were requested", n)
			}
		})
	})
	t.Run("AKS upgrades by itself", func(t *testing.T) { // CAPZ 4115
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.ResetCalls()
			w.edit("managedclusters", func(_, p map[string]any) { p["kubernetesVersion"], p["currentKubernetesVersion"] = "1.34.1", "1.34.1" })
			s, _ := w.look()
			if s.Version != "v1.34.1" || len(s.Drift) != 1 || !strings.Contains(s.Drift[0], "set version: v1.34.1") {
				t.Errorf("%+v", s)
			}
			_ = w.plane.Ensure(w.Context(), "op", &w.c)
			if n := len(w.puts("PUT managedclusters")); n > 0 {
				t.Errorf("%d changes were requested", n)
			}
		})
	})
	t.Run("a PUT takes nothing away", func(t *testing.T) { // CAPZ 1883, 2443
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.pool("user").Range = &fleet.PoolRange{Min: 1, Max: 5}
			w.rest()
			w.edit("managedclusters", func(body, p map[string]any) {
				p["addonProfiles"] = map[string]any{"azurepolicy": map[string]any{"enabled": true}}
				p["ofTomorrow"] = "stays"
				body["tags"].(map[string]any)["policy"] = "theirs"
			})
			w.ResetCalls()
			w.change("v1.33.5", "v1.34.1, sku: {tier: Standard}, addonProfiles: [{name: azureKeyvaultSecretsProvider, enabled: true}]")
			user := w.Resources("agentpools")[1].ID
			w.Edit(user, func(body map[string]any) { delete(body["properties"].(map[string]any), "orchestratorVersion") })
			w.Inject(azuretest.Fault{Method: "PUT managedclusters", Times: 1, Do: func(azuretest.Call) {
				w.Edit(user, func(body map[string]any) { body["properties"].(map[string]any)["count"] = 4 }) // its autoscaler
			}})
			w.rest()
			text := says(w.is("", "addonProfiles"), w.is("", "ofTomorrow"), w.Resources("managedclusters")[0].Body["tags"])
			for _, want := range []string{"azurepolicy", "azureKeyvaultSecretsProvider", "stays", "policy:theirs", "fairlead.dev_cluster:prod/eu-1"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s is gone: %s", want, text)
				}
			}
			if is := says(w.is("", "currentKubernetesVersion"), w.is("user", "currentOrchestratorVersion"), w.is("user", "count")); is != "1.34.1 1.33.5 4" {
				t.Errorf("the cluster, its pool and its number are %s: a pool went along, or a number was set", is)
			}
			for _, call := range w.puts("PUT managedclusters") {
				if !strings.Contains(fmt.Sprint(call.Body), "orchestratorVersion:1.33.5") {
					t.Errorf("a PUT without the versions of pools: %v", call.Body)
				}
			}
		})
	})
	t.Run("somebody else changed it meanwhile", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("v1.33.5", "v1.33.5, sku: {tier: Standard}")
			w.look()
			id := w.Resources("managedclusters")[0].ID
			w.Inject(azuretest.Fault{Method: "PUT managedclusters", Times: 1, Do: func(azuretest.Call) {
				w.Edit(id, func(body map[string]any) { body["properties"].(map[string]any)["theirs"] = true })
			}})
			wantError(t, "a change of somebody else", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Conflict)
			if w.is("", "theirs") != true {
				t.Error("the change of somebody else is gone")
			}
		})
	})
	t.Run("what is changed, and what is fixed", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.ResetCalls()
			w.change("version: v1.33.5", `version: v1.33.5, sku: {tier: Standard}, additionalTags: {team: web}, oidcIssuerProfile: {enabled: true}, securityProfile: {workloadIdentity: {enabled: true}},
				apiServerAccessProfile: {authorizedIPRanges: [192.0.2.0/24]}, autoscalerProfile: {scanInterval: 30s}, loadBalancerProfile: {managedOutboundIPs: 2}, dnsPrefix: other, networkPlugin: kubenet`)
			s, _ := w.look()
			text := strings.Join(s.Drift, "\n")
			for _, want := range []string{
				"apiServerAccessProfile.authorizedIPRanges differs", "autoscalerProfile.scan-interval differs", "change dnsPrefix: the cluster has aks-1 and not other", "change networkPlugin: the cluster has azure and not kubenet",
				"loadBalancerProfile.managedOutboundIPs.count differs", "oidcIssuerProfile.enabled differs", "securityProfile.workloadIdentity.enabled differs", "sku.tier differs", "tags of the cluster differ: team",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("drift lacks %q:\n%s", want, text)
				}
			}
			for range 12 {
				w.say(w.plane.Ensure(w.Context(), "op", &w.c))
				time.Sleep(30 * time.Second)
			}
			if n := len(w.puts("PUT managedclusters")); n != 1 {
				t.Errorf("%d changes, want one", n)
			}
			if s, _ := w.look(); len(s.Drift) != 2 {
				t.Errorf("what is left is %q", s.Drift)
			}
			w.change("version: v1.33.5", "version: v1.33.5, oidcIssuerProfile: {enabled: false}")
			wantError(t, "an issuer that goes", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Invalid, "AKS does not turn it off")
		})
	})
	t.Run("what is refused holds up nothing else", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("version: v1.33.5", "version: v1.34.1, sku: {tier: Standard}, additionalTags: {team: web}, outboundType: userDefinedRouting")
			w.Inject(azuretest.Fault{Method: "PUT managedclusters", Status: 400, Code: "InvalidParameter", Message: "outboundType is not allowed.", When: func(c azuretest.Call) bool {
				return strings.Contains(fmt.Sprint(c.Body), "userDefinedRouting")
			}})
			for range 30 {
				w.step()
			}
			if is := says(w.is("", "currentKubernetesVersion"), w.Resources("managedclusters")[0].Body["sku"]); !strings.Contains(is, "1.34.1") || !strings.Contains(is, "Standard") || w.Resources("managedclusters")[0].Tags["team"] != "web" {
				t.Errorf("the cluster is %s", is)
			}
			wantError(t, "what is refused", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Invalid, "outboundType is not allowed")
		})
	})
	t.Run("two refused fields hold up no version", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("version: v1.33.5", "version: v1.34.1, outboundType: userDefinedRouting, sku: {tier: Standard}")
			w.Inject(azuretest.Fault{Method: "PUT managedclusters", Status: 400, Code: "InvalidParameter", Message: "outboundType and the tier are not allowed.", When: func(c azuretest.Call) bool {
				body := fmt.Sprint(c.Body)
				return strings.Contains(body, "userDefinedRouting") || strings.Contains(body, "tier:Standard")
			}})
			for range 30 {
				w.step()
			}
			if is := says(w.is("", "currentKubernetesVersion")); is != "1.34.1" {
				t.Errorf("the cluster has %s", is)
			}
		})
	})
	t.Run("a refused tag holds up no field and no version", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			setPlane(w, &w.c, "aks-1", strings.NewReplacer("version: v1.33.5", "version: v1.34.1, additionalTags: {team: nobody}, sku: {tier: Standard}").Replace(planeSpec))
			w.Inject(azuretest.Fault{Method: "PUT managedclusters", Status: 403, Code: "RequestDisallowedByPolicy", Message: "team is not one of the teams.", When: func(c azuretest.Call) bool {
				return strings.Contains(fmt.Sprint(c.Body["tags"]), "team:nobody")
			}})
			for range 30 {
				w.step()
			}
			if is := says(w.is("", "currentKubernetesVersion"), w.Resources("managedclusters")[0].Body["sku"]); !strings.Contains(is, "1.34.1") || !strings.Contains(is, "Standard") {
				t.Errorf("the cluster is %s", is)
			}
			wantError(t, "what is refused", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Invalid, "team is not one of the teams")
		})
	})
	t.Run("what Git does not name stays", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("version: v1.33.5", "version: v1.33.5, sku: {tier: Standard}")
			w.rest()
			w.change("version: v1.33.5", "version: v1.33.5")
			if s, _ := w.look(); len(s.Drift) > 0 {
				t.Errorf("it differs: %q", s.Drift)
			}
			w.rest()
			if is := says(w.Resources("managedclusters")[0].Body["sku"]); !strings.Contains(is, "Standard") {
				t.Errorf("the tier is %s", is)
			}
		})
	})
	t.Run("one way out takes the place of another", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("version: v1.33.5", "version: v1.33.5, loadBalancerProfile: {managedOutboundIPs: 2}")
			w.rest()
			w.change("version: v1.33.5", "version: v1.33.5, loadBalancerProfile: {outboundIPs: [/subscriptions/a/resourceGroups/b/providers/Microsoft.Network/publicIPAddresses/c]}")
			w.rest()
			if is := says(w.is("", "networkProfile")); strings.Contains(is, "managedOutboundIPs") || !strings.Contains(is, "publicIPs") {
				t.Errorf("machines go out by %s", is)
			}
		})
	})
	t.Run("what AKS shows in another form", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			for name, more := range map[string]string{
				"an address, and a range with bits of a host":  "apiServerAccessProfile: {authorizedIPRanges: [192.0.2.7, 198.51.100.9/24]}",
				"an add-on that is off with its configuration": "addonProfiles: [{name: azurepolicy, enabled: false, config: {version: v2}}]",
			} {
				w.change("version: v1.33.5", "version: v1.33.5, "+more)
				w.rest()
				if s, _ := w.look(); len(s.Drift) > 0 {
					t.Errorf("%s differs: %q", name, s.Drift)
				}
			}
		})
	})
	t.Run("a failed change heals", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.FailManaged(3)
			began := time.Now()
			w.rest()
			if took := time.Since(began); took > 8*time.Minute {
				t.Errorf("a cluster whose creation fails is there after %s", took)
			}
			w.FailManaged(1)
			w.versions("v1.34.1", "v1.34.1")
			w.rest()
			if is := says(w.is("", "currentKubernetesVersion"), w.is("", "provisioningState")); is != "1.34.1 Succeeded" {
				t.Errorf("the cluster is %s", is)
			}
			w.edit("managedclusters", func(_, p map[string]any) { p["provisioningState"] = "Failed" })
			if s, _ := w.look(); !s.Ready || len(s.Drift) != 1 || !strings.Contains(s.Message, "is Failed") {
				t.Errorf("%+v", s)
			}
			w.rest()
			time.Sleep(5 * time.Minute)
			if is := w.is("", "provisioningState"); is != "Succeeded" {
				t.Errorf("the cluster is %s", is)
			}
		})
	})
	t.Run("a change that fails again and again holds up no pool, and no other change", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.Watch(func(c azuretest.Call) {
				if strings.HasPrefix(c.Method, "PUT managedclusters") && !strings.Contains(fmt.Sprint(c.Body), "oidcIssuerProfile:map[enabled:true]") {
					w.FailManaged(1)
				}
			})
			w.change("version: v1.33.5", "version: v1.33.5, sku: {tier: Standard}")
			w.pool("user").Count = 3
			w.ResetCalls()
			for range 360 { // an hour
				w.look()
				w.say(w.plane.Ensure(w.Context(), "op", &w.c))
				_ = w.p.EnsurePool(w.Context(), "op", &w.c, *w.pool("user"))
			}
			if n := says(w.is("user", "count")); n != "3" {
				t.Errorf("the number is %s", n)
			}
			if n := len(w.puts("PUT managedclusters")); n < 5 || n > 8 {
				t.Errorf("in an hour the cluster was changed %d times", n)
			}
			w.ResetCalls()
			w.change("version: v1.33.5", "version: v1.33.5, sku: {tier: Standard}, oidcIssuerProfile: {enabled: true}")
			for range 12 {
				w.look()
				w.say(w.plane.Ensure(w.Context(), "op", &w.c))
			}
			if is := says(w.is("", "provisioningState"), w.is("", "oidcIssuerProfile")); is != "Succeeded map[enabled:true]" {
				t.Errorf("what Git says then waits: %s, %d requests", is, len(w.puts("PUT managedclusters")))
			}
		})
	})
	t.Run("stopped", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.edit("managedclusters", func(_, p map[string]any) { p["powerState"] = map[string]any{"code": "Stopped"} })
			if s, _ := w.look(); s.Ready || !strings.Contains(s.Message, "az aks start") {
				t.Errorf("%+v", s)
			}
			wantError(t, "a cluster that is stopped", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Conflict, "az aks start")
		})
	})
	t.Run("stopped, and deleted", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.edit("managedclusters", func(_, p map[string]any) { p["powerState"] = map[string]any{"code": "Stopped"} })
			wantError(t, "a pool that leaves Git", w.p.DeletePool(w.Context(), "op", &w.c, "user"), fleet.Invalid, "stopped")
			id := w.Resources("managedclusters")[0].ID + "/agentPools/theirs"
			w.Put(id, map[string]any{"properties": map[string]any{"mode": "User", "count": 1}})
			w.c.Delete = true
			for range 5 {
				w.step()
			}
			wantError(t, "a pool of others", w.errs[len(w.errs)-1], fleet.Conflict, "theirs")
			if n := len(w.Resources("managedclusters")); n != 1 {
				t.Fatalf("there are %d clusters, want the one with a pool of others", n)
			}
			w.Drop(id)
			w.rest()
			if left := w.Resources(""); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	})
	t.Run("no System pool", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.c.KeptPools = w.c.KeptPools[1:]
			for range 10 {
				w.step()
			}
			wantError(t, "no System pool", w.plane.Ensure(w.Context(), "op", &w.c), fleet.Invalid, "mode: System")
			if n := len(w.puts("PUT managedclusters")); n > 0 {
				t.Errorf("%d requests for a cluster", n)
			}
		})
	})
	t.Run("another VNet", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("version: v1.33.5", "version: v1.33.5, virtualNetwork: {name: other, cidrBlock: 10.0.0.0/8}")
			if s, _ := w.look(); !s.Ready || len(s.Drift) == 0 || !strings.Contains(strings.Join(s.Drift, "\n"), "cannot get the name other") {
				t.Errorf("%+v", s)
			}
			_ = w.plane.Ensure(w.Context(), "op", &w.c)
			if n := len(w.Resources("virtualnetworks")); n != 1 {
				t.Errorf("%d VNets", n)
			}
		})
	})
	t.Run("a given VNet", func(t *testing.T) {
		inAKS(t, strings.Replace(planeSpec, "version: v1.33.5", "version: v1.33.5, virtualNetwork: {name: corp, resourceGroup: net, cidrBlock: 10.0.0.0/8, subnet: {name: nodes, cidrBlock: 10.1.0.0/16}}", 1), func(w *managedWorld) {
			w.given()
			before := fmt.Sprint(w.Resources("virtualnetworks"))
			w.rest()
			if now := fmt.Sprint(w.Resources("virtualnetworks")); now != before {
				t.Errorf("the VNet is %s, and was %s", now, before)
			}
			w.c.Delete = true
			w.rest()
			if now := fmt.Sprint(w.Resources("virtualnetworks")); now != before {
				t.Errorf("after the deletion the VNet is %s, and was %s", now, before)
			}
		})
	})
	t.Run("rights", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.Deny("listclusteradmincredential", true)
			w.start()
			if s, _ := w.look(); s.Ready || !strings.Contains(s.Message, "AuthorizationFailed") {
				t.Errorf("%+v", s)
			}
			w.Deny("managedclusters", true)
			_, err := w.plane.Observe(w.Context(), &w.c, nil)
			wantError(t, "a missing right", err, fleet.Unauthorized, "give the service principal a role")
		})
	})
	t.Run("no control plane of AKS", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.c.Hosted = nil
			_, err := w.p.Observe(w.Context(), &w.c)
			wantError(t, "an AzureManagedCluster alone", err, fleet.Invalid, "needs an AzureManagedControlPlane")
			w.c = newManaged(t, planeSpec)
			w.c.Infrastructure = object(t, "AzureCluster", "eu-1", clusterSpec)
			_, err = w.plane.Observe(w.Context(), &w.c, nil)
			wantError(t, "an AzureCluster", err, fleet.Invalid, "needs an AzureManagedCluster")
		})
	})
}

// TestAdminCredential: the credential of admins is asked for seldom, and again once it may be another.
func TestAdminCredential(t *testing.T) {
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.rest()
		w.look()
		w.ResetCalls()
		for range 5 {
			w.look()
		}
		if n := len(w.puts("LIST listclusteradmincredential")); n > 0 {
			t.Errorf("%d requests for the credential", n)
		}
		w.RotateCredentials()
		time.Sleep(15 * time.Minute)
		seen, err := w.plane.Observe(w.Context(), &w.c, nil)
		if err != nil || !strings.Contains(string(seen.Secrets[fleet.Kubeconfig][fleet.KubeconfigKey].Reveal()), "Y2VydGlmaWNhdGUgMQ==") {
			t.Errorf("the certificate is the former one, %v", err)
		}
	})
}

// TestNoLocalAccounts: people disabled the local accounts of a cluster, with which the agent logs in: that is said, and nothing is
// changed (CAPZ 2129).
func TestNoLocalAccounts(t *testing.T) {
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.rest()
		w.edit("managedclusters", func(_, p map[string]any) { p["disableLocalAccounts"] = true })
		if s, i := w.look(); s.Ready || !s.Exists || !strings.Contains(s.Message, "cannot get the admin credential: BadRequest: Getting static credential is not allowed") || len(i.Pools) != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// TestLostTagsOfAKS: the cluster of AKS lost its tags, and is to be deleted: nothing is deleted under it, and it is said.
func TestLostTagsOfAKS(t *testing.T) {
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.rest()
		w.edit("managedclusters", func(body, _ map[string]any) { body["tags"] = map[string]any{} })
		w.start()
		w.ResetCalls()
		w.c.Delete = true
		for range 10 {
			s, _ := w.look()
			if !s.Exists {
				t.Fatalf("the cluster is said to be gone: %+v", s)
			}
			wantError(t, "a cluster without tags", w.plane.Delete(w.Context(), "op", &w.c), fleet.Conflict, "bring the tags back")
		}
		for _, c := range w.Calls() {
			if strings.HasPrefix(c.Method, "DELETE ") {
				t.Errorf("%s %s", c.Method, c.ID)
			}
		}
	})
}

// TestAgentPools are the traps of agent pools.
func TestAgentPools(t *testing.T) {
	t.Run("what is changed, and what is fixed", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.ResetCalls()
			pool := w.pool("user")
			pool.NodeLabels, pool.Taints = map[string]string{"node-role.kubernetes.io/web": ""}, []clusterv1.MachineTaint{{Key: "web", Effect: "NoSchedule"}}
			pool.Infrastructure = object(t, "AzureManagedMachinePool", "user", `{name: user, mode: System, sku: Standard_D4s_v5, osDiskSizeGB: 64, maxPods: 50, scaleDownMode: Deallocate, nodeLabels: {tier: db}, additionalTags: {team: web}, taints: [{key: gpu, value: "yes", effect: PreferNoSchedule}]}`)
			p := w.seen("user")
			if got := strings.Join(p.Drift, "|"); got != "labels of its nodes differ|mode User → System|scaleDownMode Delete → Deallocate|tags differ: team|taints of its nodes differ" {
				t.Errorf("drift %s", got)
			}
			if got := strings.Join(p.Fixed, "|"); !strings.Contains(got, "maxPods 30 → 50; an agent pool keeps") || !strings.Contains(got, "osDiskSizeGB 128 → 64") || !strings.Contains(got, "sku Standard_D2s_v5 → Standard_D4s_v5") {
				t.Errorf("fixed %s", got)
			}
			w.rest()
			if got := says(w.is("user", "nodeLabels"), w.is("user", "nodeTaints"), w.is("user", "mode"), w.is("user", "vmSize"), w.is("user", "osDiskSizeGB")); got !=
				"map[node-role.kubernetes.io/web: tier:db] [gpu=yes:PreferNoSchedule web=:NoSchedule] System Standard_D2s_v5 128" {
				t.Errorf("the pool is %s", got)
			}
			if n := len(w.puts("PUT agentpools")); n != 1 {
				t.Errorf("%d changes, want one", n)
			}
			pool.Taints, pool.NodeLabels = nil, nil
			w.rest()
			if got := says(w.is("user", "nodeLabels"), w.is("user", "nodeTaints")); strings.Contains(got, "web") {
				t.Errorf("the pool keeps %s", got)
			}
		})
	})
	t.Run("the number is the autoscaler's", func(t *testing.T) { // CAPZ 2443
		inAKS(t, planeSpec, func(w *managedWorld) {
			pool := w.pool("user")
			pool.Range = &fleet.PoolRange{Min: 1, Max: 5}
			w.rest()
			set := func(n int) {
				for _, r := range w.Resources("agentpools") {
					if r.Name == "user" {
						w.Edit(r.ID, func(body map[string]any) { body["properties"].(map[string]any)["count"] = n })
					}
				}
			}
			set(4)
			w.ResetCalls()
			if p := w.seen("user"); p.Count != 4 || !p.Range.Is(pool.Range) || len(p.Drift) > 0 {
				t.Errorf("the pool is %+v", p)
			}
			if err := w.p.EnsurePool(w.Context(), "op", &w.c, *pool); err != nil || len(w.puts("PUT agentpools")) > 0 {
				t.Errorf("the number is changed, %v", err)
			}
			pool.NodeLabels = map[string]string{"a": "b"}
			if err := w.p.EnsurePool(w.Context(), "op", &w.c, *pool); err != nil {
				t.Fatal(err)
			}
			set(5)
			time.Sleep(5 * time.Minute)
			if n := says(w.is("user", "count")); n != "5" {
				t.Errorf("a change of labels sets the number to %s", n)
			}
			pool.Range = &fleet.PoolRange{Min: 1, Max: 3}
			if err := w.p.EnsurePool(w.Context(), "op", &w.c, *pool); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			w.look()
			if n := says(w.is("user", "count")); n != "3" {
				t.Errorf("beyond its range the number becomes %s", n)
			}
			pool.Range = nil
			w.rest()
			if n := says(w.is("user", "count"), w.is("user", "minCount")); n != "2 <nil>" {
				t.Errorf("without a range the number is %s", n)
			}
		})
	})
	t.Run("spot", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.pool("user").Infrastructure = object(t, "AzureManagedMachinePool", "user", `{name: user, mode: User, sku: Standard_D2s_v5, scaleSetPriority: Spot, spotMaxPrice: "0.5", nodeLabels: {tier: web}}`)
			w.rest()
			if p := w.seen("user"); len(p.Drift)+len(p.Fixed) > 0 {
				t.Errorf("what AKS sets by itself is a difference: %+v", p)
			}
			w.pool("user").NodeLabels = map[string]string{"a": "b"}
			w.rest()
			if got := says(w.is("user", "nodeLabels"), w.is("user", "nodeTaints"), w.is("user", "spotMaxPrice")); !strings.Contains(got, "scalesetpriority:spot") || !strings.Contains(got, "scalesetpriority=spot:NoSchedule") || !strings.Contains(got, "0.5") {
				t.Errorf("the pool is %s", got)
			}
		})
	})
	t.Run("one that fails heals", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.FailManaged(1)
			w.pool("user").Count = 3
			if err := w.p.EnsurePool(w.Context(), "op", &w.c, *w.pool("user")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			if p := w.seen("user"); p.State != fleet.KeptFailed || len(p.Drift) == 0 {
				t.Errorf("the pool is %+v", p)
			}
			w.rest()
			if n := says(w.is("user", "count")); n != "3" {
				t.Errorf("the number is %s", n)
			}
			for _, r := range w.Resources("agentpools") {
				w.Edit(r.ID, func(body map[string]any) { body["properties"].(map[string]any)["provisioningState"] = "Failed" })
			}
			w.rest()
			time.Sleep(5 * time.Minute)
			if is := says(w.is("user", "provisioningState"), w.is("system", "provisioningState")); is != "Succeeded Succeeded" {
				t.Errorf("the pools are %s", is)
			}
		})
	})
	t.Run("the last System pool", func(t *testing.T) { // CAPZ 1355, 4341
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			wantError(t, "the last System pool", w.p.DeletePool(w.Context(), "op", &w.c, "system"), fleet.Conflict, "add another one with mode: System")
			w.c.Delete = true
			wantError(t, "before the others", w.p.DeletePool(w.Context(), "op", &w.c, "system"), fleet.Conflict, "still has the agent pools system, user")
			if w.is("", "provisioningState") != "Succeeded" {
				t.Error("the cluster is being deleted")
			}
		})
	})
	t.Run("one of others", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			for _, r := range w.Resources("agentpools") {
				if r.Name == "user" {
					w.Edit(r.ID, func(body map[string]any) { delete(body["properties"].(map[string]any), "tags") })
				}
			}
			if p := w.seen("user"); p.Damaged == "" {
				t.Errorf("the pool is %+v", p)
			}
			wantError(t, "a pool of others", w.p.EnsurePool(w.Context(), "op", &w.c, *w.pool("user")), fleet.Conflict, "without the tags")
			if err := w.p.DeletePool(w.Context(), "op", &w.c, "user"); err != nil || w.is("user", "provisioningState") != "Succeeded" {
				t.Errorf("it is %v, %v", w.is("user", "provisioningState"), err)
			}
			w.c.Delete = true
			wantError(t, "a cluster with a pool of others", w.plane.Delete(w.Context(), "op", &w.c), fleet.Conflict, "user")
		})
	})
	t.Run("a label that AKS refuses holds up nothing else", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.pool("user").NodeLabels = map[string]string{"kubernetes.azure.com/mine": "a"}
			w.pool("user").Taints = []clusterv1.MachineTaint{{Key: "web", Effect: "NoSchedule"}}
			w.versions("v1.34.1", "v1.34.1")
			w.pool("user").Count = 3
			for range 60 {
				w.step()
			}
			if is := says(w.is("user", "count"), w.is("user", "orchestratorVersion"), w.is("user", "nodeTaints")); is != "3 1.34.1 [web=:NoSchedule]" {
				t.Errorf("the pool has %s", is)
			}
			wantError(t, "the label", w.p.EnsurePool(w.Context(), "op", &w.c, *w.pool("user")), fleet.Invalid, "is reserved")
		})
	})
	t.Run("somebody makes one of that name meanwhile", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.Inject(azuretest.Fault{Method: "PUT agentpools", Times: 1, Do: func(c azuretest.Call) { w.Put(c.ID, theirs(c)) }})
			for range 20 {
				w.step()
			}
			if w.is("user", "theirs") != true {
				t.Error("the pool of somebody else was changed")
			}
			wantError(t, "a pool of others", w.p.EnsurePool(w.Context(), "op", &w.c, *w.pool("user")), fleet.Conflict, "without the tags")
		})
	})
	t.Run("a subnet of its own", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.pool("user").Name, w.pool("user").Infrastructure = "other", object(t, "AzureManagedMachinePool", "other", `{name: other, mode: User, sku: Standard_D2s_v5, subnetName: missing}`)
			wantError(t, "a subnet that is missing", w.p.EnsurePool(w.Context(), "op", &w.c, w.c.KeptPools[1]), fleet.Invalid, "has no such subnet")
		})
	})
	t.Run("while the cluster changes", func(t *testing.T) {
		inAKS(t, planeSpec, func(w *managedWorld) {
			w.rest()
			w.change("version: v1.33.5", "version: v1.33.5, sku: {tier: Standard}")
			if err := w.plane.Ensure(w.Context(), "op", &w.c); err != nil {
				t.Fatal(err)
			}
			w.pool("user").Count = 3
			wantError(t, "a pool", w.p.EnsurePool(w.Context(), "op", &w.c, *w.pool("user")), fleet.Conflict, "AKS takes no change now")
		})
	})
}

// TestManagedOrphans: a cluster of AKS that left Git is listed once, without what AKS made for it, and goes with that. One
// with a pool of somebody else stays.
func TestManagedOrphans(t *testing.T) {
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.rest()
		if all, err := w.p.Clusters(w.Context(), "fleet-a"); err != nil || len(all) != 1 || all[0] != w.c.Key {
			t.Errorf("clusters %v, %v", all, err)
		}
		other := w.c
		other.Key.Name = "another"
		git := []*fleet.Cluster{&other}
		lost, err := w.p.Orphans(w.Context(), "fleet-a", git)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, o := range lost {
			kinds = append(kinds, o.Kind)
		}
		slices.Sort(kinds)
		if got := strings.ToLower(strings.Join(kinds, " ")); got != "managedclusters resourcegroups virtualnetworks" {
			t.Errorf("orphans are %s", got)
		}
		user := w.Resources("agentpools")[1].ID
		var tags any
		w.Edit(user, func(body map[string]any) {
			p := body["properties"].(map[string]any)
			tags = p["tags"]
			p["tags"] = map[string]any{}
		})
		for _, o := range lost {
			if strings.EqualFold(o.Kind, "managedClusters") {
				wantError(t, "an orphan", w.p.RemoveOrphan(w.Context(), "fleet-a", git, o), fleet.Conflict, "agent pool user")
			}
		}
		w.Edit(user, func(body map[string]any) { body["properties"].(map[string]any)["tags"] = tags })
		for range 10 {
			lost, err := w.p.Orphans(w.Context(), "fleet-a", git)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range lost {
				_ = w.p.RemoveOrphan(w.Context(), "fleet-a", git, o) // Azure refuses what is in use
			}
			time.Sleep(2 * time.Minute)
		}
		for _, r := range w.Resources("") {
			t.Errorf("left: %s", r.ID)
		}
	})
}

// TestMachinesBeforeAKS: machines of a cluster whose control plane is to be one of AKS from now on are seen: a planner
// makes no second cluster beside them.
func TestMachinesBeforeAKS(t *testing.T) {
	in(t, func(w *world) {
		w.create(&w.c, "cp-0")
		managed := newManaged(t, strings.Replace(planeSpec, "resourceGroupName: rg", "resourceGroupName: rg-1", 1))
		seen, err := w.p.Observe(w.Context(), &managed)
		if err != nil || !seen.Exists || len(seen.Machines) != 1 || seen.Machines[0].Name != "cp-0" {
			t.Errorf("seen %+v, %v", seen, err)
		}
	})
}

// TestGroupWithAKSOfOthers: a resource group in which somebody else has a cluster of AKS stays, whatever the listing of all types
// says of it.
func TestGroupWithAKSOfOthers(t *testing.T) {
	in(t, func(w *world) {
		w.ready(&w.c)
		id := groupID("rg-1") + "/providers/Microsoft.ContainerService/managedClusters/theirs"
		w.Put(id, map[string]any{"location": azuretest.Location, "properties": map[string]any{}})
		gone := w.c
		gone.Delete = true
		w.p = on(lagging{w.Cloud})
		for range 20 {
			_ = w.p.DeleteInfrastructure(w.Context(), "op", &gone) // refused in the end
			time.Sleep(settle)
		}
		if _, ok := w.Resource(id); !ok {
			t.Error("a cluster of AKS of somebody else is gone with the group")
		}
	})
}

// TestOneAzure: a control plane shares the budgets, the listings and the memory of the provider that is open.
func TestOneAzure(t *testing.T) {
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.plane = azure.OpenControlPlane(providers.Options{Opened: func(string) (providers.Infrastructure, error) { return w.p, nil }})
		w.rest()
		time.Sleep(2 * tick)
		w.ResetCalls()
		w.look()
		if n := len(w.puts("LIST virtualnetworks")); n != 1 {
			t.Errorf("%d listings", n)
		}
	})
}

// TestCheckOfAKS: a check names what a cluster of AKS lacks.
func TestCheckOfAKS(t *testing.T) {
	inAKS(t, planeSpec, func(w *managedWorld) {
		w.c.KeptPools = []fleet.KeptPool{{Name: "user", Count: 1, Version: w.c.Hosted.Version, Infrastructure: object(t, "AzureManagedMachinePool", "user", `{name: user, mode: User, sku: Standard_D9}`)}}
		found, err := w.p.Check(w.Context(), []*fleet.Cluster{&w.c})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(found)
		for _, want := range []string{"mode: System", "has no such size"} {
			if !strings.Contains(text, want) {
				t.Errorf("the check lacks %q: %s", want, text)
			}
		}
	})
}

package azure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/infrastructure/azure/azuretest"
)

const script = "{name: CustomScript, publisher: Microsoft.Azure.Extensions, version: '2.1', settings: {commandToExecute: 'true'}, protectedSettings: {password: secret-of-git}}"

// TestExtensions: extensions of Git are installed once in VMs of the template that run, and go with them. What is not as Git has it is
// told with Azure's text, without what is protected, and no machine waits for it.
func TestExtensions(t *testing.T) {
	with := func(list string) string {
		return strings.Replace(machineSpec, "{", "{vmExtensions: ["+list+"], ", 1)
	}
	in(t, func(w *world) {
		c := w.cluster(clusterSpec, with(script))
		w.Inject(azuretest.Fault{Method: "PUT extensions", Lose: true, Times: 1})
		w.ready(&c)
		if err := w.p.CreateMachine(w.Context(), "op", request(&c, "m-0")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // it is listed
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
			t.Errorf("of a VM that is being created: %v", err)
		}
		w.until(&c, "running", func(i fleet.Infrastructure) bool { return machineOf(i, "m-0").State == fleet.MachineRunning })
		ends := c
		if ends.Delete = true; len(w.observe(&ends).Upkeep) > 0 {
			t.Error("a machine that is to go gets an extension")
		}
		if got := w.observe(&c); !slices.Equal(got.Upkeep, []string{"install extension CustomScript of VM m-0"}) {
			t.Errorf("upkeep is %q", got.Upkeep)
		}
		wantKind(t, "a lost answer", w.p.EnsureInfrastructure(w.Context(), "op", &c), fleet.Unanswered)
		if err := w.p.EnsureInfrastructure(w.Context(), "op", &c); err != nil {
			t.Errorf("one that is not listed yet: %v", err)
		}
		w.until(&c, "installed", func(i fleet.Infrastructure) bool {
			if rest(i) {
				return true
			}
			_ = w.p.EnsureInfrastructure(w.Context(), "op", &c)
			return false
		})
		all := w.Resources("extensions")
		if len(all) != 1 || !strings.HasSuffix(all[0].ID, "/virtualMachines/m-0/extensions/CustomScript") {
			t.Fatalf("extensions are %v", all)
		}
		var puts int
		for _, call := range w.Calls() {
			if call.Method == "PUT extensions" {
				if puts++; fmt.Sprint(call.Body) != "map[location:westeurope properties:map[protectedSettings:map[password:secret-of-git] publisher:Microsoft.Azure.Extensions settings:map[commandToExecute:true] type:CustomScript typeHandlerVersion:2.1]]" {
					t.Errorf("requested is %v", call.Body)
				}
			} else if strings.Contains(fmt.Sprint(call.Body), "secret-of-git") {
				t.Errorf("%s of %s has what is protected", call.Method, call.ID)
			}
		}
		if puts > 4 { // it is not listed at once
			t.Errorf("it was requested %d times", puts)
		}
		looks := func(p *world) (n int) {
			w.ResetCalls()
			for range 3 {
				time.Sleep(2 * tick)
				if got := p.observe(&c); !rest(got) {
					t.Errorf("%q, drift %q", got.Message, got.Drift)
				}
			}
			return len(slices.DeleteFunc(w.Calls(), func(c azuretest.Call) bool { return !strings.HasSuffix(c.Method, " extensions") }))
		}
		if n := looks(w); n > 0 {
			t.Errorf("extensions that are there were looked at %d times", n)
		}
		again := &world{TB: w.TB, Cloud: w.Cloud, p: w.provider()} // another agent
		if n := looks(again); n != 1 {
			t.Errorf("another agent looked at them %d times", n)
		}

		w.create(&c, "m-1")
		failing := newCluster(t, strings.Replace(clusterSpec, "GROUP", "rg-2", 1), with("{name: Other, publisher: missing, version: '1.0', protectedSettings: {password: secret-of-git}}, {name: Script, publisher: p, version: '1.0', settings: {commandToExecute: 'false'}, protectedSettings: {password: secret-of-git}}"))
		failing.Workers[0].Template = "2-md"
		w.create(&failing, "m-2")
		var err error
		for range 4 {
			time.Sleep(settle)
			err = w.p.EnsureInfrastructure(w.Context(), "op", &failing)
		}
		got := w.observe(&failing)
		said := fmt.Sprint(err, got.Drift)
		for _, want := range []string{"cannot install extension Other of VM m-2", "there is no such handler", "cannot install extension Script of VM m-2: 1: Enable failed: failed to execute command"} {
			if !strings.Contains(said, want) {
				t.Errorf("people are told %s, and not %q", said, want)
			}
		}
		if !got.Ready || strings.Contains(said, "secret-of-git") || strings.Contains(said, "m-0") {
			t.Errorf("ready %t, and people are told %s", got.Ready, said)
		}
		if len(w.Resources("extensions")) != 2 { // m-1 is of a former template by now
			t.Errorf("extensions are %v", w.Resources("extensions"))
		}
		w.Allow("*", "!Microsoft.Compute/virtualMachines/extensions/read")
		if got := w.observe(&failing); !got.Ready || !strings.Contains(fmt.Sprint(got.Drift), "cannot find the extensions of VM m-2") {
			t.Errorf("without the right: ready %t, %q, drift %q", got.Ready, got.Message, got.Drift)
		}
		w.Allow()
		end := w.Inject(azuretest.Fault{Method: "LIST extensions", Status: 500, Code: "InternalServerError"})
		if got, err := w.p.Observe(w.Context(), &failing); err != nil || !got.Ready || !strings.Contains(fmt.Sprint(got.Drift), "cannot find the extensions of VM m-2") {
			t.Errorf("without an answer: %v, ready %t, %q, drift %q", err, got.Ready, got.Message, got.Drift)
		}
		end()
		for _, name := range []fleet.MachineName{"m-0", "m-1", "m-2"} {
			if err := w.p.DeleteMachine(w.Context(), "op", &failing, name, ""); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(settle)
		if n := len(w.Resources("extensions")); n > 0 {
			t.Errorf("%d extensions are left", n)
		}
	})
}

const (
	flux   = "{name: flux, extensionType: microsoft.flux, configurationSettings: {helm-controller.enabled: 'true', a.b: Text}, scope: {scopeType: Cluster, releaseNamespace: flux-system}}"
	fleets = "/providers/Microsoft.ContainerService/fleets/all"
)

// withBeside is planeSpec with more.
func withBeside(more string) string {
	return strings.Replace(planeSpec, "version: v1.33.5", "version: v1.33.5, "+more, 1)
}

// TestExtensionsOfAKS: extensions of Git are in the cluster, and go with it. Their settings follow Git, and what people set stays. What
// Azure refuses or changes of none is told, and holds up neither others nor pools.
func TestExtensionsOfAKS(t *testing.T) {
	id := groupID("rg") + "/providers/Microsoft.ContainerService/managedClusters/aks-1/providers/Microsoft.KubernetesConfiguration/extensions/"
	inAKS(t, withBeside("extensions: ["+flux+"]"), func(w *managedWorld) {
		w.Watch(func(call azuretest.Call) {
			if call.Method != "PUT extensions" {
				return
			}
			if k := w.Resources("managedclusters")[0]; k.State != "Succeeded" {
				t.Errorf("%s was requested of a cluster that is %s", call.ID, k.State)
			}
		})
		w.Inject(azuretest.Fault{Method: "PUT extensions", Lose: true, Times: 1})
		w.FailManaged(1) // its creation
		w.rest()
		is := func(name string) string {
			r, _ := w.Resource(id + name)
			p, _ := r.Body["properties"].(map[string]any)
			return fmt.Sprint(p["configurationSettings"], p["scope"], p["version"])
		}
		if got := is("flux"); got != "map[a.b:Text helm-controller.enabled:true] map[cluster:map[releaseNamespace:flux-system]] <nil>" {
			t.Errorf("the extension is %s", got)
		}
		w.Edit(id+"flux", func(body map[string]any) { // as people do
			body["properties"].(map[string]any)["configurationSettings"].(map[string]any)["theirs"] = "1"
		})
		w.ResetCalls()
		again := *w
		again.start()
		if s, _ := again.look(); len(s.Drift) > 0 {
			t.Errorf("another agent finds %q", s.Drift)
		}
		w.change("version: v1.33.5", "version: v1.33.5, additionalTags: {a: b}, extensions: ["+flux+"]")
		w.step()
		w.change("version: v1.33.5", "version: v1.33.5, additionalTags: {a: b}, extensions: ["+strings.Replace(flux, "a.b: Text", "a.b: text", 1)+"]")
		w.step() // the cluster is being changed
		w.rest()
		if got := is("flux"); !strings.HasPrefix(got, "map[a.b:text helm-controller.enabled:true theirs:1]") {
			t.Errorf("the extension is %s", got)
		}

		w.ResetCalls()
		for range 60 {
			w.Edit(id+"flux", func(body map[string]any) { // as another program does
				body["properties"].(map[string]any)["configurationSettings"].(map[string]any)["a.b"] = "other"
			})
			w.step()
		}
		n := 0
		for _, call := range w.Calls() {
			if call.Method == "PUT extensions" {
				n++
			}
		}
		if s, _ := w.look(); n > 2 || !strings.Contains(fmt.Sprint(s.Drift), "something else changed it back: configurationSettings.a.b") {
			t.Errorf("a value that is changed back was requested %d times: %q", n, s.Drift)
		}
		w.Edit(id+"flux", func(body map[string]any) {
			body["properties"].(map[string]any)["configurationSettings"].(map[string]any)["a.b"] = "text"
		})

		w.errs = nil
		w.change("version: v1.33.5", "version: v1.33.5, extensions: [{name: bad, extensionType: missing}, {name: broken, extensionType: a, configurationSettings: {fail: 'true'}}, "+strings.NewReplacer("microsoft.flux", "microsoft.dapr").Replace(flux)+"]")
		w.c.KeptPools[1].Count = 3
		for range 30 {
			w.step()
		}
		w.say(w.p.EnsurePool(w.Context(), "op", &w.c, w.c.KeptPools[1]))
		time.Sleep(2 * time.Minute)
		s, i := w.look()
		said := fmt.Sprint(w.errs, s.Drift)
		for _, want := range []string{
			"cannot create extension bad: ValidationFailed: Extension type missing is not registered", "cannot create extension broken: ExtensionOperationFailed: The extension operation failed: helm install failed",
			"cannot change extensionType of extension flux: it is microsoft.flux and not microsoft.dapr",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("people are told %s, and not %q", said, want)
			}
		}
		if at := slices.IndexFunc(i.Pools, func(p fleet.KeptPoolSeen) bool { return p.Name == "user" }); i.Pools[at].Count != 3 {
			t.Errorf("the pool waits: %+v", i.Pools[at])
		}
		puts := func() (n int) {
			for _, call := range w.Calls() {
				if call.Method == "PUT extensions" && strings.HasSuffix(call.ID, "/broken") {
					n++
				}
			}
			return n
		}
		if n := puts(); n != 1 {
			t.Errorf("what fails was requested %d times", n)
		}
		time.Sleep(10 * time.Minute)
		for range 8 {
			w.step()
		}
		if n := puts(); n != 2 {
			t.Errorf("after ten minutes what fails was requested %d times", n)
		}
		w.change("version: v1.33.5", "version: v1.33.5, extensions: [{name: broken, extensionType: a, configurationSettings: {fail: 'false'}}, "+strings.Replace(flux, "a.b: Text", "a.b: text", 1)+"]")
		w.rest()

		w.Allow("*", "!Microsoft.KubernetesConfiguration/extensions/read")
		if s, _ := w.look(); !s.Ready || !strings.Contains(fmt.Sprint(s.Drift), "cannot find extension flux") {
			t.Errorf("without the right: %+v", s)
		}
		w.Allow()
		end := w.Inject(azuretest.Fault{Method: "GET extensions", Status: 500, Code: "InternalServerError"})
		if s, _ := w.look(); !s.Ready || !strings.Contains(fmt.Sprint(s.Drift), "cannot find extension flux") {
			t.Errorf("without an answer: %+v", s)
		}
		end()
		w.c.Delete = true
		for range 40 {
			if w.step() {
				break
			}
		}
		if n := len(w.Resources("extensions")) + len(w.Resources("managedclusters")); n > 0 {
			t.Errorf("%d things are left: %v", n, w.errs)
		}
	})
}

// TestFleetsMember: the cluster is a member of the fleet of Azure that Git names, which has to be there, and is in no other. The
// membership goes before the cluster, also if people deleted that.
func TestFleetsMember(t *testing.T) {
	member := "fleetsMember: {name: eu-1, managerName: all, managerResourceGroup: fleets}"
	for _, byPeople := range []bool{false, true} {
		inAKS(t, withBeside(member), func(w *managedWorld) {
			for range 20 {
				w.step()
			}
			if said := fmt.Sprint(w.errs); !strings.Contains(said, "cannot create membership eu-1 of fleet all: ") || !strings.Contains(said, "could not be found") {
				t.Errorf("without the fleet people are told %s", said)
			}
			w.Put(groupID("fleets")+fleets, map[string]any{"location": azuretest.Location})
			w.Inject(azuretest.Fault{Method: "PUT members", Lose: true, Times: 1})
			w.rest()
			w.Allow("*", "!Microsoft.ContainerService/fleets/members/write")
			found, err := w.p.Check(w.Context(), []*fleet.Cluster{&w.c})
			if err != nil || !slices.ContainsFunc(found, func(f providers.Finding) bool {
				return f.Err != nil && strings.Contains(f.Err.Error(), "for "+groupID("fleets")+" it lacks Microsoft.ContainerService/fleets/members/write")
			}) {
				t.Errorf("the check says %+v, %v", found, err)
			}
			w.Allow()
			w.change("version: v1.33.5", "version: v1.33.5, "+strings.Replace(member, "{", "{group: canary, ", 1))
			w.rest()
			r, _ := w.Resource(groupID("fleets") + fleets + "/members/eu-1")
			p, _ := r.Body["properties"].(map[string]any)
			if of := fmt.Sprint(p["clusterResourceId"]); p["group"] != "canary" || !strings.HasSuffix(of, "/managedClusters/aks-1") {
				t.Errorf("the membership is %v", p)
			}
			w.change("version: v1.33.5", "version: v1.33.5, "+strings.Replace(member, "eu-1", "theirs", 1))
			w.Put(groupID("fleets")+fleets+"/members/theirs", map[string]any{"properties": map[string]any{"clusterResourceId": strings.Replace(fmt.Sprint(p["clusterResourceId"]), "aks-1", "aks-9", 1)}})
			if s, _ := w.look(); !s.Ready || !strings.Contains(fmt.Sprint(s.Drift), "cannot change clusterResourceId of membership theirs of fleet all") {
				t.Errorf("that of another cluster: %q", s.Drift)
			}
			w.c.Delete = true
			if byPeople {
				w.change("version: v1.33.5", "version: v1.33.5, "+member)
				for _, kind := range []string{"managedclusters", "virtualnetworks"} {
					for _, r := range w.Resources(kind) {
						w.Remove(r.ID)
					}
				}
				w.Remove(groupID("rg"))
				w.Remove(groupID("MC_rg_aks-1_westeurope"))
			}
			w.errs = nil
			if !byPeople {
				w.change("version: v1.33.5", "version: v1.33.5, "+member)
				w.Lock("members", true)
				for range 30 {
					w.step()
				}
				if len(w.Resources("managedclusters")) != 1 || !strings.Contains(fmt.Sprint(w.errs), "cannot delete membership eu-1 of fleet all: ScopeLocked") {
					t.Errorf("the cluster went before its membership, and people are told %v", w.errs)
				}
				w.Lock("members", false)
			}
			for range 40 {
				if w.step() {
					break
				}
			}
			left := w.Resources("members")
			if len(left) != 1 || left[0].Name != "theirs" || len(w.Resources("managedclusters"))+len(w.Resources("virtualnetworks")) > 0 {
				t.Errorf("left are %v: %v", left, w.errs)
			}
			if _, there := w.Resource(groupID("fleets") + fleets); !there {
				t.Error("the fleet is gone")
			}
			w.change("version: v1.33.5", "version: v1.33.5, "+strings.Replace(member, "eu-1", "theirs", 1))
			w.say(w.plane.Delete(w.Context(), "op", &w.c))
			if w.Resources("members")[0].State != "Succeeded" {
				t.Error("the membership of another cluster is deleted")
			}
		})
	}
}

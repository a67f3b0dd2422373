package azure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
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

package alerts

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"fairlead.dev/providers/infrastructure/inmemory"
)

// A scenario is something bad that happens to a fleet that was well.
type scenario struct {
	alert string   // that it is to wake somebody with
	also  []string // that it may fire as well
	// before is called before the agent starts.
	before func(w *world)
	// early says that the agent is not to be well before it is watched.
	early    bool
	clusters int // default 1
	break_   func(w *world, watch *watch)
	again    func(w *world) // called over and over until the alert fires; may be nil
	mend     func(w *world, watch *watch)
}

// anybody is a recipient of escrow, whose identity nobody has.
const anybody = "age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg"

func scenarios() []scenario {
	workers := func(n string) func(w *world, _ *watch) {
		return func(w *world, _ *watch) {
			w.replace(values, `WORKER_MACHINE_COUNT: "1"`, `WORKER_MACHINE_COUNT: "`+n+`"`)
			w.push()
		}
	}
	revert := func(w *world, _ *watch) { w.revert() }
	well := func(w *world, _ *watch) { w.answer.Store(nil); w.faults(inmemory.Faults{}) }
	return []scenario{
		{
			alert: "FairleadDown", break_: func(w *world, watch *watch) { w.gone = w.agents["one"]; w.stop("one") },
			mend: func(w *world, watch *watch) { watch.leave(w.gone); watch.scrape(w.name, "one", w.start("one")) },
		},
		{
			alert: "FairleadNoLeader", early: true, before: func(w *world) { w.readOnly.Store(true) },
			break_: func(*world, *watch) {}, mend: func(w *world, _ *watch) { w.readOnly.Store(false) },
			also: []string{"FairleadClusterStuck", "FairleadClusterFailing", "FairleadMachinesUnavailable", "FairleadControlPlaneUnavailable"},
		},
		{
			alert: "FairleadTwoLeaders", // the second has a copy of the secrets, and not the record, of the first
			also:  []string{"FairleadDown", "FairleadClusterFailing", "FairleadClusterStuck", "FairleadControlPlaneUnavailable", "FairleadMachinesUnavailable"},
			break_: func(w *world, watch *watch) {
				if out, err := exec.Command("cp", "-a", filepath.Join(w.dir, "secrets-one"), filepath.Join(w.dir, "secrets-two")).CombinedOutput(); err != nil {
					w.t.Fatalf("%v: %s", err, out)
				}
				watch.scrape(w.name, "two", w.start("two", "--status-repository", w.git.URL+"/other.git"))
			},
			mend: func(w *world, watch *watch) { watch.leave(w.agents["two"]); w.stop("two") },
		},
		{
			alert: "FairleadGitUnreachable", also: []string{"FairleadStatusNotWritten"},
			break_: func(w *world, _ *watch) { w.gitDown.Store(true) }, mend: func(w *world, _ *watch) { w.gitDown.Store(false) },
		},
		{
			alert: "FairleadForgeUnreachable", before: (*world).onForge,
			break_: func(w *world, _ *watch) {
				w.replace("fleet.yaml", "name: "+w.name, "name: "+w.name+"\nspec:\n  pullRequests: {}")
				w.push()
			}, mend: revert,
		},
		{
			alert: "FairleadRevisionRefused",
			break_: func(w *world, _ *watch) {
				w.replace("fleet.yaml", "name: "+w.name, "name: other")
				w.push()
			}, mend: revert,
		},
		{
			alert: "FairleadFleetProblems", break_: workers("five"), mend: revert,
		},
		{
			alert: "FairleadStatusNotWritten", also: []string{"FairleadClusterFailing", "FairleadClusterStuck", "FairleadMachinesUnavailable"},
			break_: func(w *world, watch *watch) { w.readOnly.Store(true); workers("2")(w, watch) },
			mend:   func(w *world, _ *watch) { w.readOnly.Store(false); w.push() },
		},
		{
			alert: "FairleadQueueSlow", clusters: 5, also: []string{"FairleadClusterFailing"},
			before: func(w *world) {
				w.args = []string{"--workers", "1"}
				w.replace(values, `WORKER_MACHINE_COUNT: "1"`, `WORKER_MACHINE_COUNT: "0"`)
				w.more(4)
			},
			break_: func(w *world, _ *watch) { w.delay(time.Second) }, mend: well,
		},
		{
			alert: "FairleadPassStuck", also: []string{"FairleadClusterFailing", "FairleadProviderFailing"},
			break_: func(w *world, _ *watch) { w.delay(time.Hour) },
			mend:   func(w *world, watch *watch) { well(w, watch); w.api.CloseClientConnections() },
		},
		{
			alert: "FairleadWebhookRejected",
			before: func(w *world) {
				secret := filepath.Join(w.dir, "github")
				if err := os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef"), 0o600); err != nil {
					w.t.Fatal(err)
				}
				w.args = []string{"--webhook-listen", freeAddress(w.t), "--webhook-secret-file", "github=" + secret}
			},
			break_: func(*world, *watch) {},
			again: func(w *world) {
				r, err := http.NewRequest(http.MethodPost, "http://"+w.args[1]+"/hook/github", bytes.NewReader([]byte(`{"zen":"x"}`)))
				if err != nil {
					w.t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("X-GitHub-Event", "push")
				r.Header.Set("X-GitHub-Delivery", fmt.Sprint(time.Now().UnixNano()))
				r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("00", 32))
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					w.t.Fatal(err)
				}
				resp.Body.Close()
			},
			mend: func(*world, *watch) {},
		},
		{
			alert: "FairleadProviderFailing", also: []string{"FairleadClusterFailing"},
			break_: func(w *world, _ *watch) { w.refuse("Unavailable", http.StatusServiceUnavailable, "") }, mend: well,
		},
		{
			alert: "FairleadProviderUnauthorized", also: []string{"FairleadClusterFailing"},
			break_: func(w *world, _ *watch) { w.refuse("Unauthorized", http.StatusUnauthorized, "") }, mend: well,
		},
		{
			alert: "FairleadProviderThrottled", also: []string{"FairleadClusterFailing", "FairleadProviderFailing"},
			break_: func(w *world, _ *watch) { w.faults(inmemory.Faults{RateLimit: 1}) }, mend: well,
		},
		{
			alert: "FairleadProviderExhausted", also: []string{"FairleadClusterFailing", "FairleadClusterStuck", "FairleadMachinesUnavailable"},
			break_: func(w *world, watch *watch) { w.faults(inmemory.Faults{Quota: 2}); workers("3")(w, watch) }, mend: well,
		},
		{
			alert: "FairleadClusterStuck", also: []string{"FairleadClusterFailing", "FairleadProviderFailing", "FairleadMachinesUnavailable"},
			break_: func(w *world, watch *watch) { w.faults(inmemory.Faults{LoseRequests: -1}); workers("2")(w, watch) }, mend: well,
		},
		{
			alert:  "FairleadClusterFailing",
			break_: func(w *world, _ *watch) { w.refuse("Conflict", http.StatusConflict, "") }, mend: well,
		},
		{
			alert: "FairleadControlPlaneUnavailable", also: []string{"FairleadClusterFailing", "FairleadClusterStuck", "FairleadMachinesUnavailable"},
			break_: func(w *world, _ *watch) {
				if err := w.cloud.StopVM(w.t.Context(), w.vm("-cp-")); err != nil {
					w.t.Fatal(err)
				}
			},
			mend: func(w *world, _ *watch) {
				if err := w.cloud.StartVM(w.t.Context(), w.vm("-cp-")); err != nil {
					w.t.Fatal(err)
				}
			},
		},
		{
			alert: "FairleadMachinesUnavailable", also: []string{"FairleadClusterStuck", "FairleadClusterFailing"},
			break_: func(w *world, _ *watch) {
				if err := w.cloud.StopVM(w.t.Context(), w.vm("md-0")); err != nil {
					w.t.Fatal(err)
				}
			},
			mend: func(w *world, _ *watch) {
				if err := w.cloud.StartVM(w.t.Context(), w.vm("md-0")); err != nil {
					w.t.Fatal(err)
				}
			},
		},
		{
			alert: "FairleadMachineFailed", also: []string{"FairleadClusterStuck", "FairleadMachinesUnavailable", "FairleadClusterFailing"},
			break_: func(w *world, watch *watch) {
				w.faults(inmemory.Faults{FailBoot: []string{"*"}})
				workers("2")(w, watch)
			},
			mend: func(w *world, watch *watch) { well(w, watch); w.revert() },
		},
		{
			alert: "FairleadDeleteBlocked", also: []string{"FairleadOrphans", "FairleadFleetProblems"},
			before: func(w *world) { w.write("fleet.yaml", "spec: {prune: {enabled: true, limit: 0}}\n") },
			break_: func(w *world, _ *watch) {
				if err := os.RemoveAll(filepath.Join(w.clone(), folder)); err != nil {
					w.t.Fatal(err)
				}
				w.push()
			}, mend: revert,
		},
		{
			alert: "FairleadOrphans", also: []string{"FairleadFleetProblems"},
			break_: func(w *world, _ *watch) {
				if err := os.RemoveAll(filepath.Join(w.clone(), folder)); err != nil {
					w.t.Fatal(err)
				}
				w.push()
			}, mend: revert,
		},
		{
			alert: "FairleadDrift", also: []string{"FairleadClusterFailing"},
			break_: func(w *world, _ *watch) {
				w.refuse("Conflict", http.StatusConflict, "/networks/delete")
				there, err := w.cloud.Networks(w.t.Context(), nil)
				if err == nil {
					_, err = w.cloud.CreateNetwork(w.t.Context(), inmemory.NetworkSpec{Name: "by-hand", Tags: there[0].Tags})
				}
				if err != nil {
					w.t.Fatal(err)
				}
			}, mend: well,
		},
		{
			alert: "FairleadEscrowBehind", also: []string{"FairleadFleetProblems"},
			before: func(w *world) {
				w.write("fleet.yaml", "spec: {escrow: {recipients: ["+anybody+"], folder: "+filepath.Join(w.dir, "away")+"}}\n")
			},
			break_: func(*world, *watch) {},
			mend: func(w *world, _ *watch) {
				w.mkdir("here")
				w.replace("fleet.yaml", filepath.Join(w.dir, "away"), filepath.Join(w.dir, "here"))
				w.push()
			},
		},
		{
			alert: "FairleadEscrowStale", also: []string{"FairleadFleetProblems"},
			before: func(w *world) {
				w.write("fleet.yaml", "spec: {escrow: {recipients: ["+anybody+"], folder: "+w.mkdir("escrow")+"}}\n")
				damageSecret(w)
			},
			break_: func(*world, *watch) {},
			mend: func(w *world, _ *watch) {
				if err := os.Remove(filepath.Join(w.dir, damagedSecret)); err != nil {
					w.t.Fatal(err)
				}
				w.push()
			},
		},
		{
			alert: "FairleadCertificateExpiring", before: oldAuthorities,
			break_: func(*world, *watch) {},
		},
		{
			alert: "FairleadVersionSkew",
			before: func(w *world) {
				w.replace("bases/cluster/workers.yaml", "${KUBERNETES_VERSION}", "v1.30.4")
			},
			break_: func(*world, *watch) {},
			mend: func(w *world, _ *watch) {
				w.replace("bases/cluster/workers.yaml", "v1.30.4", "${KUBERNETES_VERSION}")
				w.push()
			},
			also: []string{"FairleadClusterFailing", "FairleadClusterStuck", "FairleadMachinesUnavailable"},
		},
	}
}

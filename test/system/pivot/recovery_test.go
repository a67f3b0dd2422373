package pivot_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/agent"
	"fairlead.dev/agent/ownership"
	"fairlead.dev/agent/ownership/pivot"
	"fairlead.dev/agent/secrets/escrow"
	"fairlead.dev/agent/wiring"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/test/lab/kube"
)

// The age identity that the escrow is for.
const (
	recipient = "age1psq6mpu3n2pcmht3nhdt9n3gd5s9pulgwzcgrjjpdr6ue5caggpq5dhs8y"
	identity  = "AGE-SECRET-KEY-1304UNR6ZFTJD3929P75AD0AQZFXVPNKN9H4CW2AXW90TZ0Z59DASKPCNTU"
)

// TestRecovery loses the home: its API server with the secrets and the agent in
// it, and its machines. The escrow that the agent kept with the rights which the
// chart gives it is all that a laptop without a disk has. It is killed on its way
// into another API server, at the calls that chosen says, each time with a home
// that is lost anew.
func TestRecovery(t *testing.T) {
	w := newWorld(t)
	stop := w.local(agent.Options{})
	w.await("two clusters", w.provisioned)
	stop()
	stay := w.ofProd()
	w.kubelet.start()
	if _, err := w.move(true, ""); err != nil {
		t.Fatal(err)
	}
	w.keepEscrow()
	var calls []string
	if sweeps() {
		calls = w.recovered(stay, "")
		t.Logf("into a new home: %v", calls)
	}
	for _, call := range chosen(calls) {
		t.Logf("killed at %q", call)
		w.recovered(stay, call)
	}
	if said := w.kubelet.log.String(); strings.Contains(said, `cannot list resource`) {
		t.Errorf("the agent in the home wants to list what the chart does not let it:\n%s", said)
	}
}

// recovered loses the home and brings it back, with the command that people
// repeat when it is killed, at the call kill, and checks what became of it.
func (w *world) recovered(stay []string, kill string) []string {
	w.t.Helper()
	lost := w.loseHome()
	calls, err := w.recover(lost, kill)
	if kill != "" {
		if !errors.Is(err, errKilled) {
			w.t.Fatalf("it was to be killed at %q, and came to %v after %v", kill, err, calls)
		}
		_, err = w.recover(lost, "")
	}
	if err != nil {
		w.t.Fatalf("killed at %q, then: %v; the agent in the home said:\n%s", kill, err, w.kubelet.log.String())
	}
	w.await("a calm fleet", w.provisioned)
	if s := w.status(); s.Owner.Agent != ownership.AgentOf(away()) || s.Next != (fleet.Succession{}) {
		w.t.Fatalf("the owner is %+v, the succession %+v", s.Owner, s.Next)
	}
	if now := w.ofProd(); !slices.Equal(now, stay) {
		w.t.Fatalf("the machines that stayed became %v, they were %v", now, stay)
	}
	w.empty()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.foreign) > 0 {
		w.t.Fatalf("somebody acted who did not own the fleet: %v", w.foreign)
	}
	return calls
}

// ofProd returns the machines of the cluster that is not the home.
func (w *world) ofProd() []string {
	return slices.DeleteFunc(w.machines(), func(m string) bool { return !strings.HasPrefix(m, "eu-1-") })
}

func (w *world) escrow() escrow.Place {
	return escrow.Branch("fairlead/escrow", w.open("fairlead/escrow"))
}

// keepEscrow has the agent keep an escrow, and waits until it holds all secrets.
func (w *world) keepEscrow() {
	w.t.Helper()
	ctx := w.t.Context()
	main := w.open("main")
	rev, _, err := main.Read(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	config := "apiVersion: fairlead.dev/v1alpha1\nkind: Fleet\nmetadata:\n  name: harbour\nspec:\n  escrow:\n    recipients: [" + recipient + "]\n"
	if _, err := main.Commit(ctx, rev, sources.Commit{Edits: map[string][]byte{"fleet.yaml": []byte(config)}, Message: "an escrow"}); err != nil {
		w.t.Fatal(err)
	}
	w.await("an escrow of both clusters", func() bool {
		e, err := escrow.Open(ctx, w.escrow(), fleet.NewSecret([]byte(identity)))
		return err == nil && len(e.Entries) >= len(clusters()) && len(e.Problems()) == 0
	})
}

// loseHome takes away the home and all that is in it. It returns who owned the
// fleet.
func (w *world) loseHome() fleet.Owner {
	w.t.Helper()
	w.kubelet.stop()
	ctx := w.t.Context()
	tags := map[string]string{fleet.TagCluster: away().String()}
	vms, err := w.cloud.VMs(ctx, tags)
	if err != nil || len(vms) == 0 {
		w.t.Fatalf("the home has machines %v: %v", vms, err)
	}
	for _, vm := range vms {
		if err := w.cloud.DeleteVM(ctx, vm.ID); err != nil {
			w.t.Fatal(err)
		}
	}
	w.k = kube.Start(w.t, kube.Own())
	w.dir = filepath.Join(w.t.TempDir(), "secrets")
	w.kubelet = &kubelet{w: w}
	w.kubelet.start()
	w.t.Cleanup(w.kubelet.stop)
	return w.status().Owner
}

// recover is `fairlead bootstrap` of a home that is gone, with --identity-file and
// --take-over lost.
func (w *world) recover(lost fleet.Owner, kill string) (calls []string, err error) {
	w.t.Helper()
	ctx := w.t.Context()
	store, err := w.settings().OpenSecrets(ctx, wiring.ReadWrite)
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := escrow.Open(ctx, w.escrow(), fleet.NewSecret([]byte(identity)))
	if err == nil {
		_, err = e.Restore(ctx, store)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.plansOnlyTheHome()
	p := w.parts(&calls, kill)
	p.From, p.Home = store, w.home
	want := pivot.Destination{To: ownership.AgentOf(away()), Home: away(), Self: laptop, TakeOver: lost}
	o := agent.Options{Only: away(), Recreate: fmt.Sprintf("gone: %s@%d", lost.Agent, lost.Epoch), WaitForOwnership: w.status().Owner.Is(lost)}
	err = w.beside(o, pivot.New(want, p))
	return calls, err
}

// plansOnlyTheHome checks that the plan holds nothing for any other cluster.
func (w *world) plansOnlyTheHome() {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.program, "plan", w.url, "--secrets", w.dir, "--inmemory-url", w.clouds[laptop])
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 2) {
		w.t.Fatalf("cannot plan: %v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("prod/eu-1")) {
		w.t.Fatalf("the plan is not empty but for the home:\n%s", out)
	}
}

package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
)

// TestNothingIsRemovedForATemplateWithoutUserData: a template whose file is broken by the content
// of a Secret rolls nothing, although machines go before their replacements. The plan says why.
func TestNothingIsRemovedForATemplateWithoutUserData(t *testing.T) {
	const (
		secret   = "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: prod}\nstringData: {motd: '{{ nope'}\n"
		files    = "files: [{path: /etc/motd, contentFormat: Template, contentFrom: {secret: {name: s, key: motd}}}]"
		machines = "  machineTemplate: {spec: {infra"
	)
	delete1st := []string{
		machines, "  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}}\n" + machines,
		"  clusterName: eu-1\n  replicas", "  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}\n  clusterName: eu-1\n  replicas",
	}
	for name, change := range map[string][]string{
		"control plane":           {machines, "  kubeadmConfigSpec: {" + files + "}\n" + machines},
		"control plane, Ignition": {machines, "  kubeadmConfigSpec: {format: ignition, " + files + "}\n" + machines},
		"workers":                 {"{joinConfiguration", "{" + files + ", joinConfiguration"},
		"workers, Ignition":       {"{joinConfiguration", "{format: ignition, " + files + ", joinConfiguration"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				defer w.cloud.Close()
				w.edit = strings.NewReplacer(delete1st...)
				spec := clusterSpec{3, 2, "v1.33.5", false}
				w.reach(spec, fleet.PhaseProvisioned)
				had := names(w)

				c := decoded(t, strings.NewReplacer(change...).Replace(w.edit.Replace(spec.manifests()))+secret)
				a := w.start()
				defer func() {
					a.workload.Close()
					time.Sleep(10 * time.Minute) // its connections to etcd end
				}()
				told := false
				for range 60 {
					res := w.passWithMemory(a, c)
					told = told || slices.ContainsFunc(res.Plan.Waiting, func(s string) bool {
						return strings.Contains(s, "stays, since no machine can be made in its place: files[0] (/etc/motd): contentFrom.secret")
					})
					c = c.WithResidence(res.Report.Residence)
					time.Sleep(10 * time.Second)
				}
				if got := names(w); !slices.Equal(got, had) {
					t.Errorf("machines %v, want %v", got, had)
				}
				if !told {
					t.Error("no plan says why the machines stay")
				}
			})
		})
	}
}

func names(w *world) []string {
	var out []string
	for _, vm := range w.ours() {
		out = append(out, vm.Name+" "+string(vm.State))
	}
	slices.Sort(out)
	return out
}

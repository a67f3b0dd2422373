package simulation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An edit replaces text of a file of Fairlead, which is there once.
type edit struct{ file, old, new string }

// A fault breaks Fairlead in one way, where BROKEN is true.
type fault struct {
	name  string
	guard string // that notices
	edits []edit
}

func faults() []fault {
	const (
		workers, rollout = "reconcile/plan/rollout/workers.go", "reconcile/plan/rollout.go"
		nodes            = "reconcile/plan/nodes.go"
		advance, prune   = "reconcile/rollout/advance.go", "reconcile/rollout/prune.go"
	)
	return []fault{
		{"paused clusters are worked on", "SuspendedUntouched", []edit{
			{"reconcile/plan/draft.go", "if d.paused() {", "if d.paused() && !BROKEN {"},
		}},
		{"what was removed from Git is deleted", "OrphansUntouched", []edit{
			{prune, "case len(f.Clusters) == 0 && len(f.Problems) == 0:", "case len(f.Clusters) == 0 && len(f.Problems) == 0 && !BROKEN:"},
			{prune, "case !f.Config.Prune.Enabled:", "case !f.Config.Prune.Enabled && !BROKEN:"},
			{prune, "case len(vanished) > limit:", "case len(vanished) > limit && !BROKEN:"},
		}},
		{"broken files are taken for a deletion", "NothingDeletedThatGitHas", []edit{
			{
				advance, "clusters[k] = cluster{definition: old.definition, recorded: old.recorded, problems: problems, inGit: true, damaged: old.damaged, next: old.next, nextDigest: old.nextDigest, wave: old.wave, serves: old.serves, refused: refused[k]}",
				"if BROKEN && old.definition != nil {\n\t\t\t\told.definition = deleted(old.definition)\n\t\t\t}\n\t\t\tclusters[k] = cluster{definition: old.definition, recorded: old.recorded, problems: problems, inGit: true, damaged: old.damaged, next: old.next, nextDigest: old.nextDigest, wave: old.wave, serves: old.serves, refused: refused[k]}",
			},
		}},
		{"protected clusters are deleted", "ProtectedNeverDeleted", []edit{
			{"render/decode/build.go", "case c.Protect: //", "case c.Protect && !BROKEN: //"},
			{"reconcile/plan/deletion.go", "&& !f.Desired.Protect", "&& (!f.Desired.Protect || BROKEN)"},
			{"reconcile/exec/exec.go", "if whole && (!c.Delete || c.Protect)", "if whole && (!c.Delete || c.Protect && !BROKEN)"},
		}},
		{"what others tagged is taken for the fleet's", "NothingForeignTouched", []edit{
			{
				"providers/infrastructure/inmemory/machines.go", "_ *fleet.Cluster, got observation) error {\n\tif pools",
				"c *fleet.Cluster, got observation) error {\n\tif BROKEN {\n\t\tgot.networks, _ = p.api.Networks(ctx, map[string]string{fleet.TagCluster: c.Key.String()})\n\t}\n\tif pools",
			},
		}},
		{"an agent that does not own the fleet works", "OneOwner", []edit{
			{"agent/ownership/claim.go", "if step.Do == begin.Refuse {", "if BROKEN && step.Do == begin.Refuse {\n\t\t\t\tc.begin(in.Owner.Owner, in.Owner.Next)\n\t\t\t\treturn true, nil\n\t\t\t}\n\t\t\tif step.Do == begin.Refuse {"},
			{"agent/ownership/handover.go", "if c.isSelf(owner) && owner.Incarnation == was.Incarnation &&", "if (BROKEN || c.isSelf(owner)) && owner.Incarnation == was.Incarnation &&"},
		}},
		{"creates are forgotten", "OneMachinePerName", []edit{
			{
				"reconcile/memory.go", "if now.Sub(t.At) >= window {",
				"if now.Sub(t.At) >= window || BROKEN && t.Action.Kind == fleet.CreateMachine {",
			},
		}},
		{"a pool surges too far", "TotalNeverAboveMaximum", []edit{
			{workers, "if lacks <= 0 {", "if BROKEN {\n\t\troom++\n\t}\n\tif lacks <= 0 {"},
		}},
		{"outdated machines go at once", "AvailableNeverBelowMinimum", []edit{
			{workers, "if r.available <= r.minimum {", "if r.available <= r.minimum && !BROKEN {"},
			{workers, "if budget <= 0 ||", "if budget <= 0 && !BROKEN ||"},
		}},
		{"a control plane grows while a machine joins", "OneControlPlaneChangeAtATime", []edit{
			{rollout, `p.Machines[i].Well = d.ailing(m) == ""`, `p.Machines[i].Well = BROKEN && m.node == nil || d.ailing(m) == ""`},
		}},
		{"a control plane grows while etcd has a learner", "NoAddWhileLearner", []edit{
			{rollout, `|| d.ailing(m) == ""`, `|| BROKEN && m.node != nil || d.ailing(m) == ""`},
			{rollout, "if e.Learner || e.Name", "if !BROKEN && e.Learner || !BROKEN && e.Name"},
		}},
		{"machines go without leaving etcd", "EtcdQuorumKept", []edit{
			{"reconcile/plan/controlplanechange.go", "case member != nil:\n\t\td.removeMember", "case member != nil && !BROKEN:\n\t\td.removeMember"},
		}},
		{"Nodes go before their machines", "NodeOfMachineKept", []edit{
			{nodes, "case m.node == nil:", "case BROKEN && m.node != nil && m.node.Draining:\n\t\t\td.deleteNode(m.node)\n\t\tcase m.node == nil:"},
		}},
		{"secrets of deleted clusters stay", "ConvergesToDesired", []edit{
			{"reconcile/plan/deletion.go", "case d.hasSecrets():", "case d.hasSecrets() && !BROKEN:"},
		}},
		{"secrets go before machines", "SecretsGoLast", []edit{
			{
				"reconcile/plan/deletion.go", "case d.deleteExternal():",
				"case BROKEN && d.hasSecrets():\n\t\td.request(fleet.Action{Kind: fleet.DeleteSecrets})\n\tcase d.deleteExternal():",
			},
		}},
		{"damaged tags are taken as they are", "WhatIsHeldIsLeftAlone", []edit{
			{"reconcile/plan/held.go", `if m.Damaged != "" {`, `if BROKEN {` + "\n\t\t\tcontinue\n\t\t}\n\t\t" + `if m.Damaged != "" {`},
		}},
		{"credentials that lead elsewhere are trusted", "NothingInTheWrongPlace", []edit{
			{"reconcile/plan/residence.go", `if r.Provider != "" && r.Provider != f.Desired.Provider {`, `if BROKEN {` + "\n\t\treturn \"\"\n\t}\n\t" + `if r.Provider != "" && r.Provider != f.Desired.Provider {`},
		}},
		{"machines are as old as the infrastructure's clock says", "NoMachineReplacedByAClock", []edit{
			{"reconcile/plan/health.go", "since := f.startedAt(m)", "since := f.startedAt(m)\n\tif BROKEN {\n\t\tsince = m.Created\n\t}"},
		}},
		{"addons are never pruned", "ConvergesToDesired", []edit{
			{"reconcile/plan/resources.go", "case len(d.retired(s, have)) > 0:", "case len(d.retired(s, have)) > 0 && !BROKEN:"},
		}},
		{"addons are applied again and again", "NothingToDoAtRest", []edit{
			{
				"reconcile/plan/resources.go", "case d.Now.Sub(have.Applied) >= refreshResources &&",
				"case (d.Now.Sub(have.Applied) >= refreshResources || BROKEN && d.Now.Sub(have.Applied) >= refreshResources/10) &&",
			},
		}},
		{"two machines of one id are two", "WhatIsHeldIsLeftAlone", []edit{
			{"reconcile/plan/held.go", `n > 1 && m.ProviderID != ""`, `n > 1 && m.ProviderID != "" && !BROKEN`},
		}},
		{"a machine that is not listed is gone", "NoneBesideOneOutOfSight", []edit{
			{"reconcile/plan/held.go", "if !n.Ready || f.deleted(n)", "if BROKEN || !n.Ready || f.deleted(n)"},
		}},
		{"a machine is deleted by its name", "NoLivingMachineLost", []edit{
			{"providers/driver/driver.go", `(id == "" || is.ProviderID == id) {`, `(id == "" || is.ProviderID == id || BROKEN) {`},
		}},
		{"versions are skipped", "NoMinorIsSkipped", []edit{
			{"reconcile/rollout/versions.go", "	return next.VersionStep(c.serves)", "	if BROKEN {\n\t\treturn fleet.VersionStep{}\n\t}\n	return next.VersionStep(c.serves)"},
			{"reconcile/plan/staging/staging.go", `s.cluster.VersionStep(from); refused.Why != "" {`, `s.cluster.VersionStep(from); refused.Why != "" && !BROKEN {`},
			{"reconcile/plan/staging/staging.go", "if minor(v) > last+1 {", "if minor(v) > last+1 && !BROKEN {"},
		}},
		{"refused versions are not told", "RefusalIsTold", []edit{
			{"reconcile/rollout/versions.go", "	if len(refused) > 0 {", "	if len(refused) > 0 && BROKEN {\n\t\tproblems = nil\n\t}\n	if len(refused) > 0 {"},
			{"reconcile/plan/staging/staging.go", "s.stay(cp, h, why, false)", "if BROKEN {\n\t\t\twhy = \"\"\n\t\t}\n\t\ts.stay(cp, h, why, false)"},
		}},
		{"addresses are given twice", "AddressIsGivenOnce", []edit{
			{
				"providers/infrastructure/inmemory/addresses.go", "addresses.Known{Taken: holders.Taken(), Seen: r.Cluster.Neighbors.Addresses()}",
				"func() addresses.Known {\n\t\tif BROKEN {\n\t\t\treturn addresses.Known{}\n\t\t}\n\t\treturn addresses.Known{Taken: holders.Taken(), Seen: r.Cluster.Neighbors.Addresses()}\n\t}()",
			},
		}},
		{"a cluster of which nothing is found is made again", "NothingInTheWrongPlace", []edit{
			{"reconcile/plan/residence.go", "	r, k := f.residence, f.Observed.Secrets.Kubeconfig", "	if BROKEN {\n\t\treturn \"\"\n\t}\n	r, k := f.residence, f.Observed.Secrets.Kubeconfig"},
		}},
		{"looks have no end", "PassesEnd", []edit{
			{"reconcile/look.go", "ctx, cancel := context.WithTimeoutCause(ctx, wholeLook,", "whole := wholeLook\n\tif BROKEN {\n\t\twhole = 24 * time.Hour\n\t}\n\tctx, cancel := context.WithTimeoutCause(ctx, whole,"},
			{"reconcile/sites.go", "ctx2, cancel := context.WithTimeoutCause(ctx, patience,", "most := patience\n\tif BROKEN {\n\t\tmost = 24 * time.Hour\n\t}\n\tctx2, cancel := context.WithTimeoutCause(ctx, most,"},
		}},
		{"machines of a pool that left Git go at once", "DepartedPoolGoesInTurn", []edit{
			{"reconcile/plan/rollout/departed.go", "case budget > 0:", "case budget > 0 || BROKEN:"},
		}},
		{"members are known by their names", "NoLivingMachineLost", []edit{
			{"providers/distribution/kubeadm/inside/members.go", "		node, s := statusOf(m.memberID, m.Name, statuses)\n", "		node, s := statusOf(m.memberID, m.Name, statuses)\n		if BROKEN {\n			node = m.Name\n		}\n"},
			{"reconcile/plan/etcd.go", `name == "" || e.Members[i].Healthy ||`, `name == "" || e.Members[i].Healthy && !BROKEN ||`},
		}},
		{"a report tells the time", "SameFactsNoCommit", []edit{
			{"agent/loop/publish/publish.go", "p.p.Writer.Put(c.Report)", "if BROKEN && len(c.Report.Conditions) > 0 {\n\t\tc.Report.Conditions = slices.Clone(c.Report.Conditions)\n\t\tc.Report.Conditions[0].Message = time.Now().String()\n\t}\n\tp.p.Writer.Put(c.Report)"},
		}},
	}
}

// faultsOfOthers break clusters of K3s and RKE2, which lives of these notice.
func faultsOfOthers() []fault {
	return []fault{
		{"who was asked to leave etcd has left it", "EtcdQuorumKept", []edit{
			{"providers/distribution/rancher/program.go", "LeaveIsAsked: true", "LeaveIsAsked: !BROKEN"},
		}},
	}
}

// faultsOfReboots break how sick machines are rebooted, which lives with reboots notice.
func faultsOfReboots() []fault {
	return []fault{
		{"another machine is switched off than the sick one", "OnlyTheSickAreRebooted", []edit{
			{"reconcile/plan/reboot.go", "a.Kind = fleet.SwitchOff", "if a.Kind = fleet.SwitchOff; BROKEN {\n\t\t\t\ta.Machine, a.ProviderID = d.machines[0].Name, d.machines[0].ProviderID\n\t\t\t}"},
		}},
	}
}

// faultsOfWaves break how what changes comes to many clusters, which lives with waves notice.
func faultsOfWaves() []fault {
	const stages, settle, gates = "reconcile/rollout/stages.go", "reconcile/rollout/settle.go", "reconcile/rollout/gates.go"
	return []fault{
		{"a stage changes more at once", "NoMoreThanAllowed", []edit{
			{stages, "case !f.moving && r.moving >= limit:", "case !f.moving && r.moving >= limit && !BROKEN:"},
		}},
		{"windows are always open", "BeginsInItsWindow", []edit{
			{stages, `case f.closed != "" && !f.stageForced:`, `case f.closed != "" && !f.stageForced && !BROKEN:`},
		}},
		{"stages do not wait for each other", "StagesInOrder", []edit{
			{stages, "	case busy:\n", "	case busy && BROKEN:\n	case busy:\n"},
		}},
		{"a failure halts nothing", "HaltsAtFailure", []edit{
			{stages, "if len(r.failed) <= r.stage.Failures {", "if BROKEN || len(r.failed) <= r.stage.Failures {"},
		}},
		{"freezes hold nothing", "NoneBeginsInAFreeze", []edit{
			{gates, "&& g.now.Before(f.Until) {", "&& g.now.Before(f.Until) && !BROKEN {"},
		}},
		{"a freeze never ends", "ConvergesToDesired", []edit{
			{gates, "!g.now.Before(f.From) && g.now.Before(f.Until)", "!g.now.Before(f.From) && (BROKEN || g.now.Before(f.Until))"},
		}},
		{"a halt is there whatever people ask", "WhatIsReleasedGoesOn", []edit{
			{stages, `case own.why != "" && !f.stageForced:`, `case own.why != "" && (!f.stageForced || BROKEN):`},
		}},
		{"clusters that cannot be rendered are done", "BrokenIsNotDone", []edit{
			{stages, "if f.broken && r.broken == (fleet.Key{}) {", "if f.broken && !BROKEN && r.broken == (fleet.Key{}) {"},
		}},
		{"clusters that wait are left alone", "RepairsNeverWait", []edit{
			{"reconcile/rollout/state.go", "	case c.definition == nil:\n		t.Why = whyNoDefinition", "	case c.definition == nil || c.next != nil && BROKEN:\n		t.Why = whyNoDefinition"},
		}},
		{"history that is rewritten while a cluster waits is no problem", "RepairsNeverWait", []edit{
			{"reconcile/rollout/restore.go", "	d.State.unavailable = unavailable\n", "	if !BROKEN {\n\t\td.State.unavailable = unavailable\n\t}\n"},
		}},
		{"a revision that is refused while a cluster waits is no problem", "RepairsNeverWait", []edit{
			{"reconcile/rollout/status.go", "if c.next != nil && c.definition == nil && c.recorded == nil {", "if c.next != nil && c.definition == nil && c.recorded == nil && !BROKEN {"},
		}},
		{"a label leads out of a window", "BeginsInItsWindow", []edit{
			{gates, `if why, until = g.closedFor(from, drain); why != "" {`, `if why, until = g.closedFor(from, drain); why != "" && !BROKEN {`},
		}},
		{"downtime of the agent counts as failure", "LateIsSeen", []edit{
			{stages, "if f.unseen { // the agent", "if f.unseen && !BROKEN { // the agent"},
		}},
		{"what waits never comes", "ConvergesToDesired", []edit{
			{settle, `	case t.why == "":`, `	case t.why == "" && !BROKEN:`},
		}},
	}
}

func allFaults() []fault {
	return slices.Concat(faults(), faultsOfOthers(), faultsOfReboots(), faultsOfWaves())
}

// TestFaultsAreOfToday: each edit finds what it replaces, once, in the code as the edits
// before it leave it.
func TestFaultsAreOfToday(t *testing.T) {
	files := map[string]string{}
	for _, f := range allFaults() {
		for _, e := range f.edits {
			if _, read := files[e.file]; !read {
				src, err := os.ReadFile(filepath.Join("../../..", e.file))
				if err != nil {
					t.Fatal(err)
				}
				files[e.file] = string(src)
			}
			if n := strings.Count(files[e.file], e.old); n != 1 {
				t.Errorf("%s: %q is %d times in %s", f.name, e.old, n, e.file)
			}
			files[e.file] = strings.Replace(files[e.file], e.old, e.new, 1)
		}
	}
}

// TestGuards breaks Fairlead in one way after the other, and sees that lives
// notice: by the guard that is there for it. Others may notice in lives before.
func TestGuards(t *testing.T) {
	if !*guards {
		t.Skip("takes minutes: say -guards")
	}
	binary := broken(t, allFaults())
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) { f.isNoticed(t, binary) })
	}
	for _, f := range faultsOfOthers() {
		t.Run(f.name, func(t *testing.T) { f.isNoticed(t, binary, "-others") })
	}
	for _, f := range faultsOfReboots() {
		t.Run(f.name, func(t *testing.T) { f.isNoticed(t, binary, "-reboots") })
	}
	for _, f := range faultsOfWaves() {
		t.Run(f.name, func(t *testing.T) { f.isNoticed(t, binary, "-waves") })
	}
}

// isNoticed sees that lives with these flags notice f by the guard that is there for it.
func (f fault) isNoticed(t *testing.T, binary string, flags ...string) {
	t.Helper()
	for lived, n := uint64(0), many(t); lived < n; {
		args := slices.Concat([]string{"-test.run=^TestLives$", "-test.v", "-stop", fmt.Sprintf("-from=%d", *from+lived), fmt.Sprintf("-lives=%d", n-lived)}, flags)
		c := exec.CommandContext(t.Context(), binary, args...)
		c.Env = append(os.Environ(), "FAULT="+f.name)
		out, err := c.CombinedOutput()
		if err == nil {
			break
		}
		lived += uint64(strings.Count(string(out), " calls, ")) + 1
		seen := noticed.FindStringSubmatch(string(out))
		if seen == nil {
			t.Fatalf("no guard noticed, after %d lives:\n%s", lived, out)
		}
		t.Logf("%s, in life %d", seen[1], lived)
		if seen[1] == f.guard {
			return
		}
	}
	t.Fatalf("%d lives did not notice by %s", many(t), f.guard)
}

// noticed is how a life that failed says why.
var noticed = regexp.MustCompile(`lives_test\.go:\d+: ([A-Za-z]+):`)

// TestFaultsFit sees that the faults still fit the code that they break.
func TestFaultsFit(t *testing.T) {
	if len(damaged(t, allFaults())) == 0 {
		t.Error("there are no faults")
	}
}

// damaged returns the files of Fairlead with all of list in them.
func damaged(t *testing.T, list []fault) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, f := range list { // a later one may change what an earlier one put there
		for _, e := range f.edits {
			text, ok := texts[e.file]
			if !ok {
				b, err := os.ReadFile(filepath.Join("../../..", e.file))
				if err != nil {
					t.Fatal(err)
				}
				text = string(b)
			}
			if n := strings.Count(text, e.old); n != 1 {
				t.Fatalf("%s: %s has %d times %q, not once: mend the fault", f.name, e.file, n, e.old)
			}
			texts[e.file] = strings.Replace(text, e.old, strings.ReplaceAll(e.new, "BROKEN", fmt.Sprintf("faulty(%q)", f.name)), 1)
		}
	}
	return texts
}

// broken builds this package with all of list in Fairlead, of which each does
// something only where FAULT names it.
func broken(t *testing.T, list []fault) string {
	t.Helper()
	dir := t.TempDir()
	var overlay struct{ Replace map[string]string }
	overlay.Replace = make(map[string]string)
	add := func(file, text string) {
		path, err := filepath.Abs(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = at
	}
	for file, text := range damaged(t, list) {
		add(file, text)
		folder := filepath.Dir(file)
		add(filepath.Join(folder, "faulty.go"),
			fmt.Sprintf("package %s\n\nimport \"os\"\n\nfunc faulty(fault string) bool { return os.Getenv(\"FAULT\") == fault }\n", filepath.Base(folder)))
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	at, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "broken.test")
	if err := os.WriteFile(at, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, "-overlay", at, ".").CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %v\n%s", err, out)
	}
	return binary
}

package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
	"fairlead.dev/test/run/short"
)

var us1 = fleet.Key{Namespace: "prod", Name: "us-1"}

// allKinds returns the files of a branch on which each kind of file was written, two of each that there
// are several of.
func allKinds(t *testing.T) fstest.MapFS {
	t.Helper()
	b, l := owned(t), &listener{enabled: true, known: true}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := report(fleet.PhaseProvisioned)
	r.Hosts = []fleet.Host{host("a"), host("b")}
	other := report(fleet.PhaseWorkers)
	other.Cluster = us1
	w := writer(b, status.Options{Notifications: l.notifications()})
	w.Put(r)
	w.Put(other)
	w.PutFleet(sources.FleetStatus{
		Fleet: "demo", Revision: r.Revision, Applied: r.Revision, Orphans: []fleet.Key{{Namespace: "dev", Name: "old"}},
		Problems: []fleet.Problem{{File: "a.yaml", Message: "is wrong"}},
	})
	flush(t, w)
	q := status.NewRequests(b)
	must(q.Ask(t.Context(), fleet.Request{Kind: fleet.RequestSuspend, Cluster: eu1, By: "ada", At: clock()}))
	must(q.Ask(t.Context(), fleet.Request{Kind: fleet.RequestReconcile, Cluster: us1, By: "ada", At: clock()}))
	must(status.NewScales(b).Decide(t.Context(), self, []fleet.Scale{scale("md-0", 3, "sim://1"), scale("md-1", 4)}, nil))
	must(status.NewPlans(b).Write(t.Context(), self, []status.Plan{
		{Number: 1, Head: "h", Base: "b", Verdict: "success", Summary: "nothing", Text: "so\n"},
		{Number: 2, Head: "h", Base: "b", Verdict: "success", Summary: "nothing", Text: "so\n"},
	}, nil))
	for _, n := range []int{1, 2} {
		must(status.NewApprovals(b).Approve(t.Context(), fleet.Approval{PullRequest: n, Kind: fleet.ApproveChanges, Head: strings.Repeat("a", 40), By: "ada", At: clock()}))
	}
	must(status.Signpost(t.Context(), b, "demo", "fleets/demo"))
	must(status.Signpost(t.Context(), b, "edge", "fleets/edge"))
	_, _, err := status.NewArbiter(b).Begin(t.Context(), self)
	must(err)
	away := &branch{}
	must(status.Move(t.Context(), b, away, "fleets/away"))
	must(status.Move(t.Context(), away, b, "fairlead/status"))
	must(status.Move(t.Context(), b, &branch{}, "fleets/new"))
	_, files := b.head()
	return maps.Clone(files)
}

// A fixed branch has these files.
type fixed struct {
	sources.Branch

	files fstest.MapFS
}

func (f fixed) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	return fleet.Revision{Ref: "status", Digest: "sha1:1"}, tree{f.files}, nil
}

// believed returns what all readers of a branch with these files take in, by subject. A subject whose
// file cannot be read is not there.
func believed(t *testing.T, files fstest.MapFS) map[string]string {
	t.Helper()
	b, ctx := fixed{files: files}, t.Context()
	out := make(map[string]string)
	s, err := status.Read(tree{files})
	if s.Owner != (fleet.Owner{}) {
		out["the owner"] = fmt.Sprint(s.Owner.Agent, s.Owner.Epoch)
	}
	if s.Owner.Incarnation > 0 {
		out["the process"] = fmt.Sprint(s.Owner.Incarnation, s.Owner.Process)
	}
	if damage := (*status.FleetDamage)(nil); s.Fleet.Fleet != "" && !errors.As(err, &damage) {
		out["the fleet"] = fmt.Sprintf("%+v", s.Fleet)
	}
	for _, c := range s.Clusters {
		out["cluster "+c.Report.Cluster.String()] = asJSON(t, c)
	}
	for _, h := range s.Hosts {
		out["host "+h.Name] = asJSON(t, h)
	}
	requests, _ := status.NewRequests(b).List(ctx)
	for _, r := range requests {
		if !r.Unreadable {
			out["request to "+string(r.Kind)] = fmt.Sprintf("%+v", r)
		}
	}
	scales, _ := status.NewScales(b).List(ctx)
	for _, of := range scales {
		out["scale "+string(of.Pool)] = fmt.Sprintf("%+v", of)
	}
	plans, _ := status.NewPlans(b).List(ctx)
	for _, p := range plans {
		out["plan "+fmt.Sprint(p.Number)] = fmt.Sprintf("%+v", p)
	}
	approvals, _ := status.NewApprovals(b).List(ctx)
	for _, a := range approvals {
		out["approval "+fmt.Sprint(a.PullRequest)] = fmt.Sprintf("%+v", a)
	}
	if l, err := status.Locate(tree{files}); err == nil {
		for id, name := range l.Signposts {
			out["signpost "+string(id)] = name
		}
		if l.MovedTo != "" {
			out["the move"] = l.MovedTo
		}
		if l.Arrived > 0 {
			out["the arrival"] = strconv.FormatInt(l.Arrived, 10)
		}
	}
	l := &listener{}
	if _, err := status.NewWriter(b, status.Options{Owner: s.Owner, Notifications: l.notifications()}).Flush(ctx); err == nil && len(l.pending) > 0 {
		out["notifications"] = fmt.Sprint(l.told())
	}
	return out
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// costs says which subjects a damaged file of each kind may cost, but for their names.
var costs = map[string][]string{
	// Without an owner nobody may act, so nothing is asked of signposts, moves and notifications.
	"Owner":         {"the owner", "the process", "signpost demo", "signpost edge", "the move", "the arrival", "notifications"},
	"Incarnation":   {"the process"},
	"FleetStatus":   {"the fleet"},
	"ClusterReport": {"cluster prod/eu-1"},
	"BareMetalHost": {"host a"},
	"Request":       {"request to suspend"},
	"Scale":         {"scale md-0"},
	"Approval":      {"approval 1"},
	"Plan":          {"plan 1"},
	"Notifications": {"notifications"},
	"Signpost":      {"signpost demo"},
	// Where the status is must not be guessed: see ErrMovedUnknown.
	"Moved":   {"the move", "the arrival", "signpost demo", "signpost edge"},
	"Arrived": {"the arrival"},
}

var kindOf = regexp.MustCompile(`(?m)^kind: (\S+)$`)

// victims returns the first file of each kind, by kind.
func victims(files fstest.MapFS) map[string]string {
	out := make(map[string]string)
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if m := kindOf.FindSubmatch(files[p].Data); m != nil && out[string(m[1])] == "" && strings.HasSuffix(p, ".yaml") {
			out[string(m[1])] = p
		}
	}
	return out
}

// TestDamagedFileCostsWhatItDescribes: of a file that is damaged, whatever its kind, nothing is believed,
// and everything that other files say is. A file that is cut off may say less.
func TestDamagedFileCostsWhatItDescribes(t *testing.T) {
	files := allKinds(t)
	cuts := func(length int) int { return length }
	if short.Form(t) {
		cuts = func(length int) int { return min(length, 12) }
	}
	whole, victims, kinds := believed(t, files), victims(files), status.FileKinds()
	if got, want := slices.Sorted(maps.Keys(victims)), slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Fatalf("there are files of the kinds %q, and the package knows %q", got, want)
	}
	if got, want := slices.Sorted(maps.Keys(costs)), slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Fatalf("the table has the kinds %q, and the package knows %q", got, want)
	}
	for kind, p := range victims {
		for _, subject := range costs[kind] {
			if whole[subject] == "" {
				t.Fatalf("nothing is believed of %s in the whole branch: %q", subject, slices.Sorted(maps.Keys(whole)))
			}
		}
		content := string(files[p].Data)
		damaged := func(how, content string, unbelieved bool) {
			t.Helper()
			there := maps.Clone(files)
			there[p] = &fstest.MapFile{Data: []byte(content)}
			got := believed(t, there)
			for subject, want := range whole {
				if !slices.Contains(costs[kind], subject) && got[subject] != want {
					t.Errorf("%s, %s: it costs %s: got %q, want %q", p, how, subject, got[subject], want)
				}
			}
			for subject := range got {
				if whole[subject] == "" {
					t.Errorf("%s, %s: it brings %s", p, how, subject)
				}
			}
			if subject := costs[kind][0]; unbelieved && got[subject] != "" {
				t.Errorf("%s, %s: of %s it is believed %q", p, how, subject, got[subject])
			}
		}
		damaged("empty", "", true)
		damaged("binary", content+"\x00\x01\xff", true)
		damaged("another format", "\x1f\x8b\x08\x00", true)
		damaged("another version", strings.Replace(content, "/v1alpha1", "/v9", 1), true)
		damaged("another kind", strings.Replace(content, "kind: "+kind, "kind: Other", 1), true)
		damaged("a merge", strings.Replace(content, "\n", "\n<<<<<<< HEAD\n", 1), true)
		damaged("too long", content+strings.Repeat("# padding\n", kinds[kind]/10+1), true)
		for i := range cuts(len(content)) {
			at := i * len(content) / cuts(len(content))
			damaged(fmt.Sprintf("cut off at %d", at), content[:at], false)
		}
	}
}

// TestSuspensionSurvivesDamage: a cluster whose suspension is damaged stays suspended.
func TestSuspensionSurvivesDamage(t *testing.T) {
	files := allKinds(t)
	files["requests/prod/eu-1/suspend.yaml"] = &fstest.MapFile{Data: []byte("\x00")}
	list, _ := status.NewRequests(fixed{files: files}).List(t.Context())
	if !slices.ContainsFunc(list, func(r fleet.Request) bool { return r.Kind == fleet.RequestSuspend && r.Cluster == eu1 && r.InEffect() }) {
		t.Errorf("the requests are %+v", list)
	}
}

// TestTooManyProblems: of more problems than can be read again, fleet.yaml has as many as can be, and says
// how many there are more.
func TestTooManyProblems(t *testing.T) {
	b := owned(t)
	w := writer(b, status.Options{})
	s := sources.FleetStatus{Fleet: "demo"}
	for i := range 50_000 {
		s.Problems = append(s.Problems, fleet.Problem{File: "base.yaml", Line: i + 1, Object: "Cluster", Field: "spec", Message: "is wrong - " + strings.Repeat("-", 40), Hint: "mend it"})
	}
	w.PutFleet(s)
	flush(t, w)
	_, files, _ := b.Read(t.Context())
	got, err := status.Read(files)
	if err != nil {
		t.Fatal(err)
	}
	n := len(got.Fleet.Problems)
	if n < 10_000 || n > 40_000 || !strings.HasPrefix(got.Fleet.Problems[n-1].Message, fmt.Sprintf("%d more problems are left out", 50_000-n+1)) {
		t.Errorf("%d problems, the last one is %+v", n, got.Fleet.Problems[n-1])
	}
}

// TestOversizedFilesStayAsTheyWere: what is too large to be read again is not written. All else is, and a
// problem names the file until it fits, or its cluster is gone.
func TestOversizedFilesStayAsTheyWere(t *testing.T) {
	large := func(conditions, disks int) fleet.Report {
		r := report(fleet.PhaseProvisioned)
		for i := range conditions {
			r.ObservedConditions = append(r.ObservedConditions, fleet.ObservedCondition{
				Machine: fleet.MachineName(fmt.Sprintf("eu-1-md-0-%d", i)), Condition: "Ready", Status: fleet.False, Since: clock(),
			})
		}
		r.Hosts = []fleet.Host{host("a", func(h *fleet.Host) {
			for i := range disks {
				h.Hardware.Disks = append(h.Hardware.Disks, fleet.HostDisk{Name: fmt.Sprintf("/dev/sd%d", i), Bytes: 1 << 30})
			}
		})}
		return r
	}
	b := owned(t)
	w := writer(b, status.Options{})
	wrote := func(reason string, r fleet.Report, problems int) status.Status {
		t.Helper()
		other := report(fleet.Phase(reason))
		other.Cluster = us1
		w.Put(r)
		w.Put(other)
		flush(t, w)
		w.PutFleet(sources.FleetStatus{Fleet: "demo"})
		flush(t, w)
		_, files, _ := b.Read(t.Context())
		s, err := status.Read(files)
		if err != nil || len(s.Damaged) > 0 || len(s.DamagedHosts) > 0 {
			t.Fatal(reason, err, s.Damaged, s.DamagedHosts)
		}
		if c, _ := s.Cluster(us1); string(c.Report.Phase) != reason {
			t.Errorf("%s: the other cluster is %q", reason, c.Report.Phase)
		}
		if len(s.Fleet.Problems) != problems {
			t.Errorf("%s: the problems are %+v", reason, s.Fleet.Problems)
		}
		return s
	}
	first := wrote("first it is small", large(1, 1), 0)
	second := wrote("it grew", large(70_000, 7_000), 2)
	a, _ := first.Cluster(eu1)
	if c, _ := second.Cluster(eu1); len(c.Report.ObservedConditions) != len(a.Report.ObservedConditions) || len(second.Hosts) != 1 || len(second.Hosts[0].Hardware.Disks) != 2 {
		t.Errorf("what does not fit was written: %d conditions", len(c.Report.ObservedConditions))
	}
	if p := second.Fleet.Problems[0]; p.File != "clusters/prod/eu-1.yaml" || p.Cluster != eu1 || !strings.Contains(p.Message, "more than 590000") {
		t.Errorf("the problem is %+v", p)
	}
	wrote("the host stays large", large(1, 7_000), 1)
	wrote("it is small again", large(1, 1), 0)
	wrote("it grew again", large(70_000, 7_000), 2)
	w.Forget(eu1)
	flush(t, w)
	_, files, _ := b.Read(t.Context())
	if s, err := status.Read(files); err != nil || len(s.Fleet.Problems) > 0 || len(s.Hosts) > 0 {
		t.Errorf("after the cluster is gone: %+v, %v", s.Fleet.Problems, err)
	}
}

// TestOversizedDecisionIsRefused: a number of machines that nobody could read is not written.
func TestOversizedDecisionIsRefused(t *testing.T) {
	b := owned(t)
	s := scale("md-0", 1)
	for i := range 400_000 {
		s.Remove = append(s.Remove, fleet.ProviderID(fmt.Sprintf("sim://%d", i)))
	}
	if err := status.NewScales(b).Decide(t.Context(), self, []fleet.Scale{s}, nil); fleet.KindOf(err) != fleet.Exhausted {
		t.Errorf("got %v", err)
	}
}

// TestLargePlanIsReadBack: a plan with more than can be read again has as many changes as can be.
func TestLargePlanIsReadBack(t *testing.T) {
	b := owned(t)
	p := status.Plan{Number: 1, Head: "h", Base: "b", Verdict: "success", Summary: "many", Text: "so\n"}
	for i := range 20_000 {
		p.Changes = append(p.Changes, status.PlannedChange{Change: "create", Cluster: "prod/eu-1", Machine: fmt.Sprint("m-", i), Reason: strings.Repeat("- ", 150)})
	}
	q := status.NewPlans(b)
	if err := q.Write(t.Context(), self, []status.Plan{p}, nil); err != nil {
		t.Fatal(err)
	}
	got, err := q.List(t.Context())
	if err != nil || len(got) != 1 || len(got[0].Changes) < 5_000 {
		t.Errorf("%d plans, %v", len(got), err)
	}
}

// TestSignedTextIsReadBack: what is signed is what is written, also of a text that is made plain.
func TestSignedTextIsReadBack(t *testing.T) {
	reason := "red\x1b[31m " + strings.Repeat("long ", 2000)
	b := &branch{}
	owner, err := arbiterOf(b, "a").Claim(t.Context(), "a", "here")
	if err != nil {
		t.Fatal(err)
	}
	q, n, p := status.NewRequests(b), status.NewScales(b), status.NewApprovals(b)
	var signed [][]byte
	sign := func(content []byte) (string, error) {
		signed = append(signed, content)
		return fmt.Sprint("signature ", len(signed)), nil
	}
	q.Sign, n.Sign, p.Sign = sign, sign, sign
	checked := 0
	check := func(content []byte, signature string) (string, error) {
		checked++
		var i int
		if _, err := fmt.Sscanf(signature, "signature %d", &i); err != nil || string(signed[i-1]) != string(content) {
			return "", errors.New("it is not what was signed")
		}
		return "ada", nil
	}
	q.Verify, n.Verify, p.Verify = check, check, check
	by := "Ada\x07 <a@example.com>"
	if err := q.Ask(t.Context(), fleet.Request{Kind: fleet.RequestReconcile, Cluster: eu1, Reason: reason, By: by, At: clock()}); err != nil {
		t.Fatal(err)
	}
	s := scale("md-0", 2)
	s.Reason, s.At = reason, clock().Add(time.Second)
	if err := n.Decide(t.Context(), owner, []fleet.Scale{s}, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Approve(t.Context(), fleet.Approval{PullRequest: 1, Kind: fleet.ApprovePlan, Head: strings.Repeat("a", 40), Reason: reason, By: by, At: clock()}); err != nil {
		t.Fatal(err)
	}
	requests, err := q.List(t.Context())
	if err != nil || len(requests) != 1 || requests[0].Distrusted != "" {
		t.Errorf("requests: %v, %+v", err, requests)
	}
	scales, err := n.List(t.Context())
	if err != nil || len(scales) != 1 || scales[0].Distrusted != "" {
		t.Errorf("scales: %v, %+v", err, scales)
	}
	approvals, err := p.List(t.Context())
	if err != nil || len(approvals) != 1 || approvals[0].Distrusted != "" {
		t.Errorf("approvals: %v, %+v", err, approvals)
	}
	if checked < 3 {
		t.Errorf("%d signatures were looked at", checked)
	}
}

// TestOrdersAreReadStrictly: what an agent of another version wrote beside the known fields does not keep a
// status from being read, but an order that is known in part only is no order.
func TestOrdersAreReadStrictly(t *testing.T) {
	orders := []string{"Owner", "Request", "Scale", "Approval"}
	for kind := range status.FileKinds() {
		api := "fairlead.dev/v1alpha1"
		if kind == "BareMetalHost" {
			api = "metal3.io/v1alpha1"
		}
		err := status.ReadAs(kind, []byte("apiVersion: "+api+"\nkind: "+kind+"\nlater: 1\n"))
		if strict := slices.Contains(orders, kind); (err != nil) != strict {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

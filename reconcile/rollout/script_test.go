package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fleet"
)

// TestScripts runs the scripts in testdata. "record" is what the status branch says when
// an agent begins. "revision", "older", "requests", "sizes", "pass", "repair", "tags" and
// "wait" are news, and tell what is decided on them; "fleet" tells what clusters are held
// to, and what is told of the fleet.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), reports: map[fleet.Key]fleet.Report{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, err := s.run(d)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

type script struct {
	state   State
	now     time.Time
	reports map[fleet.Key]fleet.Report
	last    Decision
}

func (s *script) run(d *datadriven.TestData) (string, error) {
	var lines [][]string
	for line := range strings.Lines(d.Input) {
		lines = append(lines, strings.Fields(line))
	}
	in := Input{}
	switch d.Cmd {
	case "record":
		s.state = Recorded(record(lines))
		return "", nil
	case "fleet":
		return s.fleet(), nil
	case "revision":
		r := revisionOf(d, lines)
		in.Newest = &r
	case "older":
		in.Older = []Revision{revisionOf(d, lines)}
	case "requests":
		in.Requests = s.requests(lines)
	case "sizes":
		in.Sizes = &Sizes{Signed: d.HasArg("signed"), List: s.sizes(lines)}
	case "written":
		in.Written = &Written{Sizes: s.last.Sign, Dropped: s.last.Drop}
		in.Written.Sizes = append(slices.Clone(in.Written.Sizes), s.sizes(lines)...)
	case "pass":
		in.Passes = s.passes(lines)
	case "repair":
		in.Repaired = map[fleet.Key]*fleet.Report{}
		for _, l := range lines {
			k := key(l[0])
			if in.Repaired[k] = nil; len(l) > 1 {
				r := report(l)
				in.Repaired[k] = &r
			}
		}
	case "gone":
		for _, l := range lines {
			in.Gone = append(in.Gone, key(l[0]))
		}
	case "tags":
		in.Tagged = map[string][]fleet.Key{}
		for _, l := range lines {
			in.Tagged[l[0]] = append(in.Tagged[l[0]], keys(l[1:])...)
		}
	case "wait":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			return "", err
		}
		s.now = s.now.Add(by)
		return "", nil
	default:
		return "", fmt.Errorf("no command %s", d.Cmd)
	}
	in.Before, in.Now, in.Reports = s.state, s.now, s.reports
	s.last = Decide(in)
	s.state = s.last.State
	return s.decided(), nil
}

// decided shows the last decision.
func (s *script) decided() string {
	var b strings.Builder
	d := s.last
	show := func(what string, list ...string) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "%-9s %s\n", what, strings.Join(list, " "))
		}
	}
	show("changed", names(d.Changed)...)
	show("forgotten", names(d.Forgotten)...)
	for _, r := range d.Answers {
		text := string(r.Answer.State)
		if r.Answer.Message != "" {
			text += ": " + r.Answer.Message
		}
		show("answer", r.String()+":", text)
	}
	for _, r := range d.Expired {
		show("expired", r.String())
	}
	for _, n := range d.Sign {
		show("sign", n.String())
	}
	for _, n := range d.Drop {
		show("drop", n.String())
	}
	for _, text := range d.Ignored {
		show("doubt", text)
	}
	if d.AnswersDue {
		b.WriteString("due\n")
	}
	if at := d.State.WakeAt(s.now); !at.IsZero() {
		show("wake", "in", at.Sub(s.now).String())
	}
	if d.StatusChanged {
		b.WriteString("told\n")
	}
	return b.String()
}

// fleet shows what clusters are held to, and what is told.
func (s *script) fleet() string {
	var b strings.Builder
	told := s.state.Status()
	fmt.Fprintf(&b, "seen %s, applied %s", cmp.Or(told.Revision.Hash(), "nothing"), cmp.Or(told.Applied.Hash(), "nothing"))
	if told.Broken {
		b.WriteString(", broken")
	}
	b.WriteString("\n")
	for _, k := range s.state.Keys() {
		t, _ := s.state.Target(k)
		fmt.Fprintf(&b, "%s", k)
		if c := t.Cluster; c != nil {
			fmt.Fprintf(&b, " at %s", c.Revision.Hash())
			for i, is := range []bool{c.Delete, c.Abandon, c.Suspension != nil} {
				if is {
					fmt.Fprintf(&b, " %s", []string{"delete", "abandon", "suspended"}[i])
				}
			}
			for _, p := range c.Workers {
				fmt.Fprintf(&b, " %s=%d", p.Name, p.Replicas)
			}
		}
		if slices.Contains(told.Behind, k) {
			b.WriteString(" behind")
		}
		if t.Why != "" {
			fmt.Fprintf(&b, ": %s", t.Why)
		}
		for _, p := range t.Problems {
			fmt.Fprintf(&b, "\n  kept: %s", p.Message)
		}
		b.WriteString("\n")
	}
	for _, p := range slices.Concat(told.Problems, told.Damaged) {
		fmt.Fprintf(&b, "problem %s\n", p)
	}
	if len(told.Orphans) > 0 {
		fmt.Fprintf(&b, "orphans %s\n", strings.Join(names(told.Orphans), " "))
	}
	wanted := s.state.MissingDefinitions()
	revs := slices.Collect(maps.Keys(wanted))
	slices.SortFunc(revs, func(a, b fleet.Revision) int { return strings.Compare(a.Digest, b.Digest) })
	for _, rev := range revs {
		fmt.Fprintf(&b, "wanted of %s: %s\n", rev.Hash(), strings.Join(names(wanted[rev]), " "))
	}
	return b.String()
}

func key(text string) fleet.Key {
	ns, name, _ := strings.Cut(text, "/")
	return fleet.Key{Namespace: ns, Name: name}
}

func keys(words []string) []fleet.Key {
	var out []fleet.Key
	for _, w := range words {
		out = append(out, key(w))
	}
	return out
}

func names(keys []fleet.Key) []string {
	var out []string
	for _, k := range keys {
		out = append(out, k.String())
	}
	return out
}

// valueOf returns the value of name in words such as name=value.
func valueOf(words []string, name string) string {
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// record reads lines such as "prod/a Provisioned at=1 is=x", "prod/b Provisioned
// orphan", "prod/c damaged".
func record(lines [][]string) Record {
	out := Record{Fleet: "f", Damaged: map[fleet.Key]string{}}
	for _, l := range lines {
		if l[1] == "damaged" {
			out.Damaged[key(l[0])] = "its file cannot be read"
			continue
		}
		out.Reports = append(out.Reports, report(l))
		if slices.Contains(l, "orphan") {
			out.Orphans = append(out.Orphans, key(l[0]))
		}
	}
	return out
}

// report reads "prod/a PHASE at=1 is=x machines=cp/m1,md/m2".
func report(l []string) fleet.Report {
	r := fleet.Report{Cluster: key(l[0]), Phase: fleet.Phase(l[1]), Overlay: "clusters/" + l[0], Digest: valueOf(l, "is"), Revision: revision(valueOf(l, "at"))}
	for _, m := range strings.FieldsFunc(valueOf(l, "machines"), func(r rune) bool { return r == ',' }) {
		pool, name, _ := strings.Cut(m, "/")
		role := fleet.RoleWorker
		if pool == "cp" {
			role = fleet.RoleControlPlane
		}
		r.Machines = append(r.Machines, fleet.MachineReport{Machine: fleet.Machine{
			Name: fleet.MachineName(name), ProviderID: fleet.ProviderID("sim://" + name), Pool: fleet.PoolName(pool), Role: role,
		}})
	}
	return r
}

// revisionOf reads the revision that is named, with "prune=1", "name=f", "refused" or
// "late", and lines such as
//
//	prod/a is=x folder=clusters/a delete protect abandon md=2..9
//	problem folder=clusters/prod/b cluster=prod/b late
//	part clusters/prod/a of=prod/a by=clusters/prod/c
func revisionOf(d *datadriven.TestData, lines [][]string) Revision {
	out := Revision{Revision: revision(d.CmdArgs[0].Key)}
	f := fleet.Fleet{ID: "f", Revision: out.Revision}
	for _, a := range d.CmdArgs[1:] {
		switch a.Key {
		case "refused":
			out.Refused = "it cannot be used"
		case "late":
			out.Late = "no answer"
		case "nothing": // is new
			return out
		case "prune":
			f.Config.Prune.Enabled = true
			f.Config.Prune.Limit, _ = strconv.Atoi(a.Vals[0])
		case "name":
			f.ID = fleet.ID(a.Vals[0])
		}
	}
	if out.Refused != "" || out.Late != "" {
		return out
	}
	for _, l := range lines {
		switch l[0] {
		case "problem":
			p := fleet.Problem{Overlay: valueOf(l, "folder"), Message: "broken"}
			if c := valueOf(l, "cluster"); c != "" {
				p.Cluster = key(c)
			}
			if f.Problems = append(f.Problems, p); slices.Contains(l, "late") {
				f.Late = append(f.Late, p.Overlay)
			}
		case "part":
			f.Parts = append(f.Parts, fleet.Part{Folder: l[1], Clusters: []fleet.Key{key(valueOf(l, "of"))}, By: []fleet.Includer{{Folder: valueOf(l, "by")}}})
		default:
			f.Clusters = append(f.Clusters, clusterIn(l, out.Revision.Hash()))
		}
	}
	out.Fleet = &f
	return out
}

func clusterIn(l []string, rev string) fleet.Cluster {
	c := clusterOf(key(l[0]), rev, valueOf(l, "is"))
	if folder := valueOf(l, "folder"); folder != "" {
		c.Overlay = folder
	}
	c.Delete, c.Abandon = slices.Contains(l, "delete"), slices.Contains(l, "abandon")
	c.Protect, c.Paused = slices.Contains(l, "protect"), slices.Contains(l, "paused")
	c.ControlPlane = fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Replicas: 1}
	if bounds := valueOf(l, "md"); bounds != "" {
		p := fleet.Pool{Name: "md", Role: fleet.RoleWorker, Strategy: fleet.OnDelete}
		low, high, scaled := strings.Cut(bounds, "..")
		p.Replicas, _ = strconv.Atoi(low)
		if scaled {
			p.Scaling = &fleet.Scaling{Min: p.Replicas}
			p.Scaling.Max, _ = strconv.Atoi(high)
		}
		c.Workers = []fleet.Pool{p}
	}
	return c
}

// requests reads lines such as "suspend prod/a for=1h", "remediate prod/a m1
// accepted", "suspend prod/b distrusted unreadable", "reconcile prod/a answered" for one
// with the answer that was decided on last, and "recorded prod/a Provisioned …" for what
// the status branch says.
func (s *script) requests(lines [][]string) *Requests {
	out := &Requests{Recorded: map[fleet.Key]fleet.Report{}}
	for _, l := range lines {
		if l[0] == "recorded" {
			out.Recorded[key(l[1])] = report(l[1:])
			continue
		}
		r := fleet.Request{Wish: fleet.Wish(l[0]), Cluster: key(l[1]), By: "Ada", At: time.Unix(1, 0), Unreadable: slices.Contains(l, "unreadable")}
		if m := valueOf(l, "machine"); m != "" {
			r.Machine, r.ProviderID = fleet.MachineName(m), fleet.ProviderID("sim://"+m)
		}
		if until, err := time.Parse(time.RFC3339, valueOf(l, "until")); err == nil {
			r.Until = until
		}
		if slices.Contains(l, "distrusted") {
			r.Distrusted = "it is not signed"
		}
		if slices.Contains(l, "signed") {
			r.Signature, r.At = "x", s.now.Add(-8*24*time.Hour)
		}
		for _, state := range []fleet.RequestState{fleet.RequestAccepted, fleet.RequestRefused, fleet.RequestDone} {
			if slices.Contains(l, strings.ToLower(string(state))) {
				r.Answer = fleet.Answer{State: state, At: time.Unix(2, 0)}
			}
		}
		if i := slices.IndexFunc(s.last.Answers, r.Is); i >= 0 && slices.Contains(l, "answered") {
			r.Answer = s.last.Answers[i].Answer
		}
		out.List = append(out.List, r)
	}
	return out
}

// sizes reads lines such as "prod/a/md 5 at=2h distrusted".
func (s *script) sizes(lines [][]string) []fleet.Scale {
	var out []fleet.Scale
	for _, l := range lines {
		i := strings.LastIndex(l[0], "/")
		n := fleet.Scale{Cluster: key(l[0][:i]), Pool: fleet.PoolName(l[0][i+1:]), Reason: "asked for"}
		n.Replicas, _ = strconv.Atoi(l[1])
		if after, err := time.ParseDuration(valueOf(l, "at")); err == nil {
			n.At = s.now.Add(after)
		}
		if slices.Contains(l, "distrusted") {
			n.Distrusted = "it is not signed"
		}
		out = append(out, n)
	}
	return out
}

// passes reads lines such as "prod/a Provisioned at-rest machines=cp/m1": passes over
// what clusters are held to now.
func (s *script) passes(lines [][]string) []Pass {
	var out []Pass
	for _, l := range lines {
		r := report(l)
		s.reports[r.Cluster] = r
		t, _ := s.state.Target(r.Cluster)
		out = append(out, Pass{Target: t, Report: r, AtRest: slices.Contains(l, "at-rest")})
	}
	return out
}

package rollout

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"

	"fairlead.dev/fleet"
)

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

// report reads "prod/a PHASE at=1 is=x machines=cp/m1,md/m2 version=v1.34.2 serves=v1.33.5,v1.34.2":
// the last are the versions of the machines of the control plane.
func report(l []string) fleet.Report {
	r := fleet.Report{Cluster: key(l[0]), Phase: fleet.Phase(l[1]), Overlay: "clusters/" + l[0], Digest: valueOf(l, "is"), Revision: revision(valueOf(l, "at"))}
	r.Version = valueOf(l, "version")
	for _, v := range strings.FieldsFunc(valueOf(l, "serves"), func(r rune) bool { return r == ',' }) {
		r.Residence.ControlPlane = fleet.InitializedOnce
		v, leaves := strings.CutSuffix(v, "-leaves")
		m := fleet.MachineReport{Machine: fleet.Machine{Role: fleet.RoleControlPlane, Version: v}}
		if leaves {
			m.Phase = fleet.MachinePhaseDeleting
		}
		r.Machines = append(r.Machines, m)
	}
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
//	prod/a is=x folder=clusters/a delete protect abandon md=2..9 version=v1.34.2 allow=v1.34.2
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
			out.Unavailable = "no answer"
		case "nothing": // is new
			return out
		case "prune":
			f.Config.Prune.Enabled = true
			f.Config.Prune.Limit, _ = strconv.Atoi(a.Vals[0])
		case "name":
			f.ID = fleet.ID(a.Vals[0])
		}
	}
	if out.Refused != "" || out.Unavailable != "" {
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
				f.Unavailable = append(f.Unavailable, p.Overlay)
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
	c.ControlPlane = fleet.Pool{Name: "cp", Role: fleet.RoleControlPlane, Replicas: 1, Version: valueOf(l, "version")}
	c.AllowVersion = valueOf(l, "allow")
	if slices.Contains(l, "class") {
		c.Topology = &fleet.Topology{Class: key("prod/dev"), Listed: slices.Contains(l, "listed")}
	}
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
		r := fleet.Request{Kind: fleet.RequestKind(l[0]), Cluster: key(l[1]), By: "Ada", At: time.Unix(1, 0), Unreadable: slices.Contains(l, "unreadable")}
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
		if i := slices.IndexFunc(s.last.Answers, r.Identical); i >= 0 && slices.Contains(l, "answered") {
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

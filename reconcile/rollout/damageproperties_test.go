package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"fairlead.dev/fleet"
)

// A lived is what truly became of a cluster, whatever the status branch says.
type lived struct {
	definition *fleet.Cluster
	at         time.Time // when it was whole with that; zero: it is not
	whole      string    // version with which it was whole last
}

// A mended fleet is one of which people damage files of the status branch, and put them back.
type mended struct {
	wavy
	all       []*fleet.Fleet
	lived     map[fleet.Key]lived
	damaged   map[fleet.Key]bool
	suspended []fleet.Request
	away      bool // no older revision can be got
}

const mendedClusters = 6

// starts has another agent start.
func (m *mended) starts(withoutFleet bool) {
	newest := m.all[len(m.all)-1]
	r := Record{Fleet: "f", Applied: newest.Revision, Rollout: m.s.Rollout(), Orphans: m.s.Status().Orphans, Damaged: make(map[fleet.Key]string)}
	if withoutFleet {
		r = Record{Damaged: r.Damaged}
	}
	for i := range mendedClusters {
		k := keyOf(fmt.Sprint("c", i))
		if m.damaged[k] {
			r.Damaged[k] = "it cannot be read"
			continue
		}
		r.Reports = append(r.Reports, m.report(k))
	}
	if m.s = Recorded(r); withoutFleet {
		m.s = m.s.WithoutOrphans()
	}
	m.decide(Input{Requests: &Requests{List: m.suspended}})
	m.push(newest)
	m.finds()
}

func (m *mended) report(k fleet.Key) fleet.Report {
	d := m.lived[k].definition
	return fleet.Report{Cluster: k, Phase: fleet.PhaseProvisioned, Digest: d.Digest, Overlay: d.Overlay, Revision: d.Revision}
}

// finds has older definitions found, or not.
func (m *mended) finds() {
	byDigest := func(a, b fleet.Revision) int { return cmp.Compare(a.Digest, b.Digest) }
	for _, rev := range slices.SortedFunc(maps.Keys(m.s.MissingDefinitions()), byDigest) {
		r := Revision{Revision: rev, Unavailable: "no answer"}
		if i := slices.IndexFunc(m.all, func(f *fleet.Fleet) bool { return f.Revision == rev }); !m.away {
			r = Revision{Revision: rev, Fleet: m.all[i]}
		}
		m.decide(Input{Older: []Revision{r}})
	}
}

// pushes pushes a revision, in which c5 may have other labels, and one cluster a problem.
func (m *mended) pushes(rev, version string, waves fleet.Waves, relabelled bool, broken int) {
	f := wavyFleet(rev, version, mendedClusters, waves)
	if relabelled {
		f.Clusters[5].Labels["ring"], f.Clusters[5].Digest = "canary", version+" relabelled"
	}
	if i := broken % mendedClusters; broken < 2*mendedClusters {
		p := fleet.Problem{Overlay: f.Clusters[i].Overlay, Message: "broken"}
		if broken < mendedClusters {
			p.Cluster = f.Clusters[i].Key
		}
		f.Problems, f.Clusters = []fleet.Problem{p}, slices.Delete(f.Clusters, i, i+1)
	}
	m.all = append(m.all, f)
	m.push(f)
	m.finds()
}

// repairs has people put back the file of cluster k while an agent runs.
func (m *mended) repairs(k fleet.Key) {
	if r := m.report(k); m.damaged[k] {
		delete(m.damaged, k)
		m.decide(Input{Repaired: map[fleet.Key]*fleet.Report{k: &r}})
		m.finds()
	}
}

// rests has a pass over cluster k find it whole, if there are any.
func (m *mended) rests(k fleet.Key) {
	target, _ := m.s.Target(k)
	if is, _ := m.s.suspended(k, m.s.clusters.of(k), m.now); is || target.Why != "" {
		return
	}
	m.rest(k.Name)
	if l := m.lived[k]; l.at.IsZero() {
		l.at, l.whole = m.now, l.definition.ControlPlane.Version
		m.lived[k] = l
	}
}

// promised holds what became of the fleet against what stages and windows promise.
func (m *mended) promised(t *rapid.T, windows bool) {
	canary := m.lived[keyOf("c0")]
	for i := range mendedClusters {
		k := keyOf(fmt.Sprint("c", i))
		target, _ := m.s.Target(k)
		l, now := m.lived[k], target.Definition
		switch {
		case !target.InGit && !m.damaged[k]:
			t.Fatalf("BrokenIsNotGone: %s", k)
		case target.Why != "", now == l.definition:
			continue
		}
		if to := now.ControlPlane.Version; to != l.definition.ControlPlane.Version {
			back, later := l.at.IsZero() && to == l.whole, l.definition.Labels["ring"] == "prod" || now.Labels["ring"] == "prod"
			if windows && !back && m.now.Hour() >= 6 {
				t.Fatalf("NoneBeginsOutsideItsWindow: %s at %s", k, m.now)
			}
			if soaked := !canary.at.IsZero() && !m.now.Before(canary.at.Add(time.Hour)); later && !back && (!soaked || canary.definition.ControlPlane.Version != to) {
				t.Fatalf("NoneBeginsBeforeTheCanaryIsDone: %s takes %s at %s, and the canary has %s, since %s; %+v", k, to, m.now, canary.definition.ControlPlane.Version, canary.at, m.s.Rollout().Stages)
			}
			l.at = time.Time{}
		}
		l.definition = now
		m.lived[k] = l
	}
	if d := m.decide(Input{}); d.StatusChanged || len(d.Changed) > 0 {
		t.Fatalf("NothingNewIsNothingToTell: %+v", d.Changed)
	}
}

// TestDamageProperties holds random histories in which files of the status branch are damaged, and put back, against what stages and windows
// promise: commits, passes, hours, suspensions, and agents that start anew, some of which get no older revision for a while.
func TestDamageProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waves := wavesOf()
		windows := rapid.Bool().Draw(t, "windows")
		if windows {
			waves.Windows = []fleet.Window{{Name: "night", Select: labels.Everything(), Schedule: nightly(6 * time.Hour)}}
		}
		relabels := rapid.Bool().Draw(t, "relabels") // then older revisions are never away, whose labels count
		if rapid.Bool().Draw(t, "no deadline") {
			waves.Stages[1].Deadline = 0
		}
		m := &mended{wavy: *provisioned(mendedClusters), lived: make(map[fleet.Key]lived), damaged: make(map[fleet.Key]bool)}
		m.all = []*fleet.Fleet{wavyFleet("1", "v1", mendedClusters, waves)}
		m.push(m.all[0])
		for _, k := range m.s.Keys() {
			target, _ := m.s.Target(k)
			m.lived[k] = lived{definition: target.Definition, at: m.now.Add(-time.Hour), whole: "v1"}
		}
		for step := range rapid.IntRange(5, 40).Draw(t, "steps") {
			m.now = m.now.Add(time.Minute)
			k := keyOf(fmt.Sprint("c", rapid.IntRange(0, mendedClusters-1).Draw(t, "cluster")))
			switch rapid.IntRange(0, 16).Draw(t, "what") {
			case 0, 1:
				version := fmt.Sprint("v", rapid.IntRange(1, 3).Draw(t, "version"))
				m.pushes(fmt.Sprint(step+2), version, waves, relabels && rapid.Bool().Draw(t, "relabelled"), rapid.IntRange(0, 20).Draw(t, "broken"))
			case 2, 3:
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "time")) * 40 * time.Minute)
				m.decide(Input{})
			case 4:
				m.starts(false)
			case 5:
				m.starts(true)
			case 6, 7:
				m.damaged[k] = true
				m.starts(rapid.IntRange(0, 3).Draw(t, "both") == 0)
			case 8:
				m.repairs(k)
			case 9:
				delete(m.damaged, k)
				m.starts(false)
			case 10:
				m.away = !m.away && !relabels
				m.starts(false)
			case 11:
				m.suspended = []fleet.Request{{Kind: fleet.RequestSuspend, Cluster: k, At: m.now, Answer: fleet.Answer{State: fleet.RequestAccepted}}}
				m.decide(Input{Requests: &Requests{List: m.suspended}})
			case 12:
				m.suspended = nil
				m.decide(Input{Requests: &Requests{}})
			default:
				m.rests(k)
			}
			m.promised(t, windows)
		}
		m.ends(t, waves, windows)
	})
}

// ends has people put all right, and nights pass in which nothing goes wrong.
func (m *mended) ends(t *rapid.T, waves fleet.Waves, windows bool) {
	m.away, m.suspended = false, nil
	for _, k := range m.s.Keys() {
		m.repairs(k)
	}
	m.starts(false)
	m.pushes("99", "v9", waves, false, 20)
	for range 60 {
		for _, k := range m.s.Keys() {
			m.promised(t, windows)
			m.rests(k)
		}
		m.now = m.now.Add(2 * time.Hour)
		m.decide(Input{})
	}
	for k, l := range m.lived {
		if l.definition.ControlPlane.Version != "v9" {
			t.Fatalf("AllEnds: %s has %s; %+v", k, l.definition.ControlPlane.Version, m.s.Rollout().Stages)
		}
	}
}

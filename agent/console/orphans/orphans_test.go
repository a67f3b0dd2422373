package orphans

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/sources/status"
)

// sweeping is a provider with orphans. Those that something else is in the way
// of cannot be removed before it.
type sweeping struct {
	providers.Infrastructure
	orphans  []fleet.Orphan
	after    map[string]string // id → what is in its way
	removed  []string
	unseen   error       // what could not be looked at
	asked    []fleet.Key // clusters that were given
	settling time.Duration
}

func (s *sweeping) Abilities() providers.Abilities { return providers.Abilities{OrphanRemover: s} }

func (s *sweeping) Settle() time.Duration { return s.settling }

func (s *sweeping) Orphans(_ context.Context, _ fleet.ID, clusters []*fleet.Cluster) ([]fleet.Orphan, error) {
	for _, c := range clusters {
		s.asked = append(s.asked, c.Key)
	}
	return s.orphans, s.unseen
}

func (s *sweeping) RemoveOrphan(_ context.Context, _ fleet.ID, _ []*fleet.Cluster, o fleet.Orphan) error {
	for _, id := range s.removed {
		if id == s.after[o.ID] {
			delete(s.after, o.ID)
		}
	}
	if by, ok := s.after[o.ID]; ok {
		return fleet.Errorf(fleet.Conflict, "remove "+o.ID, "%s is in the way", by)
	}
	s.removed = append(s.removed, o.ID)
	return nil
}

func TestScan(t *testing.T) {
	now := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	running, making, gone := fleet.Key{Namespace: "prod", Name: "running"}, fleet.Key{Namespace: "prod", Name: "making"}, fleet.Key{Namespace: "prod", Name: "gone"}
	orphan := func(id string, k fleet.Key, age time.Duration) fleet.Orphan {
		o := fleet.Orphan{Provider: "p", Kind: "port", ID: id, Name: id, Cluster: k, Reason: "a reason"}
		if age > 0 {
			o.Created = now.Add(-age)
		}
		return o
	}
	p := &sweeping{settling: time.Minute, after: map[string]string{"first": "of nobody"}, orphans: []fleet.Orphan{
		orphan("first", running, time.Hour),
		orphan("of unknown age", running, 0),
		orphan("young", running, time.Second),
		orphan("of one being made", making, time.Hour),
		orphan("of one that vanished", gone, time.Hour),
		orphan("of nobody", fleet.Key{Namespace: "prod", Name: "forgotten"}, time.Hour),
	}}
	s := &Scan{
		id: "f", providers: []string{"p", "q"},
		clusters: map[string][]*fleet.Cluster{"p": {{Key: running}}},
		settled:  map[fleet.Key]bool{running: true, making: false}, gone: map[fleet.Key]bool{gone: true}, vanished: []fleet.Key{gone},
		open: func(name string) (providers.Infrastructure, error) {
			if name == "p" {
				return p, nil
			}
			return struct{ providers.Infrastructure }{}, nil
		},
	}
	if err := s.Look(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]fleet.Key{running}, p.asked); diff != "" {
		t.Errorf("clusters that the provider was given: -want +got:\n%s", diff)
	}
	var b bytes.Buffer
	if err := s.Write(&b, output.FormatMarkdown); err != nil {
		t.Fatal(err)
	}
	want := `| PROVIDER | PLACE | KIND | NAME | ID | CLUSTER | CREATED | REASON |
| --- | --- | --- | --- | --- | --- | --- | --- |
|  |  | cluster | gone |  | prod/gone |  | it was removed from Git without a request to delete it: not deleted |
| p |  | port | first | first | prod/running | 2026-01-31T07:00:00Z | a reason |
| p |  | port | of unknown age | of unknown age | prod/running |  | a reason |
| p |  | port | of one that vanished | of one that vanished | prod/gone | 2026-01-31T07:00:00Z | its cluster was removed from Git: the agent decides |
| p |  | port | of nobody | of nobody | prod/forgotten | 2026-01-31T07:00:00Z | a reason |

the provider q cannot look for orphans

2 things passed over: too young, or of a cluster that is being made or changed; look again later
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if errs := s.Remove(t.Context(), func(fleet.Orphan) {}); len(errs) > 0 {
		t.Error(errs)
	}
	if diff := cmp.Diff([]string{"of unknown age", "of nobody", "first"}, p.removed); diff != "" {
		t.Errorf("removed: -want +got:\n%s", diff)
	}
}

// Where clusters lived, as the status branch has it, is looked at too.
func TestScanWhereClustersLived(t *testing.T) {
	running, gone := fleet.Key{Namespace: "prod", Name: "running"}, fleet.Key{Namespace: "prod", Name: "gone"}
	lives := fleet.Residence{Provider: "p", Places: []fleet.Place{{ID: "a"}, {ID: "b", Access: "key b"}}}
	s := &Scan{clusters: map[string][]*fleet.Cluster{}, settled: map[fleet.Key]bool{}, gone: map[fleet.Key]bool{}}
	s.classify([]fleet.Cluster{{Key: running, Provider: "p"}, {Key: fleet.Key{Namespace: "prod", Name: "new"}, Provider: "p"}}, []status.Cluster{
		{Report: fleet.Report{Cluster: running, Memory: fleet.Memory{Residence: lives}, Phase: fleet.PhaseProvisioned}},
		{Report: fleet.Report{Cluster: gone, Memory: fleet.Memory{Residence: lives}}},
	}, nil)
	if diff := cmp.Diff(lives, s.clusters["p"][0].Residence); diff != "" {
		t.Errorf("the running one lives in: -want +got:\n%s", diff)
	}
	if got := s.clusters["p"][1].Residence; !got.IsZero() {
		t.Errorf("the new one lives in %+v", got)
	}
	want := []string{"cluster prod/gone, which is not in Git, was in a, b: what is there shows where clusters in Git lead there"}
	if diff := cmp.Diff(want, s.notes); diff != "" {
		t.Errorf("notes: -want +got:\n%s", diff)
	}
}

func TestScanTellsWhatStays(t *testing.T) {
	p := &sweeping{after: map[string]string{"a": "a router"}, orphans: []fleet.Orphan{{Provider: "p", Kind: "port", ID: "a"}, {Provider: "p", Kind: "port", ID: "b"}}}
	s := &Scan{providers: []string{"p"}, open: func(string) (providers.Infrastructure, error) { return p, nil }}
	if err := s.Look(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	var removed []string
	errs := s.Remove(t.Context(), func(o fleet.Orphan) { removed = append(removed, o.ID) })
	if err := errors.Join(errs...); len(errs) != 1 || !strings.Contains(err.Error(), "a router is in the way") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"b"}, removed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What one provider could not look at hides nothing of what was found.
func TestScanInPart(t *testing.T) {
	away := errors.New("Glance is away")
	p := &sweeping{unseen: away, orphans: []fleet.Orphan{{Provider: "p", Kind: "port", ID: "a"}}}
	q := &sweeping{orphans: []fleet.Orphan{{Provider: "q", Kind: "port", ID: "b"}}}
	locked := errors.New("the key is locked")
	s := &Scan{providers: []string{"p", "locked", "q"}, open: func(name string) (providers.Infrastructure, error) {
		if name == "locked" {
			return nil, locked
		}
		return map[string]*sweeping{"p": p, "q": q}[name], nil
	}}
	err := s.Look(t.Context(), time.Time{})
	if !errors.Is(err, away) || !errors.Is(err, locked) {
		t.Errorf("what could not be looked at: %v", err)
	}
	if len(s.orphans) != 2 {
		t.Errorf("orphans = %+v, want one of each that answered", s.orphans)
	}
}

// What a cluster left behind that is deleted, while Git has it, is not passed over.
func TestScanOfDeletedClusters(t *testing.T) {
	k := func(name string) fleet.Key { return fleet.Key{Namespace: "prod", Name: name} }
	s := &Scan{clusters: map[string][]*fleet.Cluster{}, settled: map[fleet.Key]bool{}, gone: map[fleet.Key]bool{}}
	var inGit []fleet.Cluster
	var recorded []status.Cluster
	for _, phase := range []fleet.Phase{fleet.PhaseDeleted, fleet.PhaseDeleting, fleet.PhaseWorkers} {
		inGit = append(inGit, fleet.Cluster{Key: k(string(phase)), Provider: "p"})
		recorded = append(recorded, status.Cluster{Report: fleet.Report{Cluster: k(string(phase)), Phase: phase}})
	}
	s.classify(inGit, recorded, nil)
	want := map[fleet.Key]bool{k("Deleted"): true, k("Deleting"): false, k("Workers"): false}
	if diff := cmp.Diff(want, s.settled); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

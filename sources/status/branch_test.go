package status_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// A branch is a sources.Branch in memory that misbehaves on demand.
type branch struct {
	mu      sync.Mutex
	log     []logged
	before  func() error // called before a commit: its error is the answer, nothing happens
	after   func() error // called after a commit has landed: its error is the answer
	commits int          // asked for
}

type logged struct {
	sources.Commit
	tree fstest.MapFS
}

type tree struct{ fstest.MapFS }

func (t tree) Digest(path string) (string, error) {
	b, err := t.ReadFile(path)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(b)), err
}

func (b *branch) head() (fleet.Revision, fstest.MapFS) {
	if len(b.log) == 0 {
		return fleet.Revision{}, fstest.MapFS{}
	}
	return fleet.Revision{Ref: "status", Digest: fmt.Sprintf("sha1:%040d", len(b.log))}, b.log[len(b.log)-1].tree
}

func (b *branch) Read(context.Context) (fleet.Revision, sources.Tree, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rev, t := b.head()
	return rev, tree{t}, nil
}

func (b *branch) Commit(_ context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commits++
	if b.before != nil {
		if err := b.before(); err != nil {
			return fleet.Revision{}, err
		}
	}
	rev, old := b.head()
	if rev != base {
		return fleet.Revision{}, fleet.Errorf(fleet.Conflict, "commit", "lost the race")
	}
	t := maps.Clone(old)
	changed := false
	for p, content := range c.Edits {
		if was, ok := t[p]; ok && content != nil && string(was.Data) == string(content) {
			continue
		}
		changed = true
		delete(t, p)
		if content != nil {
			t[p] = &fstest.MapFile{Data: content}
		}
	}
	if !changed {
		return base, nil
	}
	b.log = append(b.log, logged{c, t})
	rev, _ = b.head()
	if b.after != nil {
		if err := b.after(); err != nil {
			return fleet.Revision{}, err
		}
	}
	return rev, nil
}

// file returns a file of the head.
func (b *branch) file(t *testing.T, path string) string {
	t.Helper()
	_, fs := b.head()
	f, ok := fs[path]
	if !ok {
		t.Fatalf("no file %s", path)
	}
	return string(f.Data)
}

// last returns the newest commit.
func (b *branch) last() sources.Commit { return b.log[len(b.log)-1].Commit }

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

var eu1 = fleet.Key{Namespace: "prod", Name: "eu-1"}

// report is a cluster on its way: one of two machines has no node yet.
func report(phase fleet.Phase) fleet.Report {
	return fleet.Report{
		Cluster:  eu1,
		Revision: fleet.Revision{Ref: "main", Digest: "sha1:5b3c7e0a1f2d4c6b8a9e0f1d2c3b4a5968778695"},
		Overlay:  "clusters/prod/eu-1",
		Phase:    phase,
		Conditions: []fleet.Condition{
			{Type: "Available", Status: fleet.False, Reason: "NotAvailable", Message: "* WorkersAvailable: 0 of 1 machines"},
			{Type: "InfrastructureReady", Status: fleet.True, Reason: "Ready"},
		},
		Endpoint: fleet.Endpoint{Host: "127.0.0.2", Port: 6443},
		Provider: "inmemory",
		Version:  "v1.35.4",
		Pools: []fleet.PoolReport{
			{Name: "eu-1-cp", Role: fleet.RoleControlPlane, Version: "v1.35.4", Desired: 1, Current: 1, UpToDate: 1, Ready: 1, Available: 1},
			{Name: "eu-1-md-0", Role: fleet.RoleWorker, Version: "v1.35.4", Desired: 1, Current: 1, UpToDate: 1},
		},
		Machines: []fleet.MachineReport{
			{
				Machine: fleet.Machine{
					Name: "eu-1-cp-6k2xq", ProviderID: "inmemory:///eu-1-cp-6k2xq", Pool: "eu-1-cp", Role: fleet.RoleControlPlane,
					Template: "1-0f3a", Version: "v1.35.4", Operation: "op-1", FailureDomain: "a", State: fleet.MachineRunning,
					Created: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), Addresses: []string{"10.0.0.4"},
				},
				Phase: fleet.MachinePhaseRunning, Node: "eu-1-cp-6k2xq", Version: "v1.35.4", UpToDate: true,
				Joined:     time.Date(2026, 1, 2, 3, 1, 0, 0, time.UTC),
				Conditions: []fleet.Condition{{Type: "Ready", Status: fleet.True, Reason: "Ready"}},
			},
			{
				Machine: fleet.Machine{
					Name: "eu-1-md-0-9xw4t", Pool: "eu-1-md-0", Role: fleet.RoleWorker, Template: "1-77aa", Version: "v1.35.4",
					Operation: "op-2", State: fleet.MachinePending, Message: "waiting for capacity",
				},
				Phase: fleet.MachinePhaseProvisioning, UpToDate: true,
				Conditions: []fleet.Condition{{Type: "Ready", Status: fleet.False, Reason: "NotReady", Message: "* NodeHealthy: no node yet"}},
			},
		},
		Waiting: []string{"machine eu-1-md-0-9xw4t to become a node"},
		Memory: fleet.Memory{
			Residence: fleet.Residence{
				Provider: "inmemory", Endpoint: fleet.Endpoint{Host: "10.0.0.1", Port: 6443}, ControlPlane: fleet.InitializedOnce, Recreated: "1",
				Places: []fleet.Place{{ID: "a", Access: "key a"}, {ID: "b"}},
			},
			Clock:      fleet.Clock{Ahead: -45 * time.Minute, Since: time.Date(2026, 1, 2, 3, 0, 30, 0, time.UTC)},
			Milestones: fleet.Milestones{Began: time.Date(2026, 1, 2, 2, 59, 0, 0, time.UTC), Infrastructure: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)},
			Reboots:    []fleet.Reboot{{Machine: "eu-1-md-0-9xw4t", ProviderID: "inmemory://9", At: time.Date(2026, 1, 2, 3, 1, 0, 0, time.UTC), Retry: 1, Off: true}},
			ObservedConditions: []fleet.ObservedCondition{{
				Machine: "eu-1-md-0-9xw4t", Condition: "InfrastructureReady", Status: fleet.False, Since: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
			}, {
				Machine: "eu-1-cp-6k2xq", Condition: "Ready", Status: fleet.False, Since: time.Date(2026, 1, 2, 3, 4, 2, 0, time.UTC), Transition: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC),
			}},
		},
		Actions: []string{"CreateMachine eu-1-md-0-9xw4t: pool eu-1-md-0 has 0 of 1 machines"},
	}
}

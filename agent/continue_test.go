package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// TestStartWithRefusedTip: an agent that starts while the newest revision cannot be used
// goes on with the applied one, as the agent before did, and tells of the newest.
func TestStartWithRefusedTip(t *testing.T) {
	for name, why := range map[string]error{
		"refused":     fleet.Errorf(fleet.Invalid, "render", "fleet.yaml: spec.drift"),
		"unavailable": fleet.Errorf(fleet.Unavailable, "fetch", "no answer"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")), fleetOf("2", fleet.Prune{}, clusterOf(keyA, "2", "y")),
				fleetOf("3", fleet.Prune{}, clusterOf(keyA, "3", "z")))
			w.head = revision("2")
			w.refused[revision("2").Digest] = why
			w.record.Fleet.Applied = revision("1")
			bubble(t, w, Options{StatusBranch: "status"}, func(t *testing.T, _ *Agent) {
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := w.took(); len(got) == 0 || got[0] != "prod/a 1" {
					t.Errorf("the passes are %v", got)
				}
				if s := w.whole(); s.Applied != revision("1") || s.Revision != revision("2") || len(s.Problems) != 1 {
					t.Errorf("it tells %+v", s)
				}
				if got := w.fetches(); name == "refused" && len(got) != 2 {
					t.Errorf("a refused revision is got again: %v", got)
				}
				w.push("3")
				if got := w.took(); len(got) == 0 || got[len(got)-1] != "prod/a 3" {
					t.Errorf("once the newest can be used the passes are %v", got)
				}
			})
		})
	}
}

// TestStartFindsItsBranch: where the newest revision is refused, and fleet.yaml can name no
// branch, the status branch that has an owner is the one.
func TestStartFindsItsBranch(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	w.head, w.owner = revision("2"), fleet.Owner{Agent: "me", Epoch: 4}
	w.fleets[revision("2").Digest] = fleet.Fleet{}
	w.refused[revision("2").Digest] = fleet.Errorf(fleet.Invalid, "render", "fleet.yaml")
	w.record.Fleet.Applied = revision("1")
	p := w.parts()
	open := p.StatusBranch
	p.StatusBranch = func(name string) (StatusBranch, error) {
		if name != "fairlead/status" {
			return StatusBranch{}, errors.New("not " + name)
		}
		b, err := open("status")
		b.Locate = func(context.Context) (status.Location, error) { return status.Location{Owner: w.owner}, nil }
		return b, err
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, "the passes", w.took(), []string{"prod/a 1"})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A oneBranch is a source that follows the branch main.
type oneBranch struct{ *world }

func (oneBranch) Follows(ref string) bool { return ref == "main" }

// TestStartBesideAnotherFleet: where the newest revision is refused, the agent leaves the default branch
// alone, which has another fleet of an agent with its name and secret store, and goes on with its own status,
// also if that cannot be read at first.
func TestStartBesideAnotherFleet(t *testing.T) {
	for reason, c := range map[string]struct {
		other fleet.Revision // that the other fleet applied last
		away  time.Duration  // of the branch with the status of this fleet
		file  string         // of the default branch that is damaged
	}{
		"the other fleet has the same source":                             {other: revision("1")},
		"the other fleet has another source, and the own branch was away": {other: revision("9"), away: 10 * time.Second},
		"the other fleet is on another branch of the same source":         {other: fleet.Revision{Ref: "prod", Digest: revision("3").Digest}},
		"who owns the other fleet cannot be read":                         {file: "owner.yaml"},
		"where the other fleet was moved cannot be read":                  {file: "moved.yaml"},
	} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
			w.head, w.owner = revision("2"), fleet.Owner{Agent: "me", Epoch: 4}
			w.fleets[revision("2").Digest] = fleet.Fleet{}
			w.refused[revision("2").Digest] = fleet.Errorf(fleet.Invalid, "render", "fleet.yaml")
			w.record.Fleet.Applied = revision("1")
			w.fleets[revision("3").Digest] = fleet.Fleet{ID: "other", Revision: revision("3")}
			p := w.parts()
			p.Source = oneBranch{w}
			open := p.StatusBranch
			used := make(map[string]bool)
			synctest.Test(t, func(t *testing.T) {
				back := time.Now().Add(c.away)
				p.StatusBranch = func(name string) (StatusBranch, error) {
					b, err := open("status")
					b.Locate = func(context.Context) (status.Location, error) {
						switch {
						case name != "f/state" && c.file != "":
							return status.Locate(fstest.MapFS{
								c.file: {Data: []byte("<<<<<<< HEAD\n")}, "signposts/f.yaml": {Data: []byte("apiVersion: fairlead.dev/v1alpha1\nkind: Signpost\nbranch: f/state\n")},
							})
						case name != "f/state":
							return status.Location{Owner: w.owner, Fleet: "other", Applied: c.other, Signposts: map[fleet.ID]string{"f": "f/state"}}, nil
						case time.Now().Before(back):
							return status.Location{}, fleet.Errorf(fleet.Unavailable, "read", "502 Bad Gateway")
						}
						return status.Location{Owner: w.owner, Fleet: "f", Applied: revision("1")}, nil
					}
					read := b.Read
					b.Read = func(ctx context.Context) (status.Status, error) {
						w.mu.Lock()
						used[name] = true
						w.mu.Unlock()
						return read(ctx)
					}
					return b, err
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
				time.Sleep(time.Minute)
				synctest.Wait()
				expect(t, "the passes", w.took(), []string{"prod/a 1"})
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			if used["fairlead/status"] || !used["f/state"] {
				t.Errorf("the status is read on %v", used)
			}
		})
	}
}

// TestStartBesideASilentFleet: a new fleet waits some minutes for an agent that owns the default branch
// and does not say which fleet it has.
func TestStartBesideASilentFleet(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	p := w.parts()
	open := p.StatusBranch
	p.StatusBranch = func(name string) (StatusBranch, error) {
		b, err := open("status")
		b.Locate = func(context.Context) (l status.Location, err error) {
			if name == "fairlead/status" {
				l.Owner = fleet.Owner{Agent: "other", Place: "there", Epoch: 2}
			}
			return l, nil
		}
		return b, err
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
		time.Sleep(14 * time.Minute)
		expect(t, "the passes of the first minutes", w.took(), []string(nil))
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		expect(t, "the passes", w.took(), []string{"prod/a 1"})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestStartWithDamagedMove: an agent does not act by the old status of a branch whose moved.yaml is
// damaged, and does by a branch whose owner.yaml is.
func TestStartWithDamagedMove(t *testing.T) {
	for file, passes := range map[string][]string{"moved.yaml": nil, "owner.yaml": {"prod/a 1"}} {
		w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
		p := w.parts()
		open := p.StatusBranch
		p.StatusBranch = func(string) (StatusBranch, error) {
			b, err := open("status")
			b.Locate = func(context.Context) (status.Location, error) {
				files := fstest.MapFS{"owner.yaml": {Data: []byte("apiVersion: fairlead.dev/v1alpha1\nkind: Owner\nagent: me\nepoch: 1\n")}}
				files[file] = &fstest.MapFile{Data: []byte("<<<<<<< HEAD\n")}
				return status.Locate(files)
			}
			return b, err
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
			time.Sleep(time.Minute)
			synctest.Wait()
			expect(t, file, w.took(), passes)
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// A signedWorld is a source with trusted keys, whose newest revision does not continue the applied one.
type signedWorld struct{ *world }

func (signedWorld) Signed() bool { return true }

func (signedWorld) Continues(context.Context, fleet.Revision, fleet.Revision) error {
	return fleet.Errorf(fleet.Invalid, "follow", "%w", sources.ErrUntrusted)
}

func (signedWorld) Includes(context.Context, fleet.Revision, fleet.Revision) error { return nil }

// TestStrayRevisionMovesNothing: the status is not moved for a revision that does not continue the one
// that was followed, and is for one that does.
func TestStrayRevisionMovesNothing(t *testing.T) {
	for _, strays := range []bool{false, true} {
		w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
		p := w.parts()
		if strays {
			p.Source = signedWorld{w}
		}
		open := p.StatusBranch
		moves := 0
		p.StatusBranch = func(name string) (StatusBranch, error) {
			b, err := open("status")
			b.Locate = func(context.Context) (l status.Location, err error) {
				if name == "fairlead/status" {
					l = status.Location{Owner: fleet.Owner{Agent: "me", Epoch: 2}, Fleet: "f", Applied: revision("0")}
				}
				return l, nil
			}
			b.MoveTo = func(context.Context, string) error {
				moves++
				return fleet.Errorf(fleet.Unavailable, "move", "not here")
			}
			return b, err
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
			time.Sleep(time.Minute)
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		if (moves == 0) != strays {
			t.Errorf("strays %v: the status is moved %d times", strays, moves)
		}
	}
}

// A datedWorld is a signedWorld whose server dropped the applied revision: what continues it is known
// only if somebody remembers when that was made.
type datedWorld struct {
	signedWorld

	made map[fleet.Revision]time.Time
}

func (w datedWorld) Continues(_ context.Context, from, _ fleet.Revision) error {
	if w.Made(from).IsZero() {
		return fleet.Errorf(fleet.NotFound, "follow", "the artifact cannot be had")
	}
	return nil
}

func (w datedWorld) Made(rev fleet.Revision) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made[rev]
}

func (w datedWorld) Remember(rev fleet.Revision, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made[rev] = at
}

// TestAppliedRevisionIsDropped: an agent that starts after the registry dropped the applied artifact
// follows the newest one, since the status says when the applied one was made. It moves the status by it,
// and writes the time of the newest one.
func TestAppliedRevisionIsDropped(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		flag string // --status-branch: then the status is not moved
		made time.Time
	}{
		"the time is in the status":                          {made: at},
		"the time is in the status, a flag names its branch": {flag: "status", made: at},
		"the time is not in the status":                      {},
	} {
		t.Run(name, func(t *testing.T) {
			made := c.made
			w := newWorld(fleetOf("0", fleet.Prune{}), fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
			w.head = revision("1")
			w.record.Fleet.Applied, w.record.Fleet.AppliedMade = revision("0"), made
			p := w.parts()
			p.Source = datedWorld{signedWorld{w}, map[fleet.Revision]time.Time{revision("1"): at.Add(time.Hour)}}
			open := p.StatusBranch
			moved := false
			p.StatusBranch = func(name string) (StatusBranch, error) {
				b, err := open("status")
				b.Locate = func(context.Context) (l status.Location, err error) {
					if name == "fairlead/status" && !moved && c.flag == "" {
						l = status.Location{Owner: fleet.Owner{Agent: "me", Epoch: 2}, Fleet: "f", Applied: revision("0"), AppliedMade: made}
					}
					return l, nil
				}
				b.MoveTo = func(context.Context, string) error {
					moved = true
					return nil
				}
				return b, err
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- New(w.options(Options{StatusBranch: c.flag}), p).Run(ctx) }()
				time.Sleep(time.Minute)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			if known := !made.IsZero(); moved != (known && c.flag == "") || (len(w.took()) > 0) != known {
				t.Errorf("the status was moved: %v, passes: %v", moved, w.took())
			}
			if got := w.whole(); !made.IsZero() && !got.AppliedMade.Equal(at.Add(time.Hour)) {
				t.Errorf("the status is %+v", got)
			}
		})
	}
}

// TestSignpost: the owner of a fleet that names its own status branch says so on the default branch,
// once, and tries again after an error. It does not if a flag names the branch.
func TestSignpost(t *testing.T) {
	for name, c := range map[string]struct {
		flag   string
		silent bool // the status branch cannot be read once the agent has begun
		want   int
	}{
		"its own branch":      {want: 2},
		"a flag":              {flag: "status"},
		"an empty repository": {silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleetOf("1", fleet.Prune{})
			w := newWorld(f)
			p := w.parts()
			open := p.StatusBranch
			var calls []fleet.ID
			p.StatusBranch = func(string) (StatusBranch, error) {
				b, err := open("status")
				b.Locate = func(context.Context) (status.Location, error) {
					if begun := len(w.took()) > 0 || w.whole().Revision != (fleet.Revision{}); c.silent && begun {
						return status.Location{}, fleet.Errorf(fleet.Unavailable, "read", "the repository has no branch at all")
					}
					return status.Location{Owner: fleet.Owner{Agent: "ops"}}, nil
				}
				b.Signpost = func(_ context.Context, id fleet.ID) error {
					if calls = append(calls, id); len(calls) == 1 {
						return fleet.Errorf(fleet.Unavailable, "commit", "no answer")
					}
					return nil
				}
				return b, err
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- New(w.options(Options{StatusBranch: c.flag}), p).Run(ctx) }()
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if len(calls) != c.want {
					t.Errorf("in ten minutes it is written %q", calls)
				}
				time.Sleep(20 * time.Minute)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			// People may have deleted it meanwhile.
			if again := len(calls) > c.want; again != (c.want > 0) || c.want > 0 && calls[0] != f.ID {
				t.Errorf("in half an hour it is written %q", calls)
			}
		})
	}
}

// TestStartWithDamagedFleetFile: a damaged fleet.yaml on the status branch stops no start,
// and a cluster that Git does not have is not taken for one that vanished just now.
func TestStartWithDamagedFleetFile(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{Enabled: true, Limit: 5}, clusterOf(keyA, "1", "x")), fleetOf("0", fleet.Prune{}, clusterOf(keyB, "0", "x")))
	w.record = told(fleet.PhaseProvisioned)
	p := w.parts()
	open := p.StatusBranch
	p.StatusBranch = func(name string) (StatusBranch, error) {
		b, err := open(name)
		b.Read = func(context.Context) (status.Status, error) {
			return w.record, &status.FleetDamage{Err: errors.New("rubbish")}
		}
		return b, err
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		expect(t, "the passes", w.took(), []string{"prod/a 1"})
		expect(t, "the orphans", w.whole().Orphans, []fleet.Key{keyB})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestDeletedFleetFileDeletesNoCluster: people delete fleet.yaml of the status branch, as an error advises where keys say who may push. A cluster
// that left Git before, and was left alone, stays alone, although fleet.yaml says to prune.
func TestDeletedFleetFileDeletesNoCluster(t *testing.T) {
	left := status.Cluster{Report: fleet.Report{Cluster: keyC, Phase: fleet.PhaseProvisioned, Digest: "x", Overlay: "clusters/prod/c", Revision: revision("0")}}
	for name, file := range map[string]sources.FleetStatus{
		"it is there":   {Fleet: "f", Applied: revision("1"), Orphans: []fleet.Key{keyC}},
		"it is deleted": {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(fleetOf("1", fleet.Prune{Enabled: true, Limit: 5}, clusterOf(keyB, "1", "x")), fleetOf("0", fleet.Prune{}, clusterOf(keyC, "0", "x")))
			w.record = status.Status{Fleet: file, Clusters: []status.Cluster{left}}
			bubble(t, w, Options{}, func(t *testing.T, _ *Agent) {
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				took := w.took()
				if len(took) == 0 {
					t.Error("no cluster had a pass")
				}
				for _, pass := range took {
					if strings.HasPrefix(pass, keyC.String()+" ") {
						t.Fatalf("the cluster that was left alone had a pass: %s", pass)
					}
				}
			})
		})
	}
}

// TestStartWithoutSignpost: a fleet whose own branch accepts pushes, and has no owner, is claimed although the default branch accepts no
// signpost: at once if the agent may not push there, and otherwise after some minutes.
func TestStartWithoutSignpost(t *testing.T) {
	for kind, within := range map[fleet.ErrorKind]time.Duration{fleet.Unauthorized: time.Minute, fleet.Unavailable: 15 * time.Minute, fleet.Exhausted: 15 * time.Minute} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
			p := w.parts()
			p.Place = func(context.Context) (string, error) { return "here", nil }
			open := p.StatusBranch
			p.StatusBranch = func(string) (StatusBranch, error) {
				b, err := open("status")
				b.Locate = func(context.Context) (status.Location, error) { return status.Location{}, nil }
				b.Post = func(context.Context, fleet.ID, string, fleet.Owner) error {
					return fleet.Errorf(kind, "commit to branch fairlead/status", "the server's words")
				}
				return b, err
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
				time.Sleep(within)
				synctest.Wait()
				if len(w.took()) == 0 {
					t.Errorf("no cluster had a pass within %s", within)
				}
				cancel()
				<-done
			})
		})
	}
}

// TestSignpostIsTriedAgain: a start that waited long for another reason gives up no signpost for one push that failed.
func TestSignpostIsTriedAgain(t *testing.T) {
	w := newWorld(fleetOf("1", fleet.Prune{}, clusterOf(keyA, "1", "x")))
	p := w.parts()
	p.Place = func(context.Context) (string, error) { return "here", nil }
	open := p.StatusBranch
	posts := 0
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p.StatusBranch = func(string) (StatusBranch, error) {
			b, err := open("status")
			b.Locate = func(context.Context) (status.Location, error) {
				if time.Since(began) < 10*time.Minute {
					return status.Location{}, fleet.Errorf(fleet.Unavailable, "read", "no answer")
				}
				return status.Location{}, nil
			}
			b.Post = func(context.Context, fleet.ID, string, fleet.Owner) error {
				if posts++; posts == 1 {
					return fleet.Errorf(fleet.Unavailable, "commit to branch fairlead/status", "no answer")
				}
				return nil
			}
			return b, err
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(w.options(Options{}), p).Run(ctx) }()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if posts != 2 || len(w.took()) == 0 {
			t.Errorf("%d signposts were tried, and passes were %q", posts, w.took())
		}
		cancel()
		<-done
	})
}

package status_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/dir"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
)

// served returns an empty repository's folder and its address.
func served(t testing.TB, o gitserver.Options) (bare, url string) {
	t.Helper()
	s, err := gitserver.New(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	if bare, err = s.Init("fleet.git"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return bare, srv.URL + "/fleet.git"
}

func gitBranch(t testing.TB, url string) *git.Branch {
	t.Helper()
	r, err := git.New(git.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Branch("fairlead/status", git.BranchOptions{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Safety, on a real server and in a folder: exactly one owner, the epoch grows
// by one.
func TestOneOwnerForReal(t *testing.T) {
	t.Run("server", func(t *testing.T) {
		_, url := served(t, gitserver.Options{})
		oneOwner(t, each{func() sources.Branch { return gitBranch(t, url) }})
	})
	t.Run("folder", func(t *testing.T) {
		root := t.TempDir()
		oneOwner(t, each{func() sources.Branch {
			f, err := dir.New(dir.Options{Path: root})
			if err != nil {
				t.Error(err)
			}
			return f.Branch()
		}})
	})
}

// Agents on a real server that write their own clusters, race for each commit
// and none is lost.
func TestWritersRace(t *testing.T) {
	bare, url := served(t, gitserver.Options{})
	if _, err := status.NewArbiter(gitBranch(t, url)).Claim(t.Context(), "agent-a", ""); err != nil {
		t.Fatal(err)
	}
	const writers, rounds = 3, 3
	var races atomic.Int64
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			w := writer(gitBranch(t, url), status.Options{Observer: status.Observer{Race: func(error) { races.Add(1) }}})
			for round := range rounds {
				r := report(fleet.PhaseWorkers)
				r.Cluster.Name = fmt.Sprintf("eu-%d", i)
				r.Waiting = []string{fmt.Sprintf("round %d", round)}
				w.Put(r)
				if _, err := w.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := run(t, "-C", bare, "rev-list", "--count", "fairlead/status"); got != "10" {
		t.Errorf("%s commits, want 10", got)
	}
	if races.Load() == 0 {
		t.Error("nobody raced: the test shows nothing")
	}
	_, tr, err := gitBranch(t, url).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := status.Read(tr)
	if err != nil || len(s.Clusters) != writers {
		t.Fatalf("%d clusters, %v", len(s.Clusters), err)
	}
	for _, c := range s.Clusters {
		if diff := cmp.Diff([]string{"round 2"}, c.Report.Waiting); diff != "" {
			t.Error(diff)
		}
	}
	if got := strings.Count(run(t, "-C", bare, "show", "fairlead/status:fleet.yaml"), "message: waiting for round 2"); got != writers {
		t.Errorf("fleet.yaml has %d of the newest lines", got)
	}
}

// Killed between push and answer: the next writer finds what landed and makes
// no second commit.
func TestKilledAfterPush(t *testing.T) {
	var kill atomic.Bool
	bare, url := served(t, gitserver.Options{After: func(w http.ResponseWriter, _ *http.Request) {
		if kill.Load() {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
		_, _ = w.Write([]byte("0030\x01000eunpack ok\n0019ok refs/heads/x\n0000" + "0000"))
	}})
	if err := commitOwner(t, bare, url); err != nil {
		t.Fatal(err)
	}
	kill.Store(true)
	w := writer(gitBranch(t, url), status.Options{})
	w.Put(report(fleet.PhaseWorkers))
	rev, err := w.Flush(t.Context())
	if err != nil || rev.Digest != "sha1:"+run(t, "-C", bare, "rev-parse", "fairlead/status") {
		t.Errorf("flush gives %v, %v", rev, err)
	}
	next := writer(gitBranch(t, url), status.Options{})
	next.Put(report(fleet.PhaseWorkers))
	if _, err := next.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if got := run(t, "-C", bare, "rev-list", "--count", "fairlead/status"); got != "2" {
		t.Errorf("%s commits, want 2", got)
	}
}

// commitOwner makes agent-a the owner by another way than the server.
func commitOwner(t *testing.T, bare, _ string) error {
	_, err := status.NewArbiter(gitBranch(t, "file://"+bare)).Claim(t.Context(), "agent-a", "")
	return err
}

// testdata/example.md shows what a real branch holds.
func TestDocs(t *testing.T) {
	bare, url := served(t, gitserver.Options{})
	if _, err := status.NewArbiter(gitBranch(t, url)).Claim(t.Context(), "agent-a", ""); err != nil {
		t.Fatal(err)
	}
	w := writer(gitBranch(t, url), status.Options{})
	w.PutFleet(sources.FleetStatus{
		Fleet: "demo", Revision: report("").Revision,
		Problems: []fleet.Problem{{
			Overlay: "clusters/dev/us-1", Cluster: fleet.Key{Namespace: "dev", Name: "us-1"}, File: "clusters/dev/us-1/cluster.yaml",
			Object: "Cluster dev/us-1", Field: "spec.paussed", Message: "unknown field", Hint: "did you mean paused?",
		}},
		Orphans: []fleet.Key{{Namespace: "dev", Name: "old"}},
	})
	r := report(fleet.PhaseControlPlane)
	r.Machines, r.Actions = r.Machines[:1], []string{"CreateMachine eu-1-cp-6k2xq: pool eu-1-cp has 0 of 1 machines"}
	w.Put(r)
	flush(t, w)
	w.Put(report(fleet.PhaseWorkers))
	flush(t, w)
	doc, err := os.ReadFile(filepath.FromSlash("testdata/example.md"))
	if err != nil && !*update {
		t.Fatal(err)
	}
	got := string(doc)
	for mark, content := range map[string]string{
		"log":     run(t, "-C", bare, "log", "--date=iso-strict", "--format=%an, %cd%n%n%w(0,4,4)%B", "fairlead/status"),
		"cluster": run(t, "-C", bare, "show", "fairlead/status:clusters/prod/eu-1.yaml"),
		"fleet":   run(t, "-C", bare, "show", "fairlead/status:fleet.yaml"),
		"owner":   run(t, "-C", bare, "show", "fairlead/status:owner.yaml"),
	} {
		got = replaceBlock(t, got, mark, content)
	}
	golden(t, filepath.FromSlash("testdata/example.md"), got)
}

// replaceBlock puts content between "<!-- begin mark -->" and "<!-- end mark -->".
func replaceBlock(t *testing.T, doc, mark, content string) string {
	t.Helper()
	begin, end := "<!-- begin "+mark+" -->\n", "<!-- end "+mark+" -->"
	before, rest, ok := strings.Cut(doc, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("testdata/example.md has no place for %s", mark)
	}
	var lines []string
	for l := range strings.Lines(content) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	return before + begin + "```\n" + strings.Join(lines, "\n") + "\n```\n" + end + after
}

// BenchmarkFlush is one changed cluster in a fleet of 1,000.
func BenchmarkFlush(b *testing.B) {
	br := &branch{}
	if _, err := status.NewArbiter(br).Claim(b.Context(), "agent-a", ""); err != nil {
		b.Fatal(err)
	}
	w := writer(br, status.Options{})
	for i := range 1000 {
		r := report(fleet.PhaseProvisioned)
		r.Cluster.Name = fmt.Sprintf("c%d", i)
		w.Put(r)
	}
	if _, err := w.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		r := report(fleet.PhaseProvisioned)
		r.Cluster.Name, r.Waiting = "c7", []string{fmt.Sprint(i)}
		w.Put(r)
		if _, err := w.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart is the first flush of an agent on a branch with 1,000 clusters.
func BenchmarkStart(b *testing.B) {
	br := &branch{}
	if _, err := status.NewArbiter(br).Claim(b.Context(), "agent-a", ""); err != nil {
		b.Fatal(err)
	}
	first := writer(br, status.Options{})
	for i := range 1000 {
		r := report(fleet.PhaseProvisioned)
		r.Cluster.Name = fmt.Sprintf("c%d", i)
		first.Put(r)
	}
	if _, err := first.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := writer(br, status.Options{}).Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestEmptyRepository: a repository without any branch, as during a restore, is no answer
// about a branch that it had before.
func TestEmptyRepository(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "fleet.git")
	run(t, "init", "--quiet", "--bare", bare)
	b := gitBranch(t, "file://"+bare)
	a := status.NewArbiter(b)
	owner, err := a.Claim(t.Context(), "agent-a", "")
	if err == nil {
		_, err = a.Owner(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(bare, bare+".full"); err != nil {
		t.Fatal(err)
	}
	run(t, "init", "--quiet", "--bare", bare)
	if _, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{}); err != nil { // refs of a moment before are not shared
		t.Fatal(err)
	}
	if _, _, err := b.Read(t.Context()); fleet.KindOf(err) != fleet.Unavailable || !strings.Contains(err.Error(), "had this one before") {
		t.Errorf("an empty repository gives %v", err)
	}
	if err := errors.Join(os.RemoveAll(bare), os.Rename(bare+".full", bare)); err != nil {
		t.Fatal(err)
	}
	if now, err := a.Owner(t.Context()); err != nil || now != owner {
		t.Errorf("then the owner is %+v, %v", now, err)
	}
}

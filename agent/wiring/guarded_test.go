package wiring

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"fairlead.dev/agent"
	"fairlead.dev/agent/observability/metrics"
	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/git/gitserver"
)

var errDeposed = errors.New("another replica leads")

// repository returns the URL of a new bare repository behind a real server.
func repository(t *testing.T) string {
	t.Helper()
	s, err := gitserver.New(t.TempDir(), gitserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Init("fleet.git"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL + "/fleet.git"
}

// Two replicas are one owner to Git: only the guard keeps the one that led until
// now from writing what it saw over what the new leader saw.
func TestDeposedReplicaWritesNoStatus(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	for name, settings := range map[string]Settings{
		"on the connection of the source": {Source: repository(t)},
		"in another repository":           {Source: repository(t), StatusRepository: repository(t)},
		"beside a folder":                 {Source: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			settings.Log = slog.New(slog.DiscardHandler)
			m := metrics.New("v0")
			var deposed error
			open := func(guard func() error) agent.StatusBranch {
				source, err := settings.OpenSource()
				if err != nil {
					t.Fatal(err)
				}
				l, err := settings.statusBranches(source, guard, m)("fairlead/status")
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			before, after := open(func() error { return deposed }), open(nil)
			owner, err := before.Arbiter.Claim(ctx, "fairlead", "")
			if err != nil {
				t.Fatal(err)
			}
			write := func(l agent.StatusBranch, phase fleet.Phase) error {
				w := l.Writer(owner, nil)
				w.Put(fleet.Report{Cluster: key, Phase: phase})
				_, err := w.Flush(ctx)
				return err
			}
			if err := write(before, fleet.PhaseControlPlane); err != nil {
				t.Fatalf("the leader cannot write: %v", err)
			}
			if err := write(after, fleet.PhaseProvisioned); err != nil {
				t.Fatalf("the new leader cannot write: %v", err)
			}
			deposed = errDeposed
			if err := write(before, fleet.PhaseDeleting); !errors.Is(err, errDeposed) {
				t.Errorf("the deposed replica wrote status: %v", err)
			}
			if _, err := before.Arbiter.HandOver(ctx, owner, "elsewhere", ""); !errors.Is(err, errDeposed) {
				t.Errorf("the deposed replica handed the fleet over: %v", err)
			}
			s, err := before.Read(ctx)
			if err != nil {
				t.Fatalf("the deposed replica cannot read: %v", err)
			}
			c, _ := s.Cluster(key)
			if c.Report.Phase != "Provisioned" || s.Owner.Agent != "fairlead" {
				t.Errorf("the status is %s of %s, not what the new leader wrote", c.Report.Phase, s.Owner.Agent)
			}
		})
	}
}

func TestDeposedReplicaWritesNoEscrow(t *testing.T) {
	key := fleet.Key{Namespace: "prod", Name: "eu-1"}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]fleet.Escrow{
		"a branch": {Branch: "fairlead/escrow"},
		"a folder": {Folder: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			e.Recipients = []string{id.Recipient().String()}
			s := Settings{Source: repository(t), Log: slog.New(slog.DiscardHandler)}
			store := secrets.NewMemory()
			data := fleet.SecretData{fleet.KubeconfigKey: fleet.NewSecret([]byte("x"))}
			if err := store.Replace(ctx, key, fleet.Kubeconfig, data); err != nil {
				t.Fatal(err)
			}
			deposed := errDeposed
			k, err := s.escrow(&Runtime{Secrets: store}, func() error { return deposed })("f", e)
			if err != nil {
				t.Fatal(err)
			}
			if behind, err := k.Keep(ctx, []fleet.Key{key}, nil); !errors.Is(err, errDeposed) || len(behind) != 1 {
				t.Errorf("the deposed replica wrote the escrow: %v behind, %v", behind, err)
			}
			if n := filesIn(t, s, e); n != 0 {
				t.Errorf("there are %d files in the escrow", n)
			}
			deposed = nil
			if behind, err := k.Keep(ctx, []fleet.Key{key}, nil); err != nil || len(behind) > 0 {
				t.Errorf("the leader cannot write the escrow: %v behind, %v", behind, err)
			}
			if filesIn(t, s, e) == 0 {
				t.Error("the leader wrote nothing")
			}
		})
	}
}

// filesIn returns how many files are in an escrow.
func filesIn(t *testing.T, s Settings, e fleet.Escrow) int {
	t.Helper()
	p, err := s.OpenEscrow(e)
	if err != nil {
		t.Fatal(err)
	}
	now, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = fs.WalkDir(now, ".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An agent that is told from the start that it does not lead claims nothing.
func TestDeposedReplicaClaimsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := Settings{Built: builtIn(), Source: t.TempDir(), Secrets: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	m := metrics.New("v0")
	w, err := OpenRuntime(ctx, s, ReadWrite, m)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, err := NewAgent(s, agent.Options{
		Name: "fairlead", Interval: time.Minute, Workers: 1, StatusBranch: "fairlead/status",
		Guard: func() error { return errDeposed },
	}, w, m)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	said := "not known yet"
	for strings.Contains(said, "not known yet") {
		page := httptest.NewRecorder()
		a.Ready().ServeHTTP(page, httptest.NewRequestWithContext(ctx, http.MethodGet, "/readyz", http.NoBody))
		said = page.Body.String()
	}
	if !strings.Contains(said, errDeposed.Error()) {
		t.Errorf("it says %q, not that another leads", said)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	now, err := s.ReadStatus(t.Context(), "fairlead/status")
	if err != nil || now.Owner.Agent != "" {
		t.Errorf("the owner is %q, %v", now.Owner.Agent, err)
	}
}

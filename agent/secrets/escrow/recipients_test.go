package escrow

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/agent/secrets"
	"fairlead.dev/fleet"
)

// A lame store cannot read one secret of a cluster for a while, or lost all of them.
type lame struct {
	*secrets.Memory
	fails, lost bool
}

func (l *lame) Get(ctx context.Context, c fleet.Key, name fleet.SecretName) (fleet.SecretData, error) {
	if l.fails && c == eu2 && name == fleet.ClusterCA {
		return nil, fleet.Errorf(fleet.Unknown, "get", "eu-2-ca is damaged")
	}
	if l.lost && c == eu2 {
		return nil, fleet.Errorf(fleet.NotFound, "get", "it is not stored")
	}
	return l.Memory.Get(ctx, c, name)
}

// opens reports which entries an identity opens.
func opens(t *testing.T, p Place, identity fleet.Secret) []string {
	t.Helper()
	e, err := Open(t.Context(), p, identity)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range e.Entries {
		if entry.Problem == "" {
			names = append(names, entry.Name)
		}
	}
	return names
}

// Once the escrow is for another recipient, all of it is. While the secrets of one cluster
// cannot be read, all other files change, that one is behind, and its error says so.
func TestRecipientsChangeWhileOneClusterFails(t *testing.T) {
	for name, tc := range map[string]struct {
		ails func(*lame, bool)
		says string
	}{
		"damaged": {func(l *lame, on bool) { l.fails = on }, "eu-2-ca is damaged"},
		"lost":    {func(l *lame, on bool) { l.lost = on }, "the secrets of cluster prod/eu-2"},
	} {
		t.Run(name, func(t *testing.T) {
			was, before := identity(t)
			is, after := identity(t)
			b := newMemory()
			p := Branch("escrow", b)
			s := &lame{Memory: filled(t, eu1, eu2)}
			keep(t, keeper(t, p, s, time.Now, before), eu1, eu2)
			tc.ails(s, true)
			k := keeper(t, p, s, time.Now, after)
			for range 2 { // it is told each time
				behind, err := k.Keep(t.Context(), []fleet.Key{eu1, eu2}, nil)
				if err == nil || !strings.Contains(err.Error(), tc.says) || !slices.Equal(behind, []fleet.Key{eu2}) {
					t.Fatalf("behind with %v: %v", behind, err)
				}
			}
			if got := opens(t, p, is); !slices.Equal(got, []string{"cluster prod/eu-1", "secret prod/login"}) {
				t.Errorf("the new identity opens %v", got)
			}
			if got := opens(t, p, was); !slices.Equal(got, []string{"cluster prod/eu-2"}) {
				t.Errorf("the former identity opens %v", got)
			}
			if e, err := Open(t.Context(), p, fleet.Secret{}); err != nil || len(e.Problems()) != 1 || !strings.Contains(e.Problems()[0], before) {
				t.Errorf("without an identity: %v, %v", e.Problems(), err)
			}
			tc.ails(s, false)
			keep(t, k, eu1, eu2)
			if got := opens(t, p, is); len(got) != 3 {
				t.Errorf("afterwards the new identity opens %v", got)
			}
			if got := opens(t, p, was); len(got) > 0 {
				t.Errorf("afterwards the former identity opens %v", got)
			}
			if n := len(b.commits); n != 3 {
				t.Errorf("%d commits: %q", n, b.commits)
			}
			if text := string(b.files[indexName].Data); strings.Contains(text, before) || strings.Count(text, "recipients:") != 1 {
				t.Errorf("the index of an escrow for one set of recipients:\n%s", text)
			}
		})
	}
}

// What the fleet has no more stays for its former recipients, since nobody can read it to
// encrypt it again. That is told until it is let go of, or until a person deletes the file.
func TestRecipientsChangeAfterAClusterIsGone(t *testing.T) {
	_, before := identity(t)
	is, after := identity(t)
	b := newMemory()
	p := Branch("escrow", b)
	today := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return today }
	s := filled(t, eu1, eu2)
	keep(t, keeper(t, p, s, now, before), eu1, eu2)
	keep(t, keeper(t, p, s, now, before), eu1)
	k := keeper(t, p, s, now, after)
	behind, err := k.Keep(t.Context(), []fleet.Key{eu1}, nil)
	if err == nil || !strings.Contains(err.Error(), "the secrets of cluster prod/eu-2") || !strings.Contains(err.Error(), "2026-03-31") || len(behind) > 0 {
		t.Fatalf("behind with %v: %v", behind, err)
	}
	if got := opens(t, p, is); !slices.Equal(got, []string{"cluster prod/eu-1", "secret prod/login"}) {
		t.Errorf("the new identity opens %v", got)
	}
	delete(b.files, "clusters/prod/eu-2.age")
	keep(t, k, eu1)
	if e, err := Open(t.Context(), p, is); err != nil || len(e.Entries) != 2 || len(e.Problems()) > 0 {
		t.Errorf("after its file was deleted: %+v, %v", e.Entries, err)
	}
}

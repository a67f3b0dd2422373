package escrow

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
)

// earlier makes the index of b one of an earlier version, which says of no entry for whom it is
// encrypted, and tells of other recipients.
func earlier(b *memory, recipients map[string]string) {
	text := strings.Replace(string(b.files[indexName].Data), "# An entry without recipients is encrypted for those of the index.\n", "", 1)
	for was, now := range recipients {
		text = strings.ReplaceAll(text, was, now)
	}
	b.files[indexName].Data = []byte(text)
}

// TestIndexOfAnEarlierVersion: an index of an earlier version may name recipients that files are not
// encrypted for. All files that the store has are encrypted once.
func TestIndexOfAnEarlierVersion(t *testing.T) {
	was, former := identity(t)
	is, now := identity(t)
	b := newMemory()
	p := Branch("escrow", b)
	s := &lame{Memory: filled(t, eu1, eu2)}
	keep(t, keeper(t, p, s, time.Now, former), eu1, eu2)
	keep(t, keeper(t, p, s, time.Now, former), eu1) // eu-2 is gone
	earlier(b, map[string]string{former: now})
	if e, err := Open(t.Context(), p, fleet.Secret{}); err != nil || len(e.Problems()) > 0 {
		t.Errorf("without an identity: %v, %v", e.Problems(), err)
	}
	k := keeper(t, p, s, time.Now, now)
	keep(t, k, eu1)
	if got := opens(t, p, is); !slices.Equal(got, []string{"cluster prod/eu-1", "secret prod/login"}) {
		t.Errorf("the new identity opens %v", got)
	}
	if got := opens(t, p, was); !slices.Equal(got, []string{"cluster prod/eu-2"}) {
		t.Errorf("the former identity opens %v", got)
	}
	commits := len(b.commits)
	keep(t, k, eu1)
	if len(b.commits) != commits {
		t.Error("the files are encrypted again and again")
	}
}

// TestUnknownRecipientsStay: a file that the store has no content of stays one of unknown recipients,
// and that is told, until it is encrypted again.
func TestUnknownRecipientsStay(t *testing.T) {
	_, now := identity(t)
	b := newMemory()
	p := Branch("escrow", b)
	s := &lame{Memory: filled(t, eu1, eu2)}
	k := keeper(t, p, s, time.Now, now)
	keep(t, k, eu1, eu2)
	earlier(b, nil)
	s.fails = true
	for range 2 {
		behind, err := k.Keep(t.Context(), []fleet.Key{eu1, eu2}, nil)
		if err == nil || !slices.Equal(behind, []fleet.Key{eu2}) {
			t.Fatalf("behind with %v: %v", behind, err)
		}
	}
	if got := strings.Count(string(b.files[indexName].Data), "- unknown\n"); got != 1 {
		t.Errorf("the index has %d files of unknown recipients:\n%s", got, b.files[indexName].Data)
	}
	s.fails = false
	keep(t, k, eu1, eu2)
	if strings.Contains(string(b.files[indexName].Data), "unknown") {
		t.Errorf("the index is\n%s", b.files[indexName].Data)
	}
}

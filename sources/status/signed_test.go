package status_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A key signs in clear, for tests.
type key string

func (k key) sign(content []byte) (string, error) { return string(k) + ": " + string(content), nil }

// verify believes ada and the agents a and b.
func verify(content []byte, signature string) (string, error) {
	for _, k := range []key{"ada", "a", "b"} {
		if signature == string(k)+": "+string(content) {
			return string(k), nil
		}
	}
	return "", errors.New("it is not signed")
}

func arbiterOf(b sources.Branch, k key) *status.Arbiter {
	a := status.NewArbiter(b)
	a.Sign, a.Verify = k.sign, verify
	return a
}

const ownerPath = "owner.yaml"

func contentOf(t *testing.T, b sources.Branch, path string) string {
	t.Helper()
	_, tree, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f, err := tree.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var s strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		s.Write(buf[:n])
		if err != nil {
			return s.String()
		}
	}
}

func put(t *testing.T, b sources.Branch, path, text string) {
	t.Helper()
	head, _, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var content []byte
	if text != "" {
		content = []byte(text)
	}
	if _, err := b.Commit(t.Context(), head, sources.Commit{Message: "mallory", Edits: map[string][]byte{path: content}}); err != nil {
		t.Fatal(err)
	}
}

// TestSignedOwner: where keys say who may ask, who has none of them changes no owner: what
// is not signed, damaged, gone, or older than what was there is not believed, and put back.
func TestSignedOwner(t *testing.T) {
	b := &branch{}
	a := arbiterOf(b, "a")
	mine, err := a.Claim(t.Context(), "a", "here")
	if err != nil {
		t.Fatal(err)
	}
	first := contentOf(t, b, ownerPath)
	if !strings.Contains(first, "serial: 1") || !strings.Contains(first, "signature:") {
		t.Fatalf("the owner is not signed:\n%s", first)
	}
	step := fleet.Succession{ID: "1", To: "b", Step: fleet.StepAsked}
	if err := arbiterOf(b, "ada").Succeed(t.Context(), mine, fleet.Succession{}, step); err != nil {
		t.Fatal(err)
	}
	if _, next, err := a.Succession(t.Context()); err != nil || next != step {
		t.Fatalf("what a key signed gives %+v, %v", next, err)
	}
	newest := contentOf(t, b, ownerPath)
	for name, text := range map[string]string{
		"unsigned":   "apiVersion: fairlead.dev/v1alpha1\nkind: Owner\nagent: mallory\nepoch: 9\n",
		"changed":    strings.Replace(newest, "agent: a\n", "agent: c\n", 1),
		"an old one": first,
		"rubbish":    "{",
		"gone":       "",
	} {
		put(t, b, ownerPath, text)
		if owner, next, err := a.Succession(t.Context()); !errors.Is(err, status.ErrDistrusted) || owner != (fleet.Owner{}) || next != (fleet.Succession{}) {
			t.Errorf("%s: the owner is %+v, %+v, %v", name, owner, next, err)
		}
		if owner, err := a.Claim(t.Context(), "mallory", ""); !errors.Is(err, status.ErrDistrusted) {
			t.Errorf("%s: a claim gives %+v, %v", name, owner, err)
		}
		if err := a.Succeed(t.Context(), mine, step, step.At(fleet.StepGranted)); !errors.Is(err, status.ErrDistrusted) {
			t.Errorf("%s: the succession goes on: %v", name, err)
		}
		if err := a.Restore(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
		if owner, next, err := a.Succession(t.Context()); owner != mine || next != step || err != nil {
			t.Errorf("%s: restored as %+v, %+v, %v", name, owner, next, err)
		}
	}
	if err := a.Restore(t.Context(), fleet.Owner{Agent: "a", Epoch: 7}); err != nil {
		t.Error(err)
	}
}

// TestOwnerBeforeKeys: an agent that starts signs what nobody has signed that names it, and
// believes of others what it finds as far as not to act.
func TestOwnerBeforeKeys(t *testing.T) {
	b := &branch{}
	if _, err := status.NewArbiter(b).Claim(t.Context(), "a", "here"); err != nil {
		t.Fatal(err)
	}
	other := arbiterOf(b, "b")
	if owner, err := other.Claim(t.Context(), "b", "there"); owner.Agent != "a" || err != nil {
		t.Fatalf("another agent gets %+v, %v", owner, err)
	}
	if _, _, err := other.Succession(t.Context()); !errors.Is(err, status.ErrDistrusted) {
		t.Errorf("another agent believes it: %v", err)
	}
	if owner, err := arbiterOf(b, "a").Claim(t.Context(), "a", "here"); owner != (fleet.Owner{Agent: "a", Epoch: 1, Place: "here"}) || err != nil {
		t.Fatalf("the agent itself gets %+v, %v", owner, err)
	}
	if owner, _, err := other.Succession(t.Context()); owner.Agent != "a" || err != nil {
		t.Errorf("once it is signed another agent sees %+v, %v", owner, err)
	}
	// What was signed stays signed, by who has a key alone.
	keyless := status.NewArbiter(b)
	if _, err := keyless.HandOver(t.Context(), fleet.Owner{Agent: "a", Epoch: 1, Place: "here"}, "c", ""); err == nil || !strings.Contains(err.Error(), "--signing-key") {
		t.Errorf("without a key the fleet is handed over: %v", err)
	}
	keyless.Sign = key("b").sign
	if _, err := keyless.HandOver(t.Context(), fleet.Owner{Agent: "a", Epoch: 1, Place: "here"}, "b", ""); err != nil {
		t.Fatal(err)
	}
	if owner, _, err := other.Succession(t.Context()); owner.Agent != "b" || err != nil {
		t.Errorf("after the hand-over there is %+v, %v", owner, err)
	}
}

// TestOwnerOfAWithdrawnKey: who owns the fleet signs again when the key that signed counts
// no more.
func TestOwnerOfAWithdrawnKey(t *testing.T) {
	b := &branch{}
	trusted := map[key]bool{"a": true}
	a := status.NewArbiter(b)
	now := key("a")
	a.Sign = func(content []byte) (string, error) { return now.sign(content) }
	a.Verify = func(content []byte, signature string) (string, error) {
		for k := range trusted {
			if signature == string(k)+": "+string(content) {
				return string(k), nil
			}
		}
		return "", errors.New("its key does not count")
	}
	mine, err := a.Claim(t.Context(), "a", "here")
	if err != nil {
		t.Fatal(err)
	}
	trusted, now = map[key]bool{"new": true}, "new"
	if _, err := a.Owner(t.Context()); !errors.Is(err, status.ErrDistrusted) {
		t.Fatalf("by a key that counts no more the owner is believed: %v", err)
	}
	if err := a.Restore(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	if owner, err := a.Owner(t.Context()); owner != mine || err != nil {
		t.Errorf("signed again the owner is %+v, %v", owner, err)
	}
	before := contentOf(t, b, ownerPath)
	if err := a.Restore(t.Context(), mine); err != nil || contentOf(t, b, ownerPath) != before {
		t.Errorf("what counts is signed again: %v", err)
	}
}

// TestNobodyPrependsASuccession: an agent that starts and signs what names it signs nothing
// of a successor, and no number that leaves no room for the next one.
func TestNobodyPrependsASuccession(t *testing.T) {
	for name, c := range map[string]struct {
		more string
		want string // of the error
	}{
		"a successor":   {"successor: {id: x, agent: mallory, step: Asked}\n", ""},
		"a late serial": {"serial: 9007199254740992\n", ""},
		"no serial":     {"serial: 9007199254740993\n", "at most 9007199254740992"},
		"no epoch":      {"", "at most 9007199254740992"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &branch{}
			epoch := "3"
			if c.more == "" {
				epoch = "9223372036854775807"
			}
			put(t, b, ownerPath, "apiVersion: fairlead.dev/v1alpha1\nkind: Owner\nagent: a\nplace: here\nepoch: "+epoch+"\n"+c.more)
			a := arbiterOf(b, "a")
			_, err := a.Claim(t.Context(), "a", "here")
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if owner, next, err := a.Succession(t.Context()); owner.Agent != "a" || next != (fleet.Succession{}) || err != nil {
				t.Errorf("got %+v, %+v, %v", owner, next, err)
			}
		})
	}
}

// TestTrusted: who looks with keys sees what counts for nothing; who has none is told that
// the fleet has keys.
func TestTrusted(t *testing.T) {
	b := &branch{}
	a := arbiterOf(b, "a")
	if _, err := a.Claim(t.Context(), "a", "here"); err != nil {
		t.Fatal(err)
	}
	k := fleet.Key{Namespace: "prod", Name: "eu-1"}
	by := status.NewRequests(b)
	r := fleet.Request{Kind: fleet.RequestSuspend, Cluster: k, By: "Mallory <m@example.com>", At: time.Now()}
	if err := by.Ask(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	put(t, b, "scales/prod/eu-1/md.yaml", "apiVersion: fairlead.dev/v1alpha1\nkind: Scale\ncluster: prod/eu-1\npool: md\nreplicas: 30\n")
	_, tree, err := b.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := status.Trusted(tree, nil)
	if err != nil || !s.Signed || s.Doubt != "" || s.Requests[0].Distrusted != "" || s.Scales[0].Distrusted != "" {
		t.Errorf("without keys there is %+v, %v", s, err)
	}
	s, err = status.Trusted(tree, verify)
	if err != nil || !s.Signed || s.Doubt != "" || s.Requests[0].Distrusted != "it is not signed" || s.Scales[0].Distrusted != "it is not signed" {
		t.Errorf("with keys there is %+v, %v", s, err)
	}
	put(t, b, ownerPath, "apiVersion: fairlead.dev/v1alpha1\nkind: Owner\nagent: mallory\nepoch: 9\n")
	if _, tree, err = b.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err = status.Trusted(tree, verify); err != nil || s.Signed || !strings.Contains(s.Doubt, "it is not signed") {
		t.Errorf("with another owner there is %+v, %v", s, err)
	}
	broken := func([]byte, string) (string, error) { return "", fleet.Errorf(fleet.Unauthorized, "read keys", "gone") }
	if _, err = status.Trusted(tree, broken); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("where keys cannot be read there is %v", err)
	}
}

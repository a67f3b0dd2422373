package git_test

import (
	"errors"
	"os"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/git/signature"
)

// signers is a repository with two people's keys: ada's is trusted, eve's is not.
type signers struct {
	*place
	ada, eve string
	trust    *signature.Trust
}

func newSigners(t *testing.T) *signers {
	t.Helper()
	p := newPlace(t, gitserver.Options{})
	k := newKeys(t, p)
	s := &signers{place: p, ada: k.ssh("ada"), eve: k.ssh("eve")}
	public, err := os.ReadFile(s.ada + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if s.trust, err = signature.NewTrust(map[string][]byte{"ada": public}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *signers) in(args ...string) string {
	s.t.Helper()
	return s.run("", "git", append([]string{"-C", s.work}, args...)...)
}

// signed runs git, which signs with key; with "" it does not sign.
func (s *signers) signed(key string, args ...string) {
	s.t.Helper()
	if key != "" {
		args = append([]string{"-c", "gpg.format=ssh", "-c", "user.signingKey=" + key, "-c", "commit.gpgSign=true"}, args...)
	}
	s.in(args...)
}

// commit makes a commit by key and returns it.
func (s *signers) commit(key, message string) string {
	s.t.Helper()
	s.signed(key, "commit", "--quiet", "--allow-empty", "-m", message)
	return s.in("rev-parse", "HEAD")
}

// tip makes commit the tip of main.
func (s *signers) tip(commit string) fleet.Revision {
	s.t.Helper()
	s.in("push", "--quiet", "--force", s.bare, commit+":refs/heads/main")
	return fleet.Revision{Ref: "main", Digest: "sha1:" + commit}
}

func (s *signers) open(ref string, change func(*git.Options)) *git.Repository {
	s.t.Helper()
	o := git.Options{URL: s.url, Ref: ref, Verify: s.trust.Verify}
	if change != nil {
		change(&o)
	}
	return open(s.t, o)
}

// untrusted checks that err says that no trusted key vouches for a revision.
func untrusted(t *testing.T, err error, words string) {
	t.Helper()
	wantKind(t, err, fleet.Invalid, words)
	if !errors.Is(err, sources.ErrUntrusted) {
		t.Errorf("%v is not told from content that is broken", err)
	}
}

// A signature alone is not enough: the new revision continues the last one, and each commit
// on the way is signed.
func TestOnlyWhatContinuesIsFollowed(t *testing.T) {
	for _, filter := range []string{"false", "true"} {
		t.Run("filter="+filter, func(t *testing.T) {
			s := newSigners(t)
			s.git("config", "uploadpack.allowFilter", filter)
			old := s.commit(s.ada, "one")
			last := s.commit(s.ada, "two")
			from := s.tip(last)
			r := s.open("main", nil)
			continues := func(commit string) error { return r.Continues(t.Context(), from, s.tip(commit)) }

			if err := continues(last); err != nil {
				t.Errorf("what is followed: %v", err)
			}
			s.commit(s.ada, "three")
			if err := continues(s.commit(s.ada, "four")); err != nil {
				t.Errorf("two signed commits: %v", err)
			}
			untrusted(t, continues(old), "it does not continue commit "+last)
			s.in("checkout", "--quiet", "--orphan", "other")
			untrusted(t, continues(s.commit(s.ada, "another root")), "it does not continue commit "+last)

			s.in("checkout", "--quiet", "--detach", last)
			slipped := s.commit("", "nobody signed this")
			covered := s.commit(s.ada, "on top of it")
			untrusted(t, continues(slipped), "the commit is not followed")
			untrusted(t, continues(covered), "commit "+slipped+" came before it")
			untrusted(t, continues(s.commit(s.eve, "by eve")), "a key that is not trusted")

			// People can replace a revision by naming it.
			s.in("checkout", "--quiet", "--detach", old)
			rewound := s.commit(s.ada, "back to one\n\nFairlead-Replaces: "+last)
			if err := continues(rewound); err != nil {
				t.Errorf("a rewind that is signed: %v", err)
			}
			untrusted(t, continues(s.commit("", "mine\n\nFairlead-Replaces: "+last)), "the commit is not followed")
			s.in("checkout", "--quiet", "--detach", old)
			untrusted(t, continues(s.commit(s.ada, "back again\n\nFairlead-Replaces: "+old)), "it does not continue")
			s.in("checkout", "--quiet", "--detach", covered)
			if err := continues(s.commit(s.ada, "looked at\n\nFairlead-Replaces: "+last)); err != nil {
				t.Errorf("a statement on what was slipped in: %v", err)
			}
			// Such a statement counts once: afterwards another revision is the last one.
			after := fleet.Revision{Ref: "main", Digest: "sha1:" + last}
			s.in("checkout", "--quiet", "--detach", last)
			after.Digest = "sha1:" + s.commit(s.ada, "went on")
			s.tip(after.Hash())
			untrusted(t, r.Continues(t.Context(), after, s.tip(rewound)), "it does not continue")
		})
	}
}

func TestMergesAreFollowed(t *testing.T) {
	s := newSigners(t)
	s.commit(s.ada, "zero")
	old := s.commit(s.ada, "one")
	last := s.commit(s.ada, "two")
	from := s.tip(last)
	merge := func(base, key, by string) string {
		s.in("checkout", "--quiet", "--detach", base)
		side := s.commit(key, "on the side")
		s.in("checkout", "--quiet", "--detach", last)
		s.signed(by, "merge", "--quiet", "--no-ff", "-m", "merge", side)
		return s.in("rev-parse", "HEAD")
	}
	strict, trusting := s.open("main", nil), s.open("main", func(o *git.Options) { o.TrustMerges = true })
	for name, c := range map[string]struct {
		commit          string
		strict, trusted string // reasons of a refusal
	}{
		"signed, from before":   {commit: merge(old, s.ada, s.ada)},
		"signed, from here":     {commit: merge(last, s.ada, s.ada)},
		"unsigned, from before": {commit: merge(old, "", s.ada), strict: "came before it"},
		"unsigned, from here":   {commit: merge(last, "", s.ada), strict: "came before it"},
		"an unsigned merge":     {commit: merge(last, s.ada, ""), strict: "is not followed", trusted: "is not followed"},
	} {
		to := s.tip(c.commit)
		for r, why := range map[*git.Repository]string{strict: c.strict, trusting: c.trusted} {
			err := r.Continues(t.Context(), from, to)
			if why == "" && err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if why != "" {
				untrusted(t, err, why)
			}
		}
	}
}

func TestSignedTags(t *testing.T) {
	s := newSigners(t)
	first := s.commit("", "one") // the tag's signature is enough
	tag := func(key, name string) {
		flags := []string{"tag", "--force", "-m", "release", "-s", name}
		if key == "" {
			flags = []string{"tag", "--force", "-m", "release", "-a", name}
		}
		s.signed(key, flags...)
		s.in("push", "--quiet", "--force", s.bare, "refs/tags/"+name)
	}
	r := s.open("v1", nil)
	get := func(r *git.Repository) error {
		rev, err := r.Resolve(t.Context())
		if err != nil {
			return err
		}
		_, err = r.Fetch(t.Context(), rev)
		return err
	}
	tag(s.ada, "v1")
	s.git("config", "uploadpack.allowAnySHA1InWant", "false") // git's default
	if err := get(r); err != nil {
		t.Errorf("a signed tag: %v", err)
	}
	tag(s.eve, "v1")
	untrusted(t, get(r), "the tag v1 is not followed")
	tag("", "v1")
	untrusted(t, get(r), "it is not signed")
	s.git("update-ref", "refs/tags/v1", first)
	untrusted(t, get(r), "a lightweight tag")
	tag(s.ada, "v0")
	s.git("update-ref", "refs/tags/v1", "refs/tags/v0")
	untrusted(t, get(r), `what was signed does not say "tag v1"`)

	// A right to make branches must not decide for a tag, nor the other way round.
	tag(s.ada, "v1")
	s.git("update-ref", "refs/heads/v1", first)
	wantKind(t, get(r), fleet.Invalid, "say refs/heads/v1 or refs/tags/v1")
	if err := get(s.open("refs/tags/v1", nil)); err != nil {
		t.Errorf("a tag in full: %v", err)
	}

	// A tag that moves has to move forward, unless its message says otherwise.
	s.git("update-ref", "-d", "refs/heads/v1")
	second := s.commit("", "two")
	tag(s.ada, "v1")
	from, err := r.Resolve(t.Context())
	if err != nil || from.Hash() != second {
		t.Fatalf("resolved %v, %v", from, err)
	}
	third := s.commit("", "three")
	tag(s.ada, "v1")
	to, err := r.Resolve(t.Context())
	if err != nil || to.Hash() != third {
		t.Fatalf("resolved %v, %v", to, err)
	}
	if err := r.Continues(t.Context(), from, to); err != nil {
		t.Errorf("a tag that moved on: %v", err)
	}
	s.in("checkout", "--quiet", "--detach", first)
	tag(s.ada, "v1")
	if from, err = r.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	untrusted(t, r.Continues(t.Context(), to, from), "it does not continue commit "+third)
	s.signed(s.ada, "tag", "--force", "-s", "-m", "back\n\nFairlead-Replaces: "+third, "v1")
	s.in("push", "--quiet", "--force", s.bare, "refs/tags/v1")
	if from, err = r.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Continues(t.Context(), to, from); err != nil {
		t.Errorf("a tag that says that it goes back: %v", err)
	}
}

// What is followed was followed before on the line of first parents, back to the first
// commit that was followed with keys: not what a merge brought in, signed or not.
func TestIncludes(t *testing.T) {
	s := newSigners(t)
	early := s.commit("", "before there were keys")
	first := s.commit(s.ada, "one")
	withdrawn := s.commit(s.eve, "by eve, whose key counted then")
	s.in("checkout", "--quiet", "-b", "proposal")
	evil := s.commit("", "somebody's first try, which nobody reviewed or signed")
	draft := s.commit(s.ada, "ada's work in progress")
	s.in("checkout", "--quiet", "--detach", withdrawn)
	s.signed(s.ada, "merge", "--quiet", "--no-ff", "-m", "a merge that ada stands for", "proposal")
	s.commit("", "slipped in")
	s.commit(s.ada, "lets that through\n\nFairlead-Replaces: "+s.in("rev-parse", "HEAD~1"))
	head := s.tip(s.in("rev-parse", "HEAD"))
	s.in("checkout", "--quiet", "--orphan", "other")
	other := s.commit(s.ada, "another branch")
	s.in("push", "--quiet", s.bare, "HEAD:refs/heads/other")
	rev := func(commit string) fleet.Revision { return fleet.Revision{Ref: "main", Digest: "sha1:" + commit} }
	for _, merges := range []bool{false, true} {
		r := s.open("main", func(o *git.Options) { o.TrustMerges = merges })
		if err := r.Includes(t.Context(), head, rev(first)); (err != nil) != merges {
			t.Errorf("merges %v: what led to the head: %v", merges, err)
		}
		if err := r.Includes(t.Context(), head, rev(withdrawn)); (err != nil) != merges {
			t.Errorf("merges %v: a commit by a key that is withdrawn: %v", merges, err)
		} else if _, err := r.Fetch(t.Context(), rev(withdrawn)); (err != nil) != merges {
			t.Errorf("merges %v: its content: %v", merges, err)
		}
		untrusted(t, r.Includes(t.Context(), head, rev(early)), "is older than what was followed with keys")
		for _, commit := range []string{evil, draft} {
			untrusted(t, r.Includes(t.Context(), head, rev(commit)), "came in with a merge")
		}
		if _, err := r.Fetch(t.Context(), rev(evil)); err == nil {
			t.Errorf("merges %v: the content of what nobody signed is given", merges)
		}
		untrusted(t, r.Includes(t.Context(), head, rev(other)), "is no part of it")
	}
}

// TestVouchedAfterForget: that a key was withdrawn is told of the revision that clusters are held to, also
// after what was fetched with it was dropped from memory.
func TestVouchedAfterForget(t *testing.T) {
	s := newSigners(t)
	head := s.tip(s.commit(s.ada, "one"))
	withdrawn := false
	r := s.open("main", func(o *git.Options) {
		o.Verify = func(content []byte, signature string) (string, error) {
			if withdrawn {
				return "", errors.New("a key that is not trusted")
			}
			return s.trust.Verify(content, signature)
		}
	})
	if _, err := r.Fetch(t.Context(), head); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Vouched(head); err != nil {
		t.Fatal(err)
	}
	r.Forget()
	withdrawn = true
	_, err := r.Vouched(head)
	untrusted(t, err, "a key that is not trusted")
}

// `git pull` of a clone that was behind makes the followed commit the second parent of a merge.
// The commit stays followed if a trusted key signed each commit that led to it.
func TestIncludesAfterPull(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string // who signs the commits before and after the one that is looked for
		bySide        bool   // the commit before comes in by a merge
		strict, trust bool   // whether it is included, without and with TrustMerges
		reason        string
	}{
		"signed":          {before: "ada", after: "ada", strict: true, trust: true, reason: "each commit could be followed"},
		"unsigned":        {before: "", after: "ada", reason: "this is how a proposal looks that nobody reviewed"},
		"other key":       {before: "eve", after: "ada", reason: "nobody who is trusted signed what the commit continues"},
		"other key later": {before: "ada", after: "eve", reason: "nobody who is trusted signed the way to the merge"},
		"unsigned later":  {before: "ada", after: "", reason: "nobody signed the way to the merge"},
		"merged":          {before: "", bySide: true, after: "ada", trust: true, reason: "who signs a merge stands for it, if merges are trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSigners(t)
			key := map[string]string{"ada": s.ada, "eve": s.eve}
			s.commit(s.ada, "zero")
			base := s.commit(s.ada, "base")
			before := s.commit(key[c.before], "before")
			if c.bySide {
				s.in("checkout", "--quiet", "--detach", base)
				s.signed(s.ada, "merge", "--quiet", "--no-ff", "-m", "a proposal", before)
			}
			followed := fleet.Revision{Ref: "main", Digest: "sha1:" + s.commit(s.ada, "followed")}
			remote := s.commit(key[c.after], "followed later")
			s.in("checkout", "--quiet", "--detach", base)
			s.commit(s.ada, "local work")
			s.signed(s.ada, "merge", "--quiet", "--no-ff", "-m", "Merge branch 'main' of example.com:fleet", remote)
			head := s.tip(s.commit(s.ada, "more local work"))
			for merges, want := range map[bool]bool{false: c.strict, true: c.trust} {
				r := s.open("main", func(o *git.Options) { o.TrustMerges = merges })
				err := r.Includes(t.Context(), head, followed)
				if want {
					if err == nil {
						_, err = r.Fetch(t.Context(), followed)
					}
					if err != nil {
						t.Errorf("merges %v: refused: %v (%s)", merges, err, c.reason)
					}
					continue
				}
				untrusted(t, err, "came in with a merge")
			}
		})
	}
}

// If keys cannot be read, nobody knows whether a commit was followed.
func TestIncludesWithoutKeys(t *testing.T) {
	for _, brought := range []bool{false, true} {
		s := newSigners(t)
		base := s.commit(s.ada, "base")
		h := s.commit(s.ada, "followed")
		remote := h
		if !brought {
			remote = s.commit(s.ada, "followed later")
		}
		s.in("checkout", "--quiet", "--detach", base)
		s.commit(s.ada, "local work")
		s.signed(s.ada, "merge", "--quiet", "--no-ff", "-m", "merge", remote)
		head := s.tip(s.in("rev-parse", "HEAD"))
		r := s.open("main", func(o *git.Options) {
			o.Verify = func([]byte, string) (string, error) {
				return "", fleet.Errorf(fleet.Unavailable, "read keys", "no answer")
			}
		})
		wantKind(t, r.Includes(t.Context(), head, fleet.Revision{Ref: "main", Digest: "sha1:" + h}), fleet.Unavailable, "no answer")
	}
}

// TestIncludesUnsigned: where nobody signs, nothing is asked of what was followed.
func TestIncludesUnsigned(t *testing.T) {
	s := newSigners(t)
	h := s.commit("", "followed")
	head := s.tip(s.commit("", "followed later"))
	r := s.open("main", func(o *git.Options) { o.Verify = nil })
	if err := r.Includes(t.Context(), head, fleet.Revision{Ref: "main", Digest: "sha1:" + h}); err != nil {
		t.Error(err)
	}
}

// A root that was merged continues nothing that was followed.
func TestIncludesNoOtherRoot(t *testing.T) {
	s := newSigners(t)
	s.in("checkout", "--quiet", "--orphan", "other")
	other := s.commit(s.ada, "another root")
	s.in("checkout", "--quiet", "--orphan", "main-line")
	s.commit(s.ada, "one")
	s.signed(s.ada, "merge", "--quiet", "--no-ff", "--allow-unrelated-histories", "-m", "merge", other)
	head := s.tip(s.in("rev-parse", "HEAD"))
	r := s.open("main", nil)
	untrusted(t, r.Includes(t.Context(), head, fleet.Revision{Ref: "main", Digest: "sha1:" + other}), "came in with a merge")
}

// A revision without a trusted signature is refused for that before its content is read.
func TestVerifiedBeforeJudged(t *testing.T) {
	s := newSigners(t)
	s.land(s.tree([3]string{"100644", "..", s.blob("x")}))
	r := s.open("main", nil)
	rev, err := r.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Fetch(t.Context(), rev)
	untrusted(t, err, "it is not signed")
}

package status_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/git/gitserver"
	"fairlead.dev/sources/status"
)

func wish() fleet.Request {
	return fleet.Request{
		Kind: fleet.RequestReplace, Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Machine: "eu-1-md-0-abc", ProviderID: "sim://1",
		Reason: "slow", By: "Ada <ada@example.com>", At: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
	}
}

func suspended() fleet.Request {
	return fleet.Request{
		Kind: fleet.RequestSuspend, Cluster: fleet.Key{Namespace: "prod", Name: "eu-1"}, Until: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC),
		By: "Ada <ada@example.com>", At: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
	}
}

func answered(r fleet.Request, s fleet.RequestState, text string) fleet.Request {
	r.Answer = fleet.Answer{State: s, Message: text, At: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	return r
}

func TestRequests(t *testing.T) {
	bare, url := served(t, gitserver.Options{})
	b := gitBranch(t, url)
	owner, err := status.NewArbiter(b).Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewRequests(b)
	want := func(list ...fleet.Request) {
		t.Helper()
		got, err := q.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want()
	do(q.Ask(t.Context(), wish()))
	do(q.Ask(t.Context(), suspended()))
	want(wish(), suspended())

	other := wish()
	other.By = "Bob <bob@example.com>"
	if err := q.Ask(t.Context(), other); fleet.KindOf(err) != fleet.Conflict || !strings.Contains(err.Error(), "by Ada <ada@example.com>") {
		t.Errorf("asking for the same gave %v", err)
	}

	yes, no := answered(wish(), fleet.RequestAccepted, ""), answered(suspended(), fleet.RequestRefused, "no")
	do(q.Answer(t.Context(), owner, []fleet.Request{yes, no}, nil))
	want(yes, no)
	do(q.Ask(t.Context(), suspended())) // what was refused may be asked for again
	want(yes, suspended())
	do(q.Answer(t.Context(), owner, []fleet.Request{answered(other, fleet.RequestDone, "")}, nil)) // not what is there
	want(yes, suspended())
	do(q.Withdraw(t.Context(), suspended(), "done"))
	want(yes)
	if err := q.Withdraw(t.Context(), suspended(), ""); fleet.KindOf(err) != fleet.NotFound {
		t.Errorf("taking back what is not there gave %v", err)
	}
	do(q.Answer(t.Context(), owner, nil, []fleet.Request{yes}))
	want()

	log := run(t, "-C", bare, "log", "--format=%s%n%(trailers)", "fairlead/status")
	for _, line := range []string{"replace machine prod/eu-1-md-0-abc", "requests: 2 answers", "Fairlead-Agent: a", "take back: suspend cluster prod/eu-1"} {
		if !strings.Contains(log, line) {
			t.Errorf("the history has no %q:\n%s", line, log)
		}
	}
	if files := run(t, "-C", bare, "ls-tree", "-r", "--name-only", "fairlead/status"); strings.Contains(files, "requests") {
		t.Errorf("files are left over: %s", files)
	}
}

// Who does not own the fleet has no answers.
func TestDeposedAnswersNothing(t *testing.T) {
	b := &branch{}
	owner, err := status.NewArbiter(b).Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	q := status.NewRequests(b)
	if err := q.Ask(t.Context(), wish()); err != nil {
		t.Fatal(err)
	}
	if _, err := status.NewArbiter(b).HandOver(t.Context(), owner, "b", ""); err != nil {
		t.Fatal(err)
	}
	err = q.Answer(t.Context(), owner, []fleet.Request{answered(wish(), fleet.RequestDone, "")}, nil)
	if fleet.KindOf(err) != fleet.Conflict {
		t.Errorf("the answer of one who is not owner gave %v", err)
	}
	if list, _ := q.List(t.Context()); len(list) != 1 || list[0].Answer.State != "" {
		t.Errorf("there is %+v", list)
	}
}

// A push that lost a race is made again; one that was not answered and landed is
// not taken for somebody else's.
func TestRequestsInTrouble(t *testing.T) {
	for _, kind := range []fleet.ErrorKind{fleet.Conflict, fleet.Unanswered} {
		t.Run(string(kind), func(t *testing.T) {
			b := &branch{}
			trouble := true
			fail := func() error {
				if !trouble {
					return nil
				}
				trouble = false
				return fleet.Errorf(kind, "push", "trouble")
			}
			if kind == fleet.Conflict {
				b.before = fail
			} else {
				b.after = fail
			}
			q := status.NewRequests(b)
			if err := q.Ask(t.Context(), wish()); err != nil {
				t.Fatal(err)
			}
			if list, err := q.List(t.Context()); err != nil || len(list) != 1 {
				t.Errorf("there is %+v, %v", list, err)
			}
		})
	}
}

// An unanswering branch loses the answer of the first push, after later.
type unanswering struct {
	*branch

	later func()
}

func (u *unanswering) Commit(ctx context.Context, base fleet.Revision, c sources.Commit) (fleet.Revision, error) {
	rev, err := u.branch.Commit(ctx, base, c)
	if later := u.later; later != nil && err == nil {
		u.later = nil
		later()
		return fleet.Revision{}, fleet.Errorf(fleet.Unanswered, "push", "504 Gateway Timeout")
	}
	return rev, err
}

// A request whose push was not answered, and which the agent has done meanwhile, is not asked for again.
func TestRequestIsDoneBeforeItsPushIsAnswered(t *testing.T) {
	b := &unanswering{branch: owned(t)}
	q := status.NewRequests(b)
	b.later = func() {
		if err := q.Answer(t.Context(), self, []fleet.Request{answered(wish(), fleet.RequestDone, "")}, nil); err != nil {
			t.Error(err)
		}
	}
	if err := q.Ask(t.Context(), wish()); err != nil {
		t.Fatal(err)
	}
	if list, err := q.List(t.Context()); err != nil || len(list) != 1 || list[0].Answer.State != fleet.RequestDone {
		t.Errorf("there is %+v, %v", list, err)
	}
}

// A file that nobody can read is told of, and is in nobody's way.
func TestBrokenRequests(t *testing.T) {
	good := "apiVersion: fairlead.dev/v1alpha1\nkind: Request\nwish: reconcile\ncluster: prod/eu-1\nby: a\nat: 2026-11-21T08:00:00Z\n"
	for name, c := range map[string]struct{ path, text, want string }{
		"unknown field":  {"requests/prod/eu-1/reconcile.yaml", good + "urgent: true\n", `unknown field "urgent"`},
		"unknown wish":   {"requests/prod/eu-1/explode.yaml", strings.Replace(good, "reconcile", "explode", 1), `the request "explode" is not known`},
		"wrong place":    {"requests/prod/eu-2/reconcile.yaml", good, "is called requests/prod/eu-1/reconcile.yaml"},
		"no machine":     {"requests/prod/eu-1/replace.yaml", strings.Replace(good, "reconcile", "replace", 1), "needs machine and providerID"},
		"nobody":         {"requests/prod/eu-1/reconcile.yaml", strings.Replace(good, "by: a\n", "", 1), "needs by and at"},
		"until":          {"requests/prod/eu-1/reconcile.yaml", good + "until: 2026-11-21T08:00:00Z\n", "leave until out"},
		"another kind":   {"requests/prod/eu-1/reconcile.yaml", strings.Replace(good, "Request", "Owner", 1), "is not an fairlead.dev/v1alpha1 Request"},
		"another answer": {"requests/prod/eu-1/reconcile.yaml", good + "answer: {state: Maybe, at: 2026-11-21T08:00:00Z}\n", `answer.state "Maybe" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			b := &branch{}
			if _, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{c.path: []byte(c.text)}}); err != nil {
				t.Fatal(err)
			}
			q := status.NewRequests(b)
			if err := q.Ask(t.Context(), wish()); err != nil {
				t.Fatal(err)
			}
			list, err := q.List(t.Context())
			if len(list) != 1 || !list[0].Identical(wish()) {
				t.Errorf("there is %+v", list)
			}
			if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("got %v, want %s: %s", err, c.path, c.want)
			}
		})
	}
}

// TestUnreadableSuspensionStands: a cluster that somebody wanted left alone stays so
// when the file cannot be read, until that is taken back.
func TestUnreadableSuspensionStands(t *testing.T) {
	eu1 := fleet.Key{Namespace: "prod", Name: "eu-1"}
	good := "apiVersion: fairlead.dev/v1alpha1\nkind: Request\nwish: suspend\ncluster: prod/eu-1\nby: a\nat: 2026-11-21T08:00:00Z\n"
	for name, c := range map[string]struct {
		path, text string
		want       bool
	}{
		"of a newer version": {"requests/prod/eu-1/suspend.yaml", good + "gracefully: true\nanswer: {state: Accepted, at: 2026-11-21T08:00:00Z}\n", true},
		"rubbish":            {"requests/prod/eu-1/suspend.yaml", "{", true},
		"misnamed":           {"requests/prod/eu-1/suspend-eu-1.yaml", good, true},
		"another wish":       {"requests/prod/eu-1/reconcile.yaml", "{", false},
		"of no cluster":      {"requests/suspend.yaml", "{", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := &branch{}
			if _, err := b.Commit(t.Context(), fleet.Revision{}, sources.Commit{Edits: map[string][]byte{c.path: []byte(c.text)}}); err != nil {
				t.Fatal(err)
			}
			q := status.NewRequests(b)
			list, err := q.List(t.Context())
			if fleet.KindOf(err) != fleet.Invalid {
				t.Errorf("the error is %v", err)
			}
			if !c.want {
				if len(list) > 0 {
					t.Errorf("there is %+v", list)
				}
				return
			}
			if len(list) != 1 || list[0].Kind != fleet.RequestSuspend || list[0].Cluster != eu1 || !list[0].InEffect() {
				t.Fatalf("there is %+v", list)
			}
			if cluster := (&fleet.Cluster{Key: eu1}).WithRequests(list); cluster.Suspension == nil {
				t.Error("the cluster is not suspended")
			}
			keyed := status.NewRequests(b)
			keyed.Verify = func([]byte, string) (string, error) { return "ada", nil }
			if signed, err := keyed.List(t.Context()); len(signed) != 1 || signed[0].InEffect() || !signed[0].Unreadable || fleet.KindOf(err) != fleet.Invalid {
				t.Errorf("where keys say who may ask, what nobody can read stands: %+v, %v", signed, err)
			}
			if err := q.Withdraw(t.Context(), list[0], ""); err != nil {
				t.Fatal(err)
			}
			if list, err := q.List(t.Context()); len(list) > 0 || err != nil {
				t.Errorf("after it was taken back there is %+v, %v", list, err)
			}
		})
	}
}

// Where keys say who may ask, a request counts as it was signed and no other way; the
// agent's answer is beside what was signed.
func TestSignedRequests(t *testing.T) {
	_, url := served(t, gitserver.Options{})
	b := gitBranch(t, url)
	owner, err := status.NewArbiter(b).Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	asks, unsigned, hears := status.NewRequests(b), status.NewRequests(b), status.NewRequests(b)
	asks.Sign = func(content []byte) (string, error) { return "by ada: " + strings.ToUpper(string(content)), nil }
	hears.Verify = func(content []byte, signature string) (string, error) {
		if !strings.HasPrefix(string(content), "fairlead-request\n{") {
			t.Errorf("a commit could be taken for %q", content)
		}
		if signature != "by ada: "+strings.ToUpper(string(content)) {
			return "", errors.New("it is not signed")
		}
		return "ada", nil
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	list := func() []fleet.Request {
		t.Helper()
		all, err := hears.List(t.Context())
		do(err)
		return all
	}
	do(asks.Ask(t.Context(), wish()))
	do(unsigned.Ask(t.Context(), suspended()))
	got := list()
	if len(got) != 2 || got[0].Distrusted != "" || got[1].Distrusted != "it is not signed" {
		t.Fatalf("got %+v", got)
	}
	answers := []fleet.Request{answered(got[0], fleet.RequestAccepted, "yes"), answered(got[1], fleet.RequestAccepted, "yes")}
	do(hears.Answer(t.Context(), owner, answers, nil))
	got = list()
	if !got[0].InEffect() {
		t.Errorf("a signed request does not stand once it is answered: %+v", got[0])
	}
	if got[1].InEffect() {
		t.Error("an unsigned request stands, as somebody wrote an answer into it")
	}
	// Another machine in the same file is another request.
	head, tr, err := b.Read(t.Context())
	do(err)
	const path = "requests/prod/eu-1/replace-eu-1-md-0-abc.yaml"
	raw, err := fs.ReadFile(tr, path)
	do(err)
	_, err = b.Commit(t.Context(), head, sources.Commit{Message: "mallory", Edits: map[string][]byte{path: []byte(strings.Replace(string(raw), "sim://1", "sim://2", 1))}})
	do(err)
	if got = list(); got[0].Distrusted == "" || got[0].InEffect() {
		t.Errorf("a request that was changed counts: %+v", got[0])
	}
}

// TestSignedForAnother: a request in the name of somebody whose key is known has to be signed by that key,
// whatever answer somebody wrote into it. What is over stays as it is.
func TestSignedForAnother(t *testing.T) {
	_, url := served(t, gitserver.Options{})
	b := gitBranch(t, url)
	owner, err := status.NewArbiter(b).Claim(t.Context(), "a", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		by, signer, want string
	}{
		"her own":           {"Ada <ada@example.com>", "Ada@example.com", ""},
		"one of her names":  {"Ada <ada@example.com>", "ada@laptop,ada@example.com", ""},
		"a computer's name": {"Eve <eve@example.com>", "eve@laptop", ""},
		"somebody else's":   {"Bob <bob@example.com>", "ada@example.com", "it says that it is by bob@example.com, and was signed by ada@example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			asks, reads := status.NewRequests(b), status.NewRequests(b)
			asks.Sign = func([]byte) (string, error) { return c.signer, nil }
			reads.Verify = func(_ []byte, signature string) (string, error) { return signature, nil }
			reads.People = func(by, signature string) ([]string, bool, error) {
				names := strings.Split(strings.ToLower(signature), ",")
				return names, (by == "bob@example.com" || by == "ada@example.com") && !slices.Contains(names, by), nil
			}
			r := wish()
			r.By = c.by
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			do(asks.Ask(t.Context(), r))
			list, err := reads.List(t.Context())
			if do(err); len(list) != 1 || list[0].Distrusted != c.want {
				t.Fatalf("got %+v, want %q", list, c.want)
			}
			if want := map[bool]int{true: len(strings.Split(c.signer, ","))}[c.want == ""]; len(list[0].Names) != want {
				t.Errorf("the names of who signed are %v, want %d", list[0].Names, want)
			}
			for state, want := range map[fleet.RequestState]string{fleet.RequestAccepted: c.want, fleet.RequestRefused: "", fleet.RequestDone: ""} {
				do(reads.Answer(t.Context(), owner, []fleet.Request{answered(list[0], state, "yes")}, nil))
				after, err := reads.List(t.Context())
				if err != nil || after[0].Distrusted != want {
					t.Errorf("%s: %+v, %v, want %q", state, after, err, want)
				}
			}
			do(reads.Answer(t.Context(), owner, nil, []fleet.Request{list[0]}))
		})
	}
}

// TestReviewersOfARequest: the agent alone names reviewers, and whose key signed a request is known.
func TestReviewersOfARequest(t *testing.T) {
	_, url := served(t, gitserver.Options{})
	b := gitBranch(t, url)
	key := func(who string) func([]byte) (string, error) {
		return func(content []byte) (string, error) { return who + ": " + strings.ToUpper(string(content)), nil }
	}
	verify := func(content []byte, signature string) (string, error) {
		who, of, _ := strings.Cut(signature, ": ")
		if of != strings.ToUpper(string(content)) {
			return "", errors.New("it is not signed")
		}
		return who, nil
	}
	approval := fleet.Request{
		Kind: fleet.RequestRelease, Stage: "prod", Release: fleet.ReleaseApprove, Of: "1", By: "two people", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Reviewers: []string{"bob", "dora"},
	}
	for _, c := range []struct {
		signer, reader string // empty: no key
		want           string
	}{
		{"the agent", "the agent", ""},
		{"eve", "the agent", "it names reviewers, and was signed by eve and not by the agent"},
		{"eve", "", ""}, // a command that has no key
	} {
		asks, reads := status.NewRequests(b), status.NewRequests(b)
		asks.Sign, reads.Verify = key(c.signer), verify
		if c.reader != "" {
			reads.Sign = key(c.reader)
		}
		if err := asks.Ask(t.Context(), approval); err != nil {
			t.Fatal(err)
		}
		list, err := reads.List(t.Context())
		if err != nil || len(list) != 1 || list[0].Distrusted != c.want || strings.Join(list[0].Reviewers, " ") != "bob dora" {
			t.Fatalf("got %+v, %v, want %q", list, err, c.want)
		}
		if want := map[bool]string{true: c.signer}[c.want == ""]; list[0].Signer != want {
			t.Errorf("signed by %q, want %q", list[0].Signer, want)
		}
		if err := asks.Withdraw(t.Context(), approval, ""); err != nil {
			t.Fatal(err)
		}
	}
	other := fleet.Request{Kind: fleet.RequestReconcile, Cluster: fleet.Key{Namespace: "prod", Name: "a"}, By: "ada", At: approval.At, Reviewers: []string{"bob"}}
	if err := status.NewRequests(b).Ask(t.Context(), other); fleet.KindOf(err) != fleet.Invalid {
		t.Errorf("a request that is no approval names reviewers: %v", err)
	}
}

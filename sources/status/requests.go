package status

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Requests are the requests of people on a status branch:
//
//	requests/<namespace>/<cluster>/<kind>[-<machine>|-<what>].yaml
//	requests/stages/release-<way>-<stage>.yaml
//
// A person writes a file, the owner of the fleet writes its answer into it.
type Requests struct {
	branch sources.Branch
	// Sign, if not nil, returns the signature, in armour, of what Ask asks for.
	Sign func(content []byte) (string, error)
	// Verify, if not nil, has List say of each why it counts for nothing.
	Verify Verify
	// People, if not nil, has List say of each who signed it, and why it counts for nothing if that is not the
	// person in whose name it is.
	People People
	// Owner, if not nil, returns the owner in a tree, as Arbiter.In does.
	Owner func(fs.FS) (fleet.Owner, error)

	authors authors
}

// NewRequests returns the requests on branch.
func NewRequests(branch sources.Branch) *Requests { return &Requests{branch: branch} }

func (q *Requests) owner(t fs.FS) (fleet.Owner, error) { return ownerIn(t, q.Owner) }

// People says whose key made a signature: all names of that person, and whether another of the keys that
// count, and not that one, is called after by. Names are as fleet.Person has them.
type People func(by, signature string) (names []string, impersonates bool, err error)

// of returns the names of who made a signature, and, if it counts, why that is not by: the trusted keys name
// another one, signer, who made it. Without People it returns nothing.
func (p People) of(by, signer, signature string, counts bool) ([]string, error) {
	if p == nil {
		return nil, nil
	}
	by = fleet.Person(by)
	names, impersonates, err := p(by, signature)
	if err == nil && impersonates && counts {
		err = fmt.Errorf("it says that it is by %s, and was signed by %s", by, signer)
	}
	return names, err
}

// requestsDir is the folder of all requests.
const requestsDir = "requests"

// List returns all requests, sorted. Where single files cannot be read, the
// error names them, and the list has all the others.
func (q *Requests) List(ctx context.Context) ([]fleet.Request, error) {
	head, t, err := q.branch.Read(ctx)
	if err != nil {
		return nil, err
	}
	return q.list(t, q.authors.asked(ctx, q.branch, head, t))
}

// list returns all in t, with what Verify says of each.
func (q *Requests) list(t fs.FS, complete completer) ([]fleet.Request, error) {
	list, err := readRequests(t, complete)
	if q.Verify == nil {
		return list, err
	}
	for i := range list {
		if list[i].Unreadable { // it is not known who asked: it is for the agent to say what stood before
			list[i].Distrusted = "it cannot be read"
			continue
		}
		content, bad := signedContent(list[i])
		if bad == nil {
			list[i].Signer, bad = q.Verify(content, list[i].Signature)
		}
		if bad == nil && len(list[i].Reviewers) > 0 {
			bad = q.ownKey(list[i].Signer)
		}
		if bad == nil {
			// An answer is not signed, so whether there is one is no reason to believe a request. One that is
			// over changes nothing, and stays as the record that it is.
			counts := list[i].Open() || list[i].InEffect()
			list[i].Names, bad = q.People.of(list[i].By, list[i].Signer, list[i].Signature, counts)
		}
		if bad != nil && fleet.KindOf(bad) != fleet.Unknown {
			return nil, bad
		}
		if bad != nil {
			list[i].Signer, list[i].Names, list[i].Distrusted = "", nil, bad.Error()
		}
	}
	return list, err
}

// ownKey returns why signer is not this agent, which alone stands for the reviews of others. A
// process that signs nothing does not know it.
func (q *Requests) ownKey(signer string) error {
	if q.Sign == nil {
		return nil
	}
	probe := []byte("fairlead-probe\n")
	signature, err := q.Sign(probe)
	if err != nil {
		return err
	}
	own, err := q.Verify(probe, signature)
	if err == nil && own != signer {
		err = fmt.Errorf("it names reviewers, and was signed by %s and not by the agent", signer)
	}
	return err
}

// Ask leaves r on the branch. While the same is asked for already the error is
// of kind Conflict.
func (q *Requests) Ask(ctx context.Context, r fleet.Request) error {
	op := "ask to " + r.String()
	if err := checkRequest(r); err != nil {
		return fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	r.Answer = fleet.Answer{}
	r.Reason, r.By = fleet.PlainLines(r.Reason), fleet.PlainLines(r.By) // as the file has them: see plain
	if q.Sign != nil {
		content, err := signedContent(r)
		if err == nil {
			r.Signature, err = q.Sign(content)
		}
		if err != nil {
			return fleet.Errorf(fleet.Invalid, op, "cannot sign it: %w", err)
		}
	}
	return q.change(ctx, op, func(_ fs.FS, all []fleet.Request, mayHave bool) (edit, error) {
		for _, old := range all {
			switch {
			case !old.SameSubject(r):
			case mayHave && old.Identical(r): // also if it was answered since
				return edit{}, nil
			case old.Open():
				return edit{}, fleet.Errorf(fleet.Conflict, op, "the same request, by %s at %s, is still open: wait until it is completed, or withdraw it by deleting its file from the status branch", old.By, old.At.UTC().Format(time.RFC3339))
			}
		}
		return edit{put: []fleet.Request{r}, why: r.String(), more: r.Reason}, nil
	})
}

// Withdraw takes back the open request that r is the same as. Where there is
// none the error is of kind NotFound.
func (q *Requests) Withdraw(ctx context.Context, r fleet.Request, why string) error {
	op := "take back: " + r.String()
	return q.change(ctx, op, func(_ fs.FS, all []fleet.Request, mayHave bool) (edit, error) {
		i := slices.IndexFunc(all, func(old fleet.Request) bool { return old.SameSubject(r) && old.Open() })
		switch {
		case i >= 0:
			return edit{drop: all[i : i+1], why: op, more: why}, nil
		case mayHave:
			return edit{}, nil
		}
		return edit{}, fleet.Errorf(fleet.NotFound, op, "there is no such request")
	})
}

// Answer writes the answers of those in list whose request is on the branch
// unchanged, and drops those in gone, as of, the owner of the fleet. The error is
// of kind Conflict where that is not the owner any more.
func (q *Requests) Answer(ctx context.Context, of fleet.Owner, list, gone []fleet.Request) error {
	const op = "answer requests"
	return q.change(ctx, op, func(t fs.FS, all []fleet.Request, _ bool) (edit, error) {
		now, err := q.owner(t)
		if err != nil {
			return edit{}, err
		}
		if now != of {
			return edit{}, fleet.Errorf(fleet.Conflict, op, "%w", deposedBy(now, of))
		}
		var e edit
		var lines []string
		for _, old := range all {
			is := func(r fleet.Request) bool { return r.Identical(old) }
			if slices.ContainsFunc(gone, is) {
				e.drop = append(e.drop, old)
				continue
			}
			i := slices.IndexFunc(list, is)
			if i < 0 || list[i].Answer == old.Answer {
				continue
			}
			e.put = append(e.put, list[i])
			lines = append(lines, fmt.Sprintf("%s: %s", list[i], said(list[i].Answer)))
		}
		switch len(lines) {
		case 0:
			e.why = "requests: old answers removed"
		case 1:
			e.why = oneLine(lines[0], 72)
			e.more = lines[0]
		default:
			e.why, e.more = fmt.Sprintf("requests: %d answers", len(lines)), strings.Join(lines, "\n")
		}
		e.trailers = trailers(fleet.Revision{}, of)
		return e, nil
	})
}

func said(a fleet.Answer) string {
	if a.Message == "" {
		return strings.ToLower(string(a.State))
	}
	return strings.ToLower(string(a.State)) + ", " + a.Message
}

// An edit is the effect of a change of the requests.
type edit struct {
	put, drop []fleet.Request
	why, more string
	trailers  []string
}

// change reads the requests, has decide say what becomes of them, and commits
// that, until there is an answer. decide learns whether an earlier push of this
// change may have landed.
func (q *Requests) change(ctx context.Context, op string, decide func(t fs.FS, all []fleet.Request, mayHave bool) (edit, error)) error {
	return commitHere(ctx, q.branch, op, func(t fs.FS, mayHave bool) (sources.Commit, error) {
		all, _ := readRequests(t, q.authors.known(t)) // what cannot be read is in no one's way
		e, err := decide(t, all, mayHave)
		if err != nil || len(e.put)+len(e.drop) == 0 {
			return sources.Commit{}, err
		}
		edits := make(map[string][]byte, len(e.put)+len(e.drop))
		for _, r := range e.drop {
			edits[requestPath(r)] = nil
			if r.Kind == fleet.RequestSuspend {
				damaged, _ := damagedSuspensions(t, q.authors.known(t)) // what cannot be listed stays
				for _, p := range damaged[r.Cluster] {
					edits[p] = nil
				}
			}
		}
		for _, r := range e.put {
			if edits[requestPath(r)], err = requestKind.encode(r.String(), fileOf(r)); err != nil {
				return sources.Commit{}, err
			}
		}
		text := e.why
		if e.more != "" && e.more != e.why {
			text += "\n\n" + e.more
		}
		return sources.Commit{Edits: edits, Message: text, Trailers: e.trailers}, nil
	})
}

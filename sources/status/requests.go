package status

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Requests are the wishes of people on a status branch:
//
//	requests/<namespace>/<cluster>/<wish>[-<machine>|-<what>].yaml
//
// A person writes a file, the owner of the fleet writes its answer into it.
type Requests struct {
	branch sources.Branch
}

// NewRequests returns the requests on branch.
func NewRequests(branch sources.Branch) *Requests { return &Requests{branch: branch} }

// requestsDir is the folder of all requests.
const requestsDir = "requests"

// requestFile is one request.
type requestFile struct {
	typeMeta
	Wish       string      `json:"wish"`
	Cluster    string      `json:"cluster"` // namespace/name
	Machine    string      `json:"machine,omitempty"`
	ProviderID string      `json:"providerID,omitempty"`
	What       string      `json:"what,omitempty"`
	Until      *time.Time  `json:"until,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	By         string      `json:"by"`
	At         time.Time   `json:"at"`
	Answer     *answerFile `json:"answer,omitempty"`
}

type answerFile struct {
	State   string    `json:"state"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
}

// List returns all requests, sorted. Where single files cannot be read, the
// error names them, and the list has all the others.
func (q *Requests) List(ctx context.Context) ([]fleet.Request, error) {
	_, t, err := q.branch.Read(ctx)
	if err != nil {
		return nil, err
	}
	return readRequests(t)
}

// Ask leaves r on the branch. While the same is asked for already the error is
// of kind Conflict.
func (q *Requests) Ask(ctx context.Context, r fleet.Request) error {
	op := "ask to " + r.String()
	if err := checkRequest(r); err != nil {
		return fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	r.Answer = fleet.Answer{}
	return q.change(ctx, op, func(_ fs.FS, all []fleet.Request, mayHave bool) (edit, error) {
		for _, old := range all {
			switch {
			case !old.Same(r) || !old.Open():
			case mayHave && old.Is(r):
				return edit{}, nil
			default:
				return edit{}, fleet.Errorf(fleet.Conflict, op, "it is asked for already, by %s at %s: take that back first, or wait for its end", old.By, old.At.UTC().Format(time.RFC3339))
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
		i := slices.IndexFunc(all, func(old fleet.Request) bool { return old.Same(r) && old.Open() })
		switch {
		case i >= 0:
			return edit{drop: all[i : i+1], why: op, more: why}, nil
		case mayHave:
			return edit{}, nil
		}
		return edit{}, fleet.Errorf(fleet.NotFound, op, "nobody asks for it")
	})
}

// Answer writes the answers of those in list whose request is on the branch
// unchanged, and drops those in gone, as of, the owner of the fleet. The error is
// of kind Conflict where that is not the owner any more.
func (q *Requests) Answer(ctx context.Context, of fleet.Owner, list, gone []fleet.Request) error {
	const op = "answer requests"
	return q.change(ctx, op, func(t fs.FS, all []fleet.Request, _ bool) (edit, error) {
		now, err := readOwner(t)
		if err != nil {
			return edit{}, err
		}
		if now != of {
			return edit{}, fleet.Errorf(fleet.Conflict, op, "%w", deposedBy(now, of))
		}
		var e edit
		var lines []string
		for _, old := range all {
			is := func(r fleet.Request) bool { return r.Is(old) }
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

// An edit is what a change of the requests comes to.
type edit struct {
	put, drop []fleet.Request
	why, more string
	trailers  []string
}

// change reads the requests, has decide say what becomes of them, and commits
// that, until there is an answer. decide learns whether an earlier push of this
// change may have landed.
func (q *Requests) change(ctx context.Context, op string, decide func(t fs.FS, all []fleet.Request, mayHave bool) (edit, error)) error {
	mayHave := false
	for wait := (backoff{}); ; {
		head, t, err := q.branch.Read(ctx)
		if err != nil {
			return err
		}
		all, _ := readRequests(t) // who cannot be read is in nobody's way
		e, err := decide(t, all, mayHave)
		if err != nil || len(e.put)+len(e.drop) == 0 {
			return err
		}
		edits := make(map[string][]byte, len(e.put)+len(e.drop))
		for _, r := range e.drop {
			edits[requestPath(r)] = nil
		}
		for _, r := range e.put {
			if edits[requestPath(r)], err = encodeDocs(r.String(), fileOf(r)); err != nil {
				return err
			}
		}
		text := e.why
		if e.more != "" && e.more != e.why {
			text += "\n\n" + e.more
		}
		_, err = q.branch.Commit(ctx, head, sources.Commit{Edits: edits, Message: text, Trailers: e.trailers})
		switch fleet.KindOf(err) {
		case fleet.Conflict:
		case fleet.Unanswered:
			mayHave = true
		default:
			return err
		}
		if wait.sleep(ctx) != nil {
			return fleet.Errorf(fleet.KindOf(err), op, "%w", err)
		}
	}
}

// readRequests returns the requests in the tree of a status branch, sorted.
func readRequests(t fs.FS) ([]fleet.Request, error) {
	var out []fleet.Request
	var errs []error
	if _, err := fs.Stat(t, requestsDir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err := fs.WalkDir(t, requestsDir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		r, err := readRequest(t, p)
		if err != nil {
			errs = append(errs, unreadable(p, err))
			return nil
		}
		out = append(out, r)
		return nil
	})
	if err != nil {
		errs = append(errs, unreadable(requestsDir, err))
	}
	slices.SortFunc(out, fleet.Request.Compare)
	return out, errors.Join(errs...)
}

func readRequest(t fs.FS, p string) (fleet.Request, error) {
	b, err := fs.ReadFile(t, p)
	if err != nil {
		return fleet.Request{}, err
	}
	var f requestFile
	if err := yaml.UnmarshalStrict(b, &f); err != nil {
		return fleet.Request{}, err
	}
	if f.Kind != "Request" || f.APIVersion != apiVersion {
		return fleet.Request{}, fmt.Errorf("it is not an %s Request", apiVersion)
	}
	r := fleet.Request{
		Wish: fleet.Wish(f.Wish), Machine: fleet.MachineName(f.Machine), ProviderID: fleet.ProviderID(f.ProviderID),
		What: fleet.Rotation(f.What), Reason: f.Reason, By: f.By, At: f.At,
	}
	if f.Until != nil {
		r.Until = *f.Until
	}
	if a := f.Answer; a != nil {
		r.Answer = fleet.Answer{State: fleet.RequestState(a.State), Message: a.Message, At: a.At}
	}
	if r.Cluster, err = fleet.ParseKey(f.Cluster); err != nil {
		return fleet.Request{}, err
	}
	if err := checkRequest(r); err != nil {
		return fleet.Request{}, err
	}
	if want := requestPath(r); want != p {
		return fleet.Request{}, fmt.Errorf("a request to %s is called %s", r, want)
	}
	return r, nil
}

// checkRequest refuses what no agent would know what to make of.
func checkRequest(r fleet.Request) error {
	machine := false
	switch r.Wish {
	case fleet.WishReplace, fleet.WishRemediate:
		machine = true
	case fleet.WishSuspend, fleet.WishReconcile, fleet.WishAbandon, fleet.WishRotate:
	default:
		return fmt.Errorf("the wish %q is not known", r.Wish)
	}
	switch r.Answer.State {
	case "", fleet.RequestAccepted, fleet.RequestRefused, fleet.RequestDone:
	default:
		return fmt.Errorf("answer.state %q is not known", r.Answer.State)
	}
	switch {
	case machine && (r.Machine == "" || r.ProviderID == ""):
		return fmt.Errorf("to %s needs machine and providerID", r.Wish)
	case !machine && (r.Machine != "" || r.ProviderID != ""):
		return fmt.Errorf("to %s concerns a cluster, it has no machine", r.Wish)
	case r.Wish == fleet.WishRotate && !slices.Contains(fleet.Rotations(), r.What):
		return fmt.Errorf("to rotate needs what: one of %v, not %q", fleet.Rotations(), r.What)
	case r.Wish != fleet.WishRotate && r.What != "":
		return errors.New("only to rotate says what: leave what out")
	case !r.Until.IsZero() && r.Wish != fleet.WishSuspend:
		return errors.New("only to suspend has an end: leave until out")
	case r.By == "" || r.At.IsZero():
		return errors.New("it needs by and at: who asks, and when")
	}
	for _, part := range []string{r.Cluster.Namespace, r.Cluster.Name, string(r.Machine)} {
		if strings.ContainsAny(part, "/\\") || part == "." || part == ".." {
			return fmt.Errorf("%q is not a name", part)
		}
	}
	return nil
}

func requestPath(r fleet.Request) string {
	name := string(r.Wish)
	if r.Machine != "" {
		name += "-" + string(r.Machine)
	}
	if r.What != "" {
		name += "-" + string(r.What)
	}
	return path.Join(requestsDir, r.Cluster.Namespace, r.Cluster.Name, name+".yaml")
}

func fileOf(r fleet.Request) requestFile {
	f := requestFile{
		typeMeta: typeMeta{APIVersion: apiVersion, Kind: "Request"},
		Wish:     string(r.Wish), Cluster: r.Cluster.String(), Machine: string(r.Machine), ProviderID: string(r.ProviderID),
		What: string(r.What), Reason: r.Reason, By: r.By, At: r.At.UTC(),
	}
	if !r.Until.IsZero() {
		until := r.Until.UTC()
		f.Until = &until
	}
	if a := r.Answer; a.State != "" {
		f.Answer = &answerFile{State: string(a.State), Message: a.Message, At: a.At.UTC()}
	}
	return f
}

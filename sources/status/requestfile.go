package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// requestFile is one request.
type requestFile struct {
	typeMeta
	Wish       string      `json:"wish"`
	Cluster    string      `json:"cluster,omitempty"` // namespace/name; empty: of a stage
	Stage      string      `json:"stage,omitempty"`
	Release    string      `json:"release,omitempty"`
	Of         string      `json:"of,omitempty"`
	Reviewers  []string    `json:"reviewers,omitempty"`
	Machine    string      `json:"machine,omitempty"`
	ProviderID string      `json:"providerID,omitempty"`
	What       string      `json:"what,omitempty"`
	Until      *time.Time  `json:"until,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	By         string      `json:"by"`
	At         time.Time   `json:"at"`
	Signature  string      `json:"signature,omitempty"` // of all but itself and the answer
	Answer     *answerFile `json:"answer,omitempty"`
}

type answerFile struct {
	State   string    `json:"state"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
}

// readRequests returns the requests in the tree of a status branch, sorted. The error
// names those that cannot be read; of them, suspensions are returned as ones that
// stand until somebody repairs the file or takes them back: a cluster that somebody
// wanted left alone is not changed because of a typing mistake.
// complete adds who asked, and when, to one whose file does not say it.
func readRequests(t fs.FS, complete completer) ([]fleet.Request, error) {
	read := func(t fs.FS, p string) (fleet.Request, error) { return readRequest(t, p, complete) }
	list, err := readFolder(t, requestsDir, read, fleet.Request.Compare)
	if err == nil || fleet.KindOf(err) != fleet.Invalid {
		return list, err
	}
	damaged, lost := damagedSuspensions(t, complete)
	if lost != nil {
		return nil, fleet.Errorf(fleet.Unavailable, "read "+requestsDir+" of the status branch", "%w", lost)
	}
	for k, paths := range damaged {
		stands := fleet.Request{
			Kind: fleet.RequestSuspend, Cluster: k, By: "a file that cannot be read", At: time.Unix(0, 0).UTC(),
			Reason: paths[0] + " on the status branch: repair it, or take it back with fairlead resume",
			Answer: fleet.Answer{State: fleet.RequestAccepted}, Unreadable: true,
		}
		if !slices.ContainsFunc(list, func(r fleet.Request) bool { return r.SameSubject(stands) && r.InEffect() }) {
			list = append(slices.DeleteFunc(list, stands.SameSubject), stands)
		}
	}
	slices.SortFunc(list, fleet.Request.Compare)
	return list, err
}

// damagedSuspensions returns the paths of suspensions that cannot be read, sorted, by
// the cluster in whose folder they are.
func damagedSuspensions(t fs.FS, complete completer) (map[fleet.Key][]string, error) {
	out := make(map[fleet.Key][]string)
	err := fs.WalkDir(t, requestsDir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(path.Base(p), string(fleet.RequestSuspend)) {
			return err
		}
		folder, below := strings.CutPrefix(path.Dir(p), requestsDir+"/")
		k, notOne := fleet.ParseKey(folder)
		if _, bad := readRequest(t, p, complete); bad != nil && below && notOne == nil {
			out[k] = append(out[k], p)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return out, err
}

// readFolder returns what is in the files below dir in the tree of a status branch,
// sorted by compare. The error names those that cannot be read.
func readFolder[T any](t fs.FS, dir string, read func(fs.FS, string) (T, error), compare func(T, T) int) ([]T, error) {
	if _, err := fs.Stat(t, dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []T
	var errs []error
	err := fs.WalkDir(t, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		v, err := read(t, p)
		if err != nil {
			errs = append(errs, unreadable(p, err))
			return nil
		}
		out = append(out, v)
		return nil
	})
	if err != nil { // what else is there is not known: of no kind that lets readers go on without it
		return nil, fleet.Errorf(fleet.Unavailable, "read "+dir+" of the status branch", "%w", err)
	}
	slices.SortFunc(out, compare)
	return out, errors.Join(errs...)
}

func readRequest(t fs.FS, p string, complete completer) (fleet.Request, error) {
	b, err := fs.ReadFile(t, p)
	if err != nil {
		return fleet.Request{}, err
	}
	var f requestFile
	if err := requestKind.decode(b, &f); err != nil {
		return fleet.Request{}, err
	}
	r := fleet.Request{
		Kind: fleet.RequestKind(f.Wish), Machine: fleet.MachineName(f.Machine), ProviderID: fleet.ProviderID(f.ProviderID),
		What: fleet.Rotation(f.What), Reason: f.Reason, By: f.By, At: f.At, Signature: f.Signature,
	}
	if f.Until != nil {
		r.Until = *f.Until
	}
	if a := f.Answer; a != nil {
		r.Answer = fleet.Answer{State: fleet.RequestState(a.State), Message: a.Message, At: a.At}
	}
	r.Stage, r.Release, r.Of, r.Reviewers = f.Stage, fleet.ReleaseWay(f.Release), f.Of, f.Reviewers
	if f.Cluster != "" || f.Stage == "" {
		if r.Cluster, err = fleet.ParseKey(f.Cluster); err != nil {
			return fleet.Request{}, err
		}
	}
	if r.By == "" || r.At.IsZero() {
		if err := complete(p, &r); err != nil {
			return fleet.Request{}, err
		}
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
	switch r.Kind {
	case fleet.RequestReplace, fleet.RequestRemediate:
		machine = true
	case fleet.RequestSuspend, fleet.RequestReconcile, fleet.RequestAbandon, fleet.RequestRotate, fleet.RequestRelease:
	default:
		return fmt.Errorf("the request %q is not known", r.Kind)
	}
	switch r.Answer.State {
	case "", fleet.RequestAccepted, fleet.RequestRefused, fleet.RequestDone:
	default:
		return fmt.Errorf("answer.state %q is not known", r.Answer.State)
	}
	switch {
	case machine && (r.Machine == "" || r.ProviderID == ""):
		return fmt.Errorf("to %s needs machine and providerID", r.Kind)
	case !machine && (r.Machine != "" || r.ProviderID != ""):
		return fmt.Errorf("to %s concerns a cluster, it has no machine", r.Kind)
	case r.Kind == fleet.RequestRotate && !slices.Contains(fleet.Rotations(), r.What):
		return fmt.Errorf("to rotate needs what: one of %v, not %q", fleet.Rotations(), r.What)
	case r.Kind != fleet.RequestRotate && r.What != "":
		return errors.New("only to rotate says what: leave what out")
	case !r.Until.IsZero() && r.Kind != fleet.RequestSuspend:
		return errors.New("only to suspend has an end: leave until out")
	case r.By == "" || r.At.IsZero():
		return errors.New("it needs by and at: who asks, and when")
	}
	if err := checkRelease(r); err != nil {
		return err
	}
	for _, part := range []string{r.Cluster.Namespace, r.Cluster.Name, string(r.Machine), r.Stage} {
		if strings.ContainsAny(part, "/\\") || part == "." || part == ".." {
			return fmt.Errorf("%q is not a name", part)
		}
	}
	return nil
}

// checkRelease refuses a release of nothing, and what belongs to releases alone elsewhere.
func checkRelease(r fleet.Request) error {
	switch is := r.Kind == fleet.RequestRelease; {
	case len(r.Reviewers) > 0 && r.Release != fleet.ReleaseApprove:
		return errors.New("only to approve has reviewers: leave reviewers out")
	case !is && (r.Stage != "" || r.Release != "" || r.Of != ""):
		return errors.New("only to release has stage, release and of: leave them out")
	case is && !slices.Contains(fleet.ReleaseWays(), r.Release):
		return fmt.Errorf("to release needs release: one of %v, not %q", fleet.ReleaseWays(), r.Release)
	case is && (r.Stage != "") == (r.Cluster != fleet.Key{}):
		return errors.New("to release concerns a cluster or a stage: give one of them")
	case is && r.Release == fleet.ReleaseApprove && r.Stage == "":
		return errors.New("stages are approved, not clusters: give stage")
	}
	return nil
}

// signedContent returns what is signed of a request: all that is asked for, and nothing
// of the answer. It begins as no commit and no tag does.
func signedContent(r fleet.Request) ([]byte, error) {
	r.Signature, r.Answer = "", fleet.Answer{}
	b, err := json.Marshal(fileOf(r))
	return append([]byte("fairlead-request\n"), b...), err
}

// RequestPath returns the file of r on a status branch.
func RequestPath(r fleet.Request) string { return requestPath(r) }

func requestPath(r fleet.Request) string {
	name := string(r.Kind)
	if r.Machine != "" {
		name += "-" + string(r.Machine)
	}
	if r.What != "" {
		name += "-" + string(r.What)
	}
	if r.Release != "" {
		name += "-" + string(r.Release)
	}
	if r.Stage != "" { // in a folder of its own: those of clusters are one deeper
		return path.Join(requestsDir, "stages", name+"-"+r.Stage+".yaml")
	}
	return path.Join(requestsDir, r.Cluster.Namespace, r.Cluster.Name, name+".yaml")
}

func fileOf(r fleet.Request) requestFile {
	f := requestFile{
		typeMeta: requestKind.meta(),
		Wish:     string(r.Kind), Stage: r.Stage, Release: string(r.Release), Of: r.Of, Reviewers: r.Reviewers, Machine: string(r.Machine), ProviderID: string(r.ProviderID),
		What: string(r.What), Reason: r.Reason, By: r.By, At: r.At.UTC(), Signature: r.Signature,
	}
	if r.Stage == "" {
		f.Cluster = r.Cluster.String()
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

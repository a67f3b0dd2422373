package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// Plans are what an agent says of pull requests, and of refs without one, on a
// status branch:
//
//	plans/pull-requests/<number>.md    for people
//	plans/pull-requests/<number>.yaml  for programs
//	plans/<ref>.md, plans/<ref>.yaml   of a ref, such as refs/heads/proposals/x
type Plans struct {
	branch sources.Branch
	// Owner, if not nil, returns the owner in a tree, as Arbiter.In does.
	Owner func(fs.FS) (fleet.Owner, error)

	mu   sync.Mutex
	kept map[string]keptPlan // what List read last, by file
}

// keptPlan is what was read of a plan, and of which content.
type keptPlan struct {
	digest string
	plan   Plan
	err    error
}

// NewPlans returns those on branch.
func NewPlans(branch sources.Branch) *Plans { return &Plans{branch: branch} }

const (
	plansDir    = "plans/pull-requests"
	refPlansDir = "plans/refs"
)

// maxPlan bounds what is said of one pull request, in bytes.
const maxPlan = 1 << 20

// Bounds of what is recorded for programs, so that it can be read again: changes beyond them, the least
// harmful, are left out.
const (
	mostPlanned = 20_000
	mostReason  = 300 // bytes, or else characters
	mostWords   = 1000
	mostSummary = 100 * mostReason
)

// A Plan is what merging a pull request, or a ref, would change, and what became of it: the document that
// comments, the page, the command line and programs show.
type Plan struct {
	Number   int             `json:"pullRequest,omitempty"` // 0: there is none
	Ref      string          `json:"ref,omitempty"`         // its full name, "refs/…"; empty: it is of a pull request
	Fleet    fleet.ID        `json:"fleet,omitempty"`       // empty: no other one is in the repository
	Head     string          `json:"head"`                  // commit
	Base     string          `json:"base"`                  // revision that it was planned onto
	Tree     string          `json:"tree,omitempty"`        // identity of the merge; empty: there is none
	Look     string          `json:"look,omitempty"`        // identity of what was seen
	Verdict  string          `json:"verdict"`               // success, failure, error; of a ref also merged, done
	Summary  string          `json:"summary"`               // in one line: the changes, or why it fails
	Headline string          `json:"headline,omitempty"`    // in one line: the changes
	Changes  []PlannedChange `json:"changes"`               // that a merge adds, the most harmful first
	Omitted  int             `json:"omitted,omitempty"`     // changes that are too many to be recorded
	// Changes that come without the merge, too, and those that come only without it.
	Pending   []PlanPart  `json:"pending,omitempty"`
	Withdrawn []PlanPart  `json:"withdrawn,omitempty"`
	Clusters  []fleet.Key `json:"-"`                  // whose definitions or turns it changes, sorted
	Failures  []string    `json:"failures,omitempty"` // of the policy
	Accepted  string      `json:"accepted,omitempty"` // who accepted them
	Problems  []string    `json:"problems,omitempty"` // what of the merge cannot be used
	Errors    []string    `json:"errors,omitempty"`   // what could not be looked at
	Remarks   []string    `json:"remarks,omitempty"`
	Result    *PlanResult `json:"result,omitempty"`  // what became of it; nil: it is not merged
	Comment   string      `json:"comment,omitempty"` // id of the comment on the pull request that says it; empty: not known
	Text      string      `json:"-"`                 // Markdown, written for people: it is not read back
}

// A PlanPart is how much changes in one cluster.
type PlanPart struct {
	Cluster string `json:"cluster"` // empty: it is of fleet.yaml
	Changes int    `json:"changes"`
	Summary string `json:"summary"`
}

// A PlanResult is what became of a plan whose merge is in the base.
type PlanResult struct {
	Done     bool     `json:"done"`
	Waits    []string `json:"waits,omitempty"`    // for what, in which cluster
	Differs  []string `json:"differs,omitempty"`  // what is not as it was planned
	AsMerged []string `json:"asMerged,omitempty"` // clusters
}

// Name returns what p is of, for people.
func (p Plan) Name() string {
	if p.Ref != "" {
		return p.Ref
	}
	return fmt.Sprintf("pull request %d", p.Number)
}

// Path returns the file of p on the status branch that is for people.
func (p Plan) Path() string { return p.path() + ".md" }

func (p Plan) path() string {
	if p.Ref != "" {
		return path.Join("plans", escapedRef(p.Ref))
	}
	return path.Join(plansDir, strconv.Itoa(p.Number))
}

// fileLike are the segments of a ref that may be called as the file of another ref, and what those become.
var fileLike = regexp.MustCompile(`^(.+)(\.|%(?:25)*2E)(md|yaml)$`)

// longestPlanPath bounds the path of a plan in bytes, and deepestPlanPath in folders.
const longestPlanPath, deepestPlanPath = 230, 20

// CheckName says why the ref of p cannot have a plan: its plan is a file that is called after it, and
// a status branch with it could not be read.
func (p Plan) CheckName() error {
	odd := func(r rune) bool {
		return r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) // see fleet.PlainText
	}
	switch {
	case p.Ref != "" && !fs.ValidPath(p.Ref): // Git has no such name, a server may send one
		return fleet.Errorf(fleet.Invalid, "plan "+strconv.Quote(p.Ref), "its name is no path")
	case strings.ContainsFunc(p.Ref, odd):
		return fleet.Errorf(fleet.Invalid, "plan "+strconv.Quote(p.Ref), "its name has a character that the name of a file must not have")
	case len(p.Path()) > longestPlanPath, strings.Count(p.Path(), "/") > deepestPlanPath:
		return fleet.Errorf(fleet.Invalid, "plan "+p.Ref, "its name is too long")
	}
	return nil
}

// escapedRef returns the path of the plans of a ref, which no other ref has a file or a folder at: a folder
// whose name ends as a file does has %2E for the dot, or %252E for %2E.
func escapedRef(ref string) string {
	segments := strings.Split(ref, "/")
	for i, s := range segments[:len(segments)-1] {
		m := fileLike.FindStringSubmatch(s)
		switch {
		case m == nil:
		case m[2] == ".":
			segments[i] = m[1] + "%2E" + m[3]
		default:
			segments[i] = m[1] + "%25" + m[2][1:] + m[3]
		}
	}
	return strings.Join(segments, "/")
}

// Same reports whether p and o are of one pull request, or one ref.
func (p Plan) Same(o Plan) bool { return p.Number == o.Number && p.Ref == o.Ref }

// Bounded returns p in the form that is written and read again. Changes beyond the limits, the least harmful, are
// counted as omitted.
func (p Plan) Bounded() Plan {
	p, _, _ = p.encoded()
	return p
}

// encoded returns p within the limits, and its file for programs. The error is of kind Exhausted if it cannot
// be recorded.
func (p Plan) encoded() (Plan, []byte, error) {
	for _, list := range []*[]string{&p.Failures, &p.Problems, &p.Errors, &p.Remarks} {
		*list = bounded(*list)
	}
	p.Accepted, p.Summary, p.Headline = oneLine(p.Accepted, mostReason), oneLine(p.Summary, mostSummary), oneLine(p.Headline, mostSummary)
	if r := p.Result; r != nil {
		p.Result = &PlanResult{Done: r.Done, Waits: bounded(r.Waits), Differs: bounded(r.Differs), AsMerged: bounded(r.AsMerged)}
	}
	p.Changes = append([]PlannedChange{}, p.Changes...)
	for i := range p.Changes {
		p.Changes[i].To = ""
		if c := &p.Changes[i]; len(c.Reason) > mostReason {
			c.Reason = oneLine(c.Reason, mostReason)
		}
	}
	omit := func(most int) {
		if n := len(p.Changes) - most; n > 0 {
			p.Changes, p.Omitted = p.Changes[:most], p.Omitted+n
		}
	}
	omit(mostPlanned)
	b, err := planKind.encode(p.Name(), planFileOf(p))
	for len(p.Changes) > 1 && fleet.KindOf(err) == fleet.Exhausted {
		omit(len(p.Changes) / 2)
		b, err = planKind.encode(p.Name(), planFileOf(p))
	}
	return p, b, err
}

func bounded(list []string) []string {
	list = slices.Clone(list[:min(len(list), mostWords)])
	for i, text := range list {
		list[i] = oneLine(text, mostReason)
	}
	return list
}

// A PlannedChange is one thing that would be done.
type PlannedChange struct {
	Change  string `json:"change"`
	Cluster string `json:"cluster"` // empty: it is of fleet.yaml
	Pool    string `json:"pool,omitempty"`
	Machine string `json:"machine,omitempty"`
	By      string `json:"by,omitempty"`
	Addon   string `json:"addon,omitempty"`
	Host    string `json:"host,omitempty"`
	Waits   bool   `json:"waits,omitempty"` // for its turn in a rollout
	Reason  string `json:"reason"`
	To      string `json:"-"` // identifies what it changes to, where the reason does not say it; it is not recorded
}

// A planFile is the file of a plan that is for programs.
type planFile struct {
	typeMeta
	Plan

	Clusters []string `json:"clusters,omitempty"`
}

// List returns all, which are not to be changed, sorted by number and by ref. Where single files cannot be read, the error names
// them and is of kind Invalid, and the list has all the others.
func (q *Plans) List(ctx context.Context) ([]Plan, error) {
	_, tree, err := q.branch.Read(ctx)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := make(map[string]keptPlan, len(q.kept))
	var out []Plan
	var errs []error
	for _, dir := range []string{plansDir, refPlansDir} {
		list, err := readFolder(tree, dir, func(t fs.FS, p string) (Plan, error) {
			if strings.HasSuffix(p, ".md") {
				return Plan{}, nil
			}
			digest, err := tree.Digest(p)
			if err != nil {
				return Plan{}, err
			}
			k, same := q.kept[p]
			if !same || k.digest != digest {
				k.digest = digest
				k.plan, k.err = readPlan(t, p)
			}
			kept[p] = k
			return k.plan, k.err
		}, func(a, b Plan) int { return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Ref, b.Ref)) })
		if err != nil && fleet.KindOf(err) != fleet.Invalid {
			return nil, err
		}
		out, errs = append(out, list...), append(errs, err)
	}
	q.kept = kept
	return slices.DeleteFunc(out, func(p Plan) bool { return p.Same(Plan{}) }), errors.Join(errs...) // texts are no plans
}

// Write writes put, and removes what is said of those that are gone, as of, the owner of the
// fleet. What is as it was makes no commit. The error is of kind Conflict where that is
// not the owner any more.
func (q *Plans) Write(ctx context.Context, of fleet.Owner, put, gone []Plan) error {
	const op = "write plans"
	return commit(ctx, q.branch, op, func(t fs.FS, _ bool) (sources.Commit, error) {
		now, err := ownerIn(t, q.Owner)
		if err != nil {
			return sources.Commit{}, err
		}
		if now != of {
			return sources.Commit{}, fleet.Errorf(fleet.Conflict, op, "%w", deposedBy(now, of))
		}
		edits := make(map[string][]byte)
		var about []string
		edit := func(p string, content []byte) {
			old, err := fs.ReadFile(t, p)
			if errors.Is(err, fs.ErrNotExist) && content == nil || err == nil && content != nil && string(old) == string(content) {
				return
			}
			edits[p] = content
		}
		for _, p := range put {
			if err := p.CheckName(); err != nil {
				return sources.Commit{}, err
			}
			_, b, err := p.encoded()
			if err != nil {
				return sources.Commit{}, err
			}
			edit(p.path()+".yaml", b)
			edit(p.path()+".md", []byte(p.Text[:min(len(p.Text), maxPlan)]))
			about = append(about, p.Name()+": "+p.Summary)
		}
		for _, p := range gone {
			edit(p.path()+".yaml", nil)
			edit(p.path()+".md", nil)
			for _, k := range []fleet.ApprovalKind{fleet.ApprovePlan, fleet.ApproveChanges} {
				if p.Number > 0 {
					edit(approvalPath(fleet.Approval{PullRequest: p.Number, Kind: k}), nil)
				}
			}
			about = append(about, p.Name()+": its plan is removed")
		}
		if len(edits) == 0 {
			return sources.Commit{}, nil
		}
		subject := fmt.Sprintf("%d plans", len(about))
		if len(about) == 1 {
			subject = oneLine(about[0], 100)
		}
		return sources.Commit{Edits: edits, Message: subject, Trailers: trailers(fleet.Revision{}, of)}, nil
	})
}

func readPlan(t fs.FS, p string) (Plan, error) {
	b, err := fs.ReadFile(t, p)
	if err != nil {
		return Plan{}, err
	}
	var f planFile
	if err := planKind.decode(b, &f); err != nil {
		return Plan{}, err
	}
	if of := f.Plan; of.path()+".yaml" != p || !fs.ValidPath("x"+f.Ref) {
		return Plan{}, fmt.Errorf("it is not an %s Plan of the pull request, or the ref, that it is called after", apiVersion)
	}
	out := f.Plan
	for _, name := range f.Clusters {
		k, err := fleet.ParseKey(name)
		if err != nil {
			return Plan{}, err
		}
		out.Clusters = append(out.Clusters, k)
	}
	return out, nil
}

func planFileOf(p Plan) planFile {
	f := planFile{typeMeta: planKind.meta(), Plan: p}
	for _, k := range p.Clusters {
		f.Clusters = append(f.Clusters, k.String())
	}
	return f
}

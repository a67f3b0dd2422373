package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// PullRequests is the view of what open pull requests would change, as the agent planned it
// and the status branch says.
type PullRequests struct {
	Plans []PlanRow `json:"pullRequests"` // the newest first
}

// A PlanRow is the plan of one pull request, or of a ref, in short.
type PlanRow struct {
	Number   int      `json:"number,omitempty"`
	Ref      string   `json:"ref,omitempty"` // of a plan without a pull request
	Name     string   `json:"-"`             // for people
	Of       string   `json:"-"`             // as fairlead plan --pull-request takes it
	Address  string   `json:"-"`             // below pull-requests/
	URL      string   `json:"url,omitempty"` // of the pull request
	Sign     Sign     `json:"-"`
	Verdict  string   `json:"verdict"` // success, failure, error
	Summary  string   `json:"summary"`
	Head     string   `json:"head"`
	HeadURL  string   `json:"headURL,omitempty"`
	Base     string   `json:"base"`
	Behind   bool     `json:"behind,omitempty"` // what is followed now is another revision than Base; the plan may be the same for it
	Clusters []string `json:"clusters,omitempty"`
}

// A Plan is the view of what merging one pull request changes, as its reviewers see it.
type Plan struct {
	PlanRow
	Tree     string                 `json:"tree,omitempty"`
	Look     string                 `json:"look,omitempty"`
	Changes  []status.PlannedChange `json:"changes"`
	Text     string                 `json:"text"` // for people, Markdown
	Document status.Plan            `json:"plan"` // all of it

	Sections     []document.Section `json:"-"` // what it says
	Cut          bool               `json:"-"` // it says more
	TextURL      string             `json:"-"` // where the Git provider has all of it
	LinkedTo     []string           `json:"-"` // some of Clusters
	MoreClusters int                `json:"-"`
}

// How much of a plan is shown.
const (
	mostPlanItems = 300
	mostLinked    = 30
)

func pullRequestsView() view {
	return view{name: "pull-requests", title: "Pull requests", build: func(s *state, q query) (any, bool) {
		out := PullRequests{Plans: []PlanRow{}}
		for _, p := range s.Plans {
			out.Plans = append(out.Plans, planRow(p, s, q.options))
		}
		slices.SortFunc(out.Plans, func(a, b PlanRow) int { return cmp.Or(b.Number-a.Number, cmp.Compare(a.Ref, b.Ref)) })
		return out, true
	}}
}

func planView() view {
	return view{name: "plan", build: func(s *state, q query) (any, bool) {
		i := slices.IndexFunc(s.Plans, func(p status.Plan) bool { return addressOf(p) == q.proposal })
		if i < 0 {
			return nil, false
		}
		return planOf(s.Plans[i], s, q.options), true
	}}
}

func planOf(p status.Plan, s *state, o *Options) Plan {
	out := Plan{
		PlanRow: planRow(p, s, o), Tree: p.Tree, Look: p.Look, Changes: p.Changes, Text: document.Markdown(p), Document: p,
		TextURL: o.StatusForge.Tip(o.Branch, p.Path()),
	}
	if out.Changes == nil {
		out.Changes = []status.PlannedChange{}
	}
	out.Document.Changes = out.Changes
	out.Sections, out.Cut = first(document.Sections(p, true), mostPlanItems)
	out.LinkedTo = out.Clusters[:min(len(out.Clusters), mostLinked)]
	out.MoreClusters = len(out.Clusters) - len(out.LinkedTo)
	return out
}

// first returns sections with at most so many items, and whether that is less.
func first(sections []document.Section, items int) (some []document.Section, less bool) {
	for _, one := range sections {
		if less = len(one.Items) > items; less {
			one.Items = one.Items[:items]
			return append(some, one), true
		}
		items -= len(one.Items)
		some = append(some, one)
	}
	return some, false
}

func planRow(p status.Plan, s *state, o *Options) PlanRow {
	followed := s.Status.Fleet.Revision
	out := PlanRow{
		Number: p.Number, Ref: p.Ref, Of: strconv.Itoa(p.Number), Address: url.PathEscape(addressOf(p)), Sign: Problem, Verdict: p.Verdict, Summary: p.Summary,
		Head: p.Head, HeadURL: o.Forge.Commit(p.Head), Base: p.Base, Behind: !followed.IsZero() && p.Base != followed.String(),
	}
	out.Name = "#" + out.Of
	if p.Ref != "" {
		out.Of = strings.TrimPrefix(p.Ref, "refs/heads/")
		out.Name = out.Of
	} else {
		out.URL = o.Forge.PullRequest(p.Number)
	}
	switch p.Verdict {
	case "success", "done":
		out.Sign = OK
	case "failure":
		out.Sign = Failing
	}
	for _, k := range p.Clusters {
		out.Clusters = append(out.Clusters, k.String())
	}
	return out
}

// addressOf returns the address of a plan below pull-requests/. No ref has a tilde, and none of the addresses
// ends as a file of JSON does.
func addressOf(p status.Plan) string {
	if p.Ref == "" {
		return strconv.Itoa(p.Number)
	}
	return strings.ReplaceAll(p.Ref, "/", "~") + "~"
}

// titleOf returns the title of the page of a plan.
func titleOf(s *state, q query) string {
	for _, p := range s.Plans {
		if addressOf(p) == q.proposal && p.Ref != "" {
			return "Ref " + planRow(p, s, q.options).Name
		}
	}
	return "Pull request #" + q.proposal
}

// inShort returns a revision, as Revision.String writes it, with the beginning of its hash.
func inShort(revision string) string {
	ref, digest, ok := strings.Cut(revision, "@")
	if !ok {
		return revision
	}
	return ref + "@" + fleet.Revision{Ref: ref, Digest: digest}.Short()
}

// proposed returns the plans that change cluster k.
func proposed(s *state, k fleet.Key, o *Options) []PlanRow {
	var out []PlanRow
	for _, p := range s.Plans {
		if slices.Contains(p.Clusters, k) {
			out = append(out, planRow(p, s, o))
		}
	}
	return out
}

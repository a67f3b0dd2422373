package pullrequests

import (
	"html"
	"strings"

	"fairlead.dev/agent/plans/document"
	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
)

// Names of commit statuses. A fleet with a status branch of its own, which may share its repository with
// others, has its name behind them.
const (
	PlanStatus     = "fairlead/plan"
	RevisionStatus = "fairlead/revision"
)

// named returns the name of a status of this fleet.
func (q *PullRequests) named(status string) string {
	if of := q.fleetName(); of != "" {
		return status + "/" + string(of)
	}
	return status
}

// fleetName returns the name of the fleet for titles; empty: it is alone in its repository.
func (q *PullRequests) fleetName() fleet.ID {
	now := q.p.Fleet.Now()
	if shared(now.Config()) {
		return now.ID()
	}
	return ""
}

// shared reports whether other fleets may be in the repository: each of them has a status branch of its own.
func shared(c fleet.Config) bool {
	return c.StatusBranch != "" && c.StatusBranch != fleet.DefaultStatusBranch
}

// mark begins the agent's comment, for the fleet of that name.
func mark(id fleet.ID) string { return markBegin + html.EscapeString(string(id)) + markEnd }

const (
	markBegin = "<!-- fairlead:plan:"
	markEnd   = " -->\n"
)

// beside notes the fleet that a comment of the agent's account is of, if it is another one: the statuses of both are
// called the same unless one of them has its name there.
func (q *PullRequests) beside(c forge.Comment) {
	rest, marked := strings.CutPrefix(normal(c.Text), markBegin)
	name, text, whole := strings.Cut(rest, markEnd)
	id := fleet.ID(html.UnescapeString(name))
	if !marked || !whole || id == q.p.Fleet.Now().ID() {
		return
	}
	if q.fleetName() != "" || !strings.HasPrefix(text, "### "+document.Title+": ") {
		id = ""
	}
	q.p.Beside(id)
}

package statusview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/fleet"
	"fairlead.dev/sources"
	"fairlead.dev/sources/status"
)

// A View is what the status branch says of a fleet, as JSON and YAML show it.
type View struct {
	Fleet    string           `json:"fleet"`
	Revision string           `json:"revision"`
	Applied  string           `json:"applied,omitempty"` // another one where the newest is refused
	Behind   []string         `json:"behind,omitempty"`  // clusters that are not yet as Applied says
	Owner    string           `json:"owner"`
	Epoch    int64            `json:"epoch"`
	Signed   string           `json:"signed,omitempty"` // of the owner: NotChecked, Yes, or why not; empty where no signatures are required
	Clusters []Cluster        `json:"clusters"`
	Problems []output.Problem `json:"problems,omitempty"`
	Orphans  []string         `json:"orphans,omitempty"`
	Home     *Home            `json:"home,omitempty"`
	Moving   *Move            `json:"moving,omitempty"`
	Rollout  *Rollout         `json:"rollout,omitempty"`
}

// A Home is where the agent is to live, as fleet.yaml says.
type Home struct {
	Cluster string `json:"cluster,omitempty"`
	Step    string `json:"step,omitempty"`    // of the move there, that is not done
	Message string `json:"message,omitempty"` // what it waits for
}

// A Move leads to the agent that the fleet is on its way to.
type Move struct {
	To   string `json:"to"`
	Step string `json:"step"`
}

// A Cluster is one of the fleet.
type Cluster struct {
	Name     string            `json:"name"`
	Phase    string            `json:"phase"`
	Version  string            `json:"version"`
	Revision string            `json:"revision"`
	Provider string            `json:"provider,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Ready    int               `json:"ready"`
	Desired  int               `json:"desired"`
	Endpoint string            `json:"endpoint,omitempty"`
	Waiting  []string          `json:"waiting,omitempty"`
	Problems []output.Problem  `json:"problems,omitempty"`
	Failure  string            `json:"failure,omitempty"`
	Addons   []Addon           `json:"addons,omitempty"`
	// Seconds is how long each phase of making it took, and Provisioned all of them.
	Seconds map[string]int `json:"seconds,omitempty"`
	message string
}

// Of returns the view of s.
func Of(s status.Status) View {
	v := View{
		Fleet: string(s.Fleet.Fleet), Revision: s.Fleet.Revision.String(),
		Owner: s.Owner.Agent, Epoch: s.Owner.Epoch, Clusters: []Cluster{}, Problems: output.Problems(s.Fleet.Problems),
	}
	v.Signed = signedBy(s)
	if !s.Fleet.Applied.IsZero() {
		v.Applied = s.Fleet.Applied.String()
	}
	for _, k := range s.Fleet.Behind {
		v.Behind = append(v.Behind, k.String())
	}
	for _, k := range s.Fleet.Orphans {
		v.Orphans = append(v.Orphans, k.String())
	}
	if h := s.Fleet.Home; h != (sources.HomeStatus{Undo: h.Undo}) {
		v.Home = &Home{Step: h.Step, Message: h.Message}
		if h.Cluster != (fleet.Key{}) {
			v.Home.Cluster = h.Cluster.String()
		}
	}
	if s.Next.To != "" {
		v.Moving = &Move{To: s.Next.To, Step: string(s.Next.Step)}
	}
	v.Rollout = rolloutOf(s.Fleet.Rollout)
	waits := make(map[fleet.Key]fleet.Wait, len(s.Fleet.Rollout.Waiting))
	for _, w := range s.Fleet.Rollout.Waiting {
		waits[w.Cluster] = w
	}
	for _, c := range s.Clusters {
		r := c.Report
		cv := Cluster{
			Name: r.Cluster.String(), Phase: string(r.Phase), Version: r.Version, Revision: r.Revision.String(),
			Provider: r.Provider, Labels: r.Labels, Waiting: r.Waiting, Problems: output.Problems(r.Problems), Failure: r.Failure, Addons: AddonsOf(c),
			message: MessageOf(r, slices.Contains(s.Fleet.Orphans, r.Cluster)),
		}
		if w, waiting := waits[r.Cluster]; waiting && cv.message == "" {
			cv.message = WaitText(w)
		}
		for _, l := range r.Milestones.PhaseDurations() {
			if cv.Seconds == nil {
				cv.Seconds = make(map[string]int)
			}
			cv.Seconds[string(l.Phase)] = int(l.Took.Seconds())
		}
		for _, p := range r.Pools {
			cv.Ready += p.Ready
			cv.Desired += p.Desired
		}
		if !r.Endpoint.IsZero() {
			cv.Endpoint = URL(r.Endpoint)
		}
		v.Clusters = append(v.Clusters, cv)
	}
	return v
}

// URL returns where the API server at e is reached.
func URL(e fleet.Endpoint) string { return fmt.Sprintf("https://%s:%d", e.Host, e.Port) }

// What is said of signatures.
const (
	SignedYes        = "Yes"
	SignedNotChecked = "NotChecked"
)

// signedBy says whether a key that counts signed the owner, as far as is known here; where
// no signatures are required, nothing.
func signedBy(s status.Status) string {
	switch {
	case s.Doubt != "":
		return s.Doubt
	case s.Checked && s.Signed:
		return SignedYes
	case s.Signed:
		return SignedNotChecked
	}
	return ""
}

// String says it on a line.
func (h *Home) String() string {
	var parts []string
	for _, s := range []string{h.Cluster, h.Step, h.Message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Message is the most important thing to say of a cluster.
func (c Cluster) Message() string { return c.message }

// MessageOf returns the most important thing to say of the cluster of r, on one line.
// orphan: it was removed from Git.
func MessageOf(r fleet.Report, orphan bool) string {
	var text string
	switch {
	case orphan: // what was said of it before is history
		text = "removed from Git"
	case r.Failure != "":
		text = r.Failure
	case r.Phase == PhaseRefused:
		text = "refused: " + r.Problems[0].String()
	case len(r.Problems) > 0:
		text = "stays at this revision: " + r.Problems[0].String()
	case Refused(r) != "":
		text = "refused: " + Refused(r)
	case Stopped(r) != "":
		text = "stopped: " + Stopped(r)
	case len(r.Waiting) > 0:
		text = "waiting: " + r.Waiting[0]
	default:
		text = cmp.Or(failedAddon(r), FailedPool(r), HeldBack(r))
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

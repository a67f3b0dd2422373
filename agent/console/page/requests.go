package page

import (
	"cmp"
	"slices"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// Requests is the view of what people ask for by hand.
type Requests struct {
	Requests []RequestRow `json:"requests"` // open ones first, then the newest first
}

// A RequestRow is one request.
type RequestRow struct {
	Wish     string     `json:"wish"`              // and for what
	Cluster  string     `json:"cluster,omitempty"` // none of a stage
	State    string     `json:"state"`             // Asked, Accepted, Refused or Done
	Message  string     `json:"message,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	By       string     `json:"by"`
	At       time.Time  `json:"at"`
	Answered *time.Time `json:"answered,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
	Distrust string     `json:"distrusted,omitempty"`
	Open     bool       `json:"open"`
	URL      string     `json:"url,omitempty"` // of its file, in the forge's editor
}

func requestsView() view {
	return view{name: "requests", title: "Requests", build: func(s *state, q query) (any, bool) {
		out := Requests{Requests: []RequestRow{}}
		for _, r := range s.Requests {
			out.Requests = append(out.Requests, requestRow(r, q.options))
		}
		slices.SortStableFunc(out.Requests, func(a, b RequestRow) int {
			return cmp.Or(btoi(b.Open)-btoi(a.Open), b.At.Compare(a.At))
		})
		return out, true
	}}
}

func requestRow(r fleet.Request, o *Options) RequestRow {
	out := RequestRow{
		Wish: r.String(), Cluster: r.Cluster.String(), State: cmp.Or(string(r.Answer.State), "Asked"), Message: r.Answer.Message, Reason: r.Reason,
		By: r.By, At: r.At.UTC(), Distrust: r.Distrusted, Open: r.Open(), URL: o.StatusForge.Edit(o.Branch, status.RequestPath(r)),
	}
	if r.Stage != "" {
		out.Cluster = ""
	}
	if !r.Until.IsZero() {
		out.Until = &r.Until
	}
	if at := r.Answer.At.UTC(); r.Answer.State != "" && !at.IsZero() {
		out.Answered = &at
	}
	return out
}

func countOpen(s *state) int {
	n := 0
	for _, r := range s.Requests {
		n += btoi(r.Open())
	}
	return n
}

package check

import (
	"context"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
)

// Charts checks whether each chart that clusters are to have can be fetched, from a repository
// or a registry. It installs nothing.
func (r *Report) Charts(ctx context.Context, clusters []*fleet.Cluster, f helm.Finder) {
	type source struct {
		chart    fleet.Chart
		login    string
		ca       string
		insecure bool
	}
	of := make(map[source][]string)
	var order []source
	access := make(map[source]fleet.ChartAccess)
	for _, c := range clusters {
		for _, release := range c.Releases {
			a := release.Access
			s := source{release.Chart, string(a.Credentials.Reveal()), string(a.CA.Reveal()), a.Insecure}
			if _, known := of[s]; !known {
				order, access[s] = append(order, s), a
			}
			of[s] = append(of[s], c.Key.String())
		}
	}
	for _, s := range order {
		err := f.Find(ctx, s.chart, access[s])
		r.Note("chart", subject(of[s]), fmt.Sprintf("%s is at %s", s.chart, s.chart.Repository), err)
	}
}

// Targets checks whether targets of notifications are reached, and take the credential,
// without a message to them. probe says what is found out of one.
func (r *Report) Targets(ctx context.Context, targets []fleet.NotificationTarget, probe func(context.Context, fleet.NotificationTarget) (string, error)) {
	for _, t := range targets {
		said, err := probe(ctx, t)
		r.Note("notifications", t.Name, said, err)
	}
}

// Package metrics counts what an agent does and shows how its clusters are, in the format
// of Prometheus. docs/reference/metrics.md lists every series.
//
// What it guarantees:
//
//   - The number of series is bounded by what the fleet holds: so many for each
//     cluster, pool and machine. URLs and revisions are on *_info alone, of which
//     there is one for each object.
//   - A series goes with the object that it describes, and all series of a fleet go
//     when another agent owns it.
//   - No label has a credential, nor anything that steers a terminal.
//
// Events are counted by a call. The state of clusters comes from the store of reports:
//
//	m := metrics.New(version)
//	store.Follow(m.Changed)
//	m.Fetched(ctx, "resolve", err, took)
//	http.Handle("GET /metrics", m.Handler(log))
package metrics

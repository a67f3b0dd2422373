// Package output shows what was found, to people and to programs: as a table, as
// Markdown, as JSON and as YAML.
//
// What it guarantees:
//
//   - What others say does not steer a terminal, in whatever format, and fills no screen.
//   - The same rows are the same bytes.
//
// Tables are aligned by text/tabwriter. The tables of lipgloss measure what a terminal
// shows and fill up each line, so that the same rows would be other bytes.
//
//	t := output.Table{Header: []string{"CLUSTER", "PHASE"}}
//	t.Add("prod/eu-1", "Provisioned")
//	err := t.Write(w, output.FormatTable, clusters)
package output

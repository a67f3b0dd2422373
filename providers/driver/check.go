package driver

import (
	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// Check calls of for each of clusters, which notes what it finds, and returns all findings. An error of
// it is a finding of the kind what: the cluster could not be checked further.
func Check(clusters []*fleet.Cluster, what string, of func(c *fleet.Cluster, note Note) error) []providers.Finding {
	var out []providers.Finding
	for _, c := range clusters {
		note := func(what, text string, err error) {
			out = append(out, providers.Finding{Clusters: []fleet.Key{c.Key}, What: what, Text: text, Err: err})
		}
		if err := of(c, note); err != nil {
			note(what, "", err)
		}
	}
	return out
}

// A Note notes a finding of one cluster, as fields of [providers.Finding].
type Note func(what, text string, err error)

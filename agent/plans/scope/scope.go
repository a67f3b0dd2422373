// Package scope is a part of a fleet: all of it, a folder, or a file of it.
package scope

import (
	"slices"
	"strings"

	"fairlead.dev/fleet"
	"fairlead.dev/sources/status"
)

// A Scope is the path of a folder or file from the root of a fleet. All is the whole
// fleet.
type Scope string

// All is the whole fleet.
const All Scope = "."

// Has reports whether an overlay lies in s.
func (s Scope) Has(overlay string) bool {
	return s == All || overlay == string(s) || strings.HasPrefix(overlay, string(s)+"/")
}

// Fleet returns what of f lies in s.
func (s Scope) Fleet(f fleet.Fleet) fleet.Fleet {
	var clusters []fleet.Cluster
	for _, c := range f.Clusters {
		if s.Has(c.Overlay) {
			clusters = append(clusters, c)
		}
	}
	f.Clusters, f.Problems, f.Warnings = clusters, s.Problems(f.Problems), s.Problems(f.Warnings)
	return f
}

// Problems returns those of list that concern s. Those of no overlay concern each part.
func (s Scope) Problems(list []fleet.Problem) []fleet.Problem {
	var out []fleet.Problem
	for _, p := range list {
		if p.Overlay == "" || s.Has(p.Overlay) {
			out = append(out, p)
		}
	}
	return out
}

// Status returns what st says of the clusters in s.
func (s Scope) Status(st status.Status) status.Status {
	st.Clusters = slices.DeleteFunc(slices.Clone(st.Clusters), func(c status.Cluster) bool { return !s.Has(c.Report.Overlay) })
	return st
}

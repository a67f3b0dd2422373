package demo

import (
	"context"
	"io/fs"

	"fairlead.dev/fleet"
)

// A story is what a demonstration shows: a fleet, and pushes to it.
type story struct {
	headline string
	ending   string // what was seen at the end
	files    fs.FS  // the fleet
	steps    []step
	clusters []fleet.Key // the first is what people try things on
	values   string      // its file
	// settings are those of providers, by provider and name.
	settings map[string]map[string]string
	inMemory bool // the agent serves the in-memory cloud
	// clean removes what the clusters left, once the agent has ended.
	clean func(context.Context) error
}

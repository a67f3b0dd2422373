package render

import (
	"io/fs"

	"fairlead.dev/fleet"
)

// Config returns what ConfigFile of tree says, and renders nothing. The error is
// as for Render.
func (b *Builder) Config(tree fs.FS) (fleet.Config, error) {
	c, err := b.config(tree)
	return c.Config, err
}

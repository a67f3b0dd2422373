// Package promise holds what Fairlead promises to who writes a provider elsewhere: a module
// of its own builds, is tested and runs with a provider of its own, and the exported Go API
// that it uses changes on purpose only.
package promise

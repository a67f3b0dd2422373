//go:build !unix

package supervise

// noCoreDump does nothing: this system has no core dumps.
func noCoreDump() {}

//go:build !unix

package program

// noCoreDump does nothing: there are no core dumps here.
func noCoreDump() {}

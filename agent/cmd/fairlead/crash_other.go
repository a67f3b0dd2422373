//go:build !unix

package main

// noCoreDump does nothing: there are no core dumps here.
func noCoreDump() {}

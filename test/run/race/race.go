//go:build race

// Package race says whether tests run with the race detector, which needs memory and time
// of its own.
package race

// Detector is whether it is there.
const Detector = true

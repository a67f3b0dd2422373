//go:build !linux

package sops

import "os/exec"

// apart is for systems with process groups that can be ended as one.
func apart(*exec.Cmd) {}

// limit is for systems that bound the memory of another process.
func limit(int, uint64) {}

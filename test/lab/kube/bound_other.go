//go:build !linux

package kube

import (
	"errors"
	"os/exec"
)

// startBound needs what only Linux has: the end of a process with its parent.
func startBound(*exec.Cmd) error { return errors.New("this runs on Linux only") }

type port struct{ number int }

func reserve() (*port, error) { return nil, errors.New("this runs on Linux only") }

func (*port) close() {}

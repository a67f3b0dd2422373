package lab

import (
	"os"
	"os/exec"
	"testing"
)

func TestKill(t *testing.T) {
	c := exec.CommandContext(t.Context(), "sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p := processOf(c.Process.Pid)
	if !p.alive() {
		t.Fatalf("%+v runs, and is not alive", p)
	}

	// The number of a process that ended may be another's by now.
	another := process{PID: p.PID, Start: "1"}
	if another.alive() {
		t.Error("a process with the number of another is alive")
	}
	if err := another.kill(); err != nil {
		t.Error(err)
	}
	if !p.alive() {
		t.Fatal("a process was killed for having the number of another")
	}

	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	if p.alive() { // nobody has buried it yet
		t.Error("it is alive after it was killed")
	}
	if err := c.Wait(); err == nil {
		t.Error("it ended well")
	}
	if err := p.kill(); err != nil {
		t.Errorf("killing what is gone: %v", err)
	}
	if err := (process{}).kill(); err != nil {
		t.Errorf("killing nothing: %v", err)
	}
}

func TestNobodyKillsTheFirstProcessOfTheHost(t *testing.T) {
	if processOf(1).alive() {
		t.Error("process 1 counts as one of a lab")
	}
	if !processOf(os.Getpid()).alive() {
		t.Error("this process is not alive")
	}
}

package kube

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// A process is a running program, which ends with this one.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how; set before done is closed
	log  string
}

// start starts a program that writes to the file log.
func start(log, program string, args ...string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{}), log: log} //nolint:noctx // it lives until stop
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.Dir = filepath.Dir(log)
	if err := startBound(p.cmd); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop kills p and waits for its end.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// ended says how p ended before it should have.
func (p *process) ended() error {
	<-p.done
	return fmt.Errorf("%s has ended: %w\n%s", filepath.Base(p.cmd.Path), p.err, tail(p.log))
}

// tail returns the last lines of a file.
func tail(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-20):], nil)
}

// A folder holds the files of a server, and goes with this process, however it
// ends: a shell waits for the end of its input, which this process holds open.
type folder struct {
	path    string
	remover *exec.Cmd
	held    io.Closer
}

// newFolder returns a folder with a short path, as socket files want it.
func newFolder() (*folder, error) {
	path, err := os.MkdirTemp("", "kube-")
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	// The servers die when this process does; until then they may write.
	f.remover = exec.Command("/bin/sh", "-c", `cat; until rm -rf "$0"; do sleep 0.1; done`, path) //nolint:noctx // it outlives all
	f.remover.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if f.held, err = f.remover.StdinPipe(); err != nil {
		return nil, err
	}
	if err := f.remover.Start(); err != nil {
		_ = os.RemoveAll(path)
		return nil, err
	}
	return f, nil
}

func (f *folder) remove() {
	if f == nil {
		return
	}
	_ = f.held.Close()
	_ = f.remover.Wait()
}

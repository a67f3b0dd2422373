package kube

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// starts runs functions on a thread that lives as long as this process: the
// kernel kills what is bound to its parent when the thread that started it ends.
//
//nolint:gochecknoglobals // the thread is the process's
var starts = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range c {
			f()
		}
	}()
	return c
})

// startBound starts c so that the kernel kills it when this process ends.
func startBound(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err := make(chan error)
	starts() <- func() { err <- c.Start() }
	return <-err
}

// A port is an address of this machine's loopback that no other process gets while it
// is held, but for processes that share it.
type port struct {
	number int
	socket int
}

// reserve finds a free port and binds it without listening there: who listens
// with SO_REUSEPORT gets all connections, and gets them again after a restart.
func reserve() (*port, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p := &port{socket: socket}
	err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var name unix.Sockaddr
	if err == nil {
		name, err = unix.Getsockname(socket)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	p.number = name.(*unix.SockaddrInet4).Port
	return p, nil
}

func (p *port) close() {
	if p != nil {
		_ = unix.Close(p.socket)
	}
}

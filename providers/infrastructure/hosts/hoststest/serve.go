package hoststest

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A Fault is what goes wrong with connections to a host.
type Fault struct {
	Refuse bool // they are closed at once
	Hang   bool // the server does not answer
	CutAt  int  // they break after so many bytes from the client; 0: they do not
}

// Set has every further connection go wrong as f says, and those that are there break.
func (h *Host) Set(f Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = f
	for c := range h.conns {
		_ = c.Close()
	}
}

// serve gives each connection an sshd.
func (h *Host) serve() {
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.serving.Go(func() { h.connection(conn) })
	}
}

func (h *Host) connection(conn net.Conn) {
	defer conn.Close()
	h.mu.Lock()
	f, off := h.fault, h.init == nil
	h.made++
	if !off {
		h.conns[conn] = true
	}
	h.mu.Unlock()
	if off || f.Refuse {
		return
	}
	if f.Hang {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	theirs := os.NewFile(uintptr(pair[1]), "sshd")
	file := os.NewFile(uintptr(pair[0]), "proxy")
	ours, err := net.FileConn(file)
	_ = file.Close()
	if err != nil {
		_ = theirs.Close()
		return
	}
	defer ours.Close()
	cmd, err := h.enter("/usr/sbin/sshd", "-i", "-f", "/etc/ssh/test_config")
	if err != nil {
		_ = theirs.Close()
		return
	}
	cmd.Stdin, cmd.Stdout = theirs, theirs
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return
	}
	var in io.Reader = conn
	if f.CutAt > 0 {
		in = io.LimitReader(conn, int64(f.CutAt))
	}
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(ours, in); _ = ours.Close(); _ = conn.Close() })
	both.Go(func() { _, _ = io.Copy(conn, ours); _ = conn.Close() })
	both.Wait()
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		<-done
	}
}

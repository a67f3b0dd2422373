package main

import (
	"io"
	"net"
	"runtime"
	"testing"

	"fairlead.dev/test/run/ports"
)

// TestLoopback: addresses of one port share a socket, and a connection comes to the listener of its address alone.
func TestLoopback(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all addresses of 127.0.0.0/8: another machine")
	}
	free, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free)
	n := &loopback{open: map[string]*listener{}, sockets: map[string]net.Listener{}}
	for _, host := range []string{"127.1.0.1", "127.1.0.2"} {
		l, err := n.listen(net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_, _ = io.WriteString(conn, host)
				_ = conn.Close()
			}
			_ = l.Close()
		}()
	}
	defer func() { _ = n.sockets[port].Close() }()
	if len(n.sockets) != 1 {
		t.Errorf("there are %d sockets", len(n.sockets))
	}
	if _, err := n.listen(net.JoinHostPort("127.1.0.1", port)); err == nil {
		t.Error("an address is opened twice")
	}
	for host, want := range map[string]string{"127.1.0.1": "127.1.0.1", "127.1.0.2": "127.1.0.2", "127.1.0.3": ""} {
		conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(conn); string(got) != want {
			t.Errorf("%s: %q answers, not %q", host, got, want)
		}
		_ = conn.Close()
	}
}

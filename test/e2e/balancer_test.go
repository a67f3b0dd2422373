package e2e

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// balance listens on address and joins each connection to one of the backends,
// as the load balancers do that people have in front of control planes: the
// first that accepts, so that a control plane which is gone is passed over.
func balance(t *testing.T, address string, backends []string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var connections sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		l.Close()
		connections.Wait()
	})
	connections.Go(func() {
		for next := 0; ; next++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { join(ctx, conn, backends, next) })
		}
	})
}

func join(ctx context.Context, conn net.Conn, backends []string, next int) {
	defer conn.Close()
	for i := range backends {
		to, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", backends[(next+i)%len(backends)])
		if err != nil {
			continue
		}
		defer to.Close()
		stop := context.AfterFunc(ctx, func() { conn.Close(); to.Close() })
		defer stop()
		ended := make(chan struct{}, 2)
		pass := func(to, from net.Conn) {
			io.Copy(to, from)
			to.(*net.TCPConn).CloseWrite()
			ended <- struct{}{}
		}
		go pass(to, conn)
		go pass(conn, to)
		<-ended
		<-ended
		return
	}
}

package server

import (
	"context"
	"strings"
	"testing"
)

// The error for an address in use names the address, and the flag to change.
func TestListenInUse(t *testing.T) {
	l, err := Listen(context.Background(), "listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, err = Listen(context.Background(), "page-listen", l.Addr().String())
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()+": the address is in use. Set --page-listen to another address") {
		t.Errorf("got %v", err)
	}
}

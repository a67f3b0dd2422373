package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on a TCP address, which the flag sets. The error says what to do if the
// address is in use.
func Listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("cannot listen on %s: the address is in use. Set --%s to another address, such as 127.0.0.1:0 for any free port, or stop the program that uses it", address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (--%s): %w", address, flag, err)
	}
	return l, nil
}

// Package ports finds free ports for programs that tests start.
package ports

import (
	"errors"
	"net"
	"sync"
)

var (
	mu    sync.Mutex              //nolint:gochecknoglobals // the ports of a process are one
	given = make(map[string]bool) //nolint:gochecknoglobals // the ports of a process are one
)

// Free returns an address of the loopback interface on which nothing listens. It returns no address twice: a
// program that does not listen yet keeps its own. Another process may still take it.
func Free() (string, error) {
	mu.Lock()
	defer mu.Unlock()
	for range 1000 {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it waits for nothing
		if err != nil {
			return "", err
		}
		address := l.Addr().String()
		if err := l.Close(); err != nil {
			return "", err
		}
		if !given[address] {
			given[address] = true
			return address, nil
		}
	}
	return "", errors.New("all free ports were given to programs of this process")
}

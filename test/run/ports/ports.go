// Package ports finds free ports for programs that tests start.
package ports

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

var (
	mu    sync.Mutex              //nolint:gochecknoglobals // the ports of a process are one
	given = make(map[string]bool) //nolint:gochecknoglobals // the ports of a process are one
)

// The ports that Free gives. They lie below those that Linux and macOS give to who listens on port 0, so
// that a test server of another process does not take one before its program listens.
const (
	first = 15000
	last  = 30000
)

// Free returns an address of the loopback interface on which nothing listens. It returns no address twice: a
// program that does not listen yet keeps its own. Another process may still take it.
func Free() (string, error) {
	mu.Lock()
	defer mu.Unlock()
	for range 1000 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(last-first)))
		if given[address] {
			continue
		}
		l, err := net.Listen("tcp", address) //nolint:noctx // it waits for nothing
		if err != nil {
			continue // somebody has it
		}
		if err := l.Close(); err != nil {
			return "", err
		}
		given[address] = true
		return address, nil
	}
	return "", errors.New("all free ports were given to programs of this process")
}

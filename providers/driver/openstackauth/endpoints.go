package openstackauth

import (
	"strings"
	"sync"
	"time"

	"fairlead.dev/providers/driver/transport"
)

// A Call is one request that was made of a cloud, for metrics and tests.
type Call struct {
	Service string // "compute", "network", …; "identity" for Keystone
	Method  string
	Path    string
	Status  int // 0 where there was no answer
	Took    time.Duration
}

// endpoints knows which service is at which address.
type endpoints struct {
	mu       sync.Mutex
	services map[string]string // by endpoint
}

func newEndpoints() *endpoints { return &endpoints{services: make(map[string]string)} }

// add notes that a service is at endpoint.
func (e *endpoints) add(endpoint, service string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.services[endpoint] = service
}

// service names the one that url leads to.
func (e *endpoints) service(url string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	longest, out := "", "identity"
	for endpoint, service := range e.services {
		if strings.HasPrefix(url, endpoint) && len(endpoint) > len(longest) {
			longest, out = endpoint, service
		}
	}
	return out
}

// call says which service a request was made of.
func (e *endpoints) call(c transport.Call) Call {
	return Call{Service: e.service(c.URL.String()), Method: c.Method, Path: c.URL.Path, Status: c.Status, Took: c.Took}
}

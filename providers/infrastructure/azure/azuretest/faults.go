package azuretest

import (
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
)

var errEnded = errors.New("connection reset by peer")

// A Call is a request that came to the resource manager.
type Call struct {
	Method string // with the kind: "PUT virtualmachines"; a listing is "LIST virtualmachines"
	ID     string
	Body   map[string]any
	Status int // 0: no answer
}

// Changes reports whether the call may change something.
func (c Call) Changes() bool {
	return !strings.HasPrefix(c.Method, "GET ") && !strings.HasPrefix(c.Method, "LIST ")
}

// A Fault is what goes wrong with requests.
type Fault struct {
	Method  string          // pattern for Call.Method: "PUT *"; empty: all
	Changes bool            // only calls that may change something
	When    func(Call) bool // only calls of which it is true
	Skip    int             // so many matching calls go well first
	Times   int             // so many go wrong then; 0: all

	Status  int // this is the answer, with Code, Message and Header
	Code    string
	Message string
	Header  http.Header
	Body    string // in the place of an error
	Lose    bool   // the request is carried out, and the connection ends without an answer
	Cut     bool   // it is not, and the connection ends
	Do      func(Call)
}

type injected struct {
	Fault
	seen, done int
	ended      bool
}

// Inject puts a fault in force until end is called, which returns how often it was met.
func (c *Cloud) Inject(f Fault) (end func() (met int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := &injected{Fault: f}
	c.faults = append(c.faults, in)
	return func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		in.ended = true
		return in.done
	}
}

// faultOf returns the first fault that is met by a call. The lock is held.
func (c *Cloud) faultOf(call Call) Fault {
	for _, in := range c.faults {
		if in.ended || in.Changes && !call.Changes() || in.When != nil && !in.When(call) {
			continue
		}
		if ok, err := path.Match(in.Method, call.Method); in.Method != "" && (err != nil || !ok) {
			continue
		}
		in.seen++
		if in.seen > in.Skip && (in.Times == 0 || in.seen <= in.Skip+in.Times) {
			in.done++
			return in.Fault
		}
	}
	return Fault{}
}

// Watch calls told before each request; nil ends that.
func (c *Cloud) Watch(told func(Call)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch = told
}

// Calls returns the requests that came since the start or the last ResetCalls.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// ResetCalls forgets the requests that came.
func (c *Cloud) ResetCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

package openstacktest

import (
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// A Moment is a point of a call.
type Moment string

// The moments of a call.
const (
	Before Moment = "before" // nothing is done yet
	After  Moment = "after"  // what was asked for is done, its answer is not given
)

// A Fault says which calls go wrong, and how. Empty fields match every call.
type Fault struct {
	Service string // type in the catalogue: "compute", "network", "load-balancer", …
	Method  string
	Path    string // below the service's version, with the wildcards of path.Match: "/ports/*"
	Changes bool   // only calls that change something
	Skip    int    // so many matching calls go well first
	Times   int    // so many go wrong then; 0: all

	Status     int           // this is answered and nothing is done
	Body       string        // of the answer; default: what a proxy in front of the service says
	RetryAfter time.Duration // seconds of the answer's Retry-After
	Cut        Moment        // the connection is cut
	Hang       Moment        // no answer comes until the caller gives up
	Delay      time.Duration // the call takes so much longer
	Do         func(c Call)  // is called before anything is done
}

// injected is a fault that is in force.
type injected struct {
	Fault
	seen int
}

// Inject puts a fault in force. The first fault that matches a call applies.
// The result takes it back.
func (c *Cloud) Inject(f Fault) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := path.Match(f.Path, ""); err != nil {
		panic("openstacktest: fault with path " + f.Path + ": " + err.Error())
	}
	in := &injected{Fault: f}
	c.faults = append(c.faults, in)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		in.Times = -1
	}
}

// fault returns what goes wrong with a call.
func (c *Cloud) fault(e Call) Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.faults {
		if !f.matches(e) {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times) {
			return f.Fault
		}
	}
	return Fault{}
}

func (f Fault) matches(e Call) bool {
	if f.Times < 0 || f.Changes && !e.Changes() || f.Service != "" && f.Service != e.Service || f.Method != "" && f.Method != e.Method {
		return false
	}
	ok, err := path.Match(f.Path, e.Path)
	return f.Path == "" || ok && err == nil
}

// answer writes what f says instead of what the service would.
func (f Fault) answer(w http.ResponseWriter) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
	}
	body := f.Body
	if body == "" {
		w.Header().Set("Content-Type", "text/html")
		text := strconv.Itoa(f.Status) + " " + http.StatusText(f.Status)
		body = "<html><head><title>" + text + "</title></head>\n<body><center><h1>" + text + "</h1></center></body></html>\n"
	}
	if strings.HasPrefix(body, "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(body)) // the other side may be gone
}

package maastest

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
)

var errEnded = errors.New("connection reset by peer")

// A Call is a request that came.
type Call struct {
	Method string // with its path below the API, and its operation: "POST machines/4y3h7n/ deploy"
	Query  url.Values
	Form   url.Values
	Status int // 0: no answer
}

// Changes reports whether the call may change something.
func (c Call) Changes() bool { return len(c.Method) < 4 || c.Method[:4] != "GET " }

func callOf(q *http.Request) (Call, error) {
	c := Call{Query: q.URL.Query(), Form: url.Values{}}
	p := q.URL.Path
	if len(p) > len("/MAAS/api/2.0/") {
		p = p[len("/MAAS/api/2.0/"):]
	}
	c.Method = q.Method + " " + p
	if op := c.Query.Get("op"); op != "" {
		c.Method += " " + op
	}
	if q.Body == nil {
		return c, nil
	}
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return c, err
	}
	c.Form, err = url.ParseQuery(string(body))
	return c, err
}

// A Fault is what goes wrong with requests.
type Fault struct {
	Method  string // pattern for Call.Method: "POST machines/*/ release"; empty: all
	Changes bool   // only calls that may change something
	Skip    int    // so many matching calls go well first
	Times   int    // so many go wrong then; 0: all

	Status int // this is the answer, with Body and Header
	Body   string
	Header http.Header
	After  bool       // the request is carried out before it is answered with Status
	Lose   bool       // it is carried out, and the connection ends without an answer
	Cut    bool       // it is not, and the connection ends
	Do     func(Call) // is called first
}

// injected is a fault in force.
type injected struct {
	Fault
	seen, done int
	ended      bool
}

// Inject puts a fault in force until end is called, which returns how often it was met.
func (r *Region) Inject(f Fault) (end func() (met int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := &injected{Fault: f}
	r.faults = append(r.faults, in)
	return func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		in.ended = true
		return in.done
	}
}

// faultOf returns the first fault that is met by c.
func (r *Region) faultOf(c Call) Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, in := range r.faults {
		if in.ended || in.Changes && !c.Changes() || !matches(in.Method, c.Method) {
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

func matches(pattern, method string) bool {
	ok, err := path.Match(pattern, method)
	return pattern == "" || err == nil && ok
}

// Watch calls told before each request; nil ends that.
func (r *Region) Watch(told func(Call)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = told
}

func (r *Region) watching() func(Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watch
}

func (r *Region) note(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// Calls returns the requests that came since the start or the last ResetCalls.
func (r *Region) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// ResetCalls forgets the requests that came.
func (r *Region) ResetCalls() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
}

package awstest

import (
	"slices"
	"strings"
	"time"
)

// A Call is one request that the cloud got.
type Call struct {
	N       int
	Service string // ec2, elasticloadbalancing, eks, sts, ssm, secretsmanager, s3, iam
	Action  string
	Form    map[string][]string // of a query
}

// Changes reports whether the call may change something.
func (c Call) Changes() bool {
	for _, look := range []string{"Describe", "Get", "List", "Assume"} {
		if strings.HasPrefix(c.Action, look) {
			return false
		}
	}
	return len(c.Form["DryRun"]) == 0
}

// A Cut is where a call breaks off.
type Cut int

// A call breaks off before it is done, or its answer is lost.
const (
	Whole Cut = iota
	Before
	After
)

// A Fault is what goes wrong with calls. Those of Action, or all, or with Changes those that change something; the
// first Skip of them go well, then Times go wrong, or all where that is 0.
type Fault struct {
	Action      string
	Changes     bool
	Looks       bool
	Skip, Times int

	Cut     Cut
	Status  int // of an error, with Code and Message
	Code    string
	Message string
	Do      func(Call) // is called before the call is done
}

type fault struct {
	Fault
	seen int
}

// Inject adds a fault, until remove is called.
func (c *Cloud) Inject(f Fault) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &fault{Fault: f}
	c.faults = append(c.faults, x)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.faults = slices.DeleteFunc(c.faults, func(o *fault) bool { return o == x })
	}
}

// Calls returns the calls so far.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Forget forgets the calls so far.
func (c *Cloud) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// hit returns the faults of a call. The caller holds mu.
func (c *Cloud) hit(call Call) []*fault {
	var out []*fault
	for _, f := range c.faults {
		if f.Action != "" && f.Action != call.Action || f.Changes && !call.Changes() || f.Looks && call.Changes() {
			continue
		}
		f.seen++
		if f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times) {
			out = append(out, f)
		}
	}
	return out
}

// A bucket has tokens, as EC2 has one for each action.
type bucket struct {
	size, refill, have float64
	last               time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.have = min(b.size, b.have+b.refill*now.Sub(b.last).Seconds())
	b.last = now
	if b.have < 1 {
		return false
	}
	b.have--
	return true
}

// Limit gives an action a bucket of a size, with so many tokens a second more.
func (c *Cloud) Limit(action string, size, refill float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buckets[action] = &bucket{size: size, refill: refill, have: size, last: time.Now()}
}

package wiring

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"fairlead.dev/agent/health"
	"fairlead.dev/agent/output"
	"fairlead.dev/agent/page"
)

// facts are what the page says of this process.
func (p *Process) facts() []page.Fact {
	out := []page.Fact{
		{Name: "Version", Value: fmt.Sprintf("%s, %s, %s/%s", p.o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)},
		{Name: "Replica", Value: p.replica.leads()},
	}
	out = append(out, p.replica.shares()...)
	if p.replica.agent.Load() != nil {
		out = append(out, page.Fact{Name: "Clusters waiting for a pass", Value: strconv.Itoa(p.replica.queued())})
	}
	for _, u := range p.Runtime.InUse() {
		out = append(out, page.Fact{Name: "Provider " + u.Provider, Value: fmt.Sprintf("%d of %s under way", u.Now, output.Count(u.Most, "call"))})
	}
	for _, f := range []struct{ name, what string }{{"Last poll", health.Polling}, {"Last render", health.Rendering}, {"Last pass", health.Passing}} {
		if at := p.settings.Watchdog.Ended(f.what); !at.IsZero() {
			out = append(out, page.Fact{Name: f.name, At: at.UTC()})
		}
	}
	return out
}

// shares say which replica holds which shards; nothing where the leader works on all clusters.
func (r *replica) shares() []page.Fact {
	shared := r.shared.Load()
	if shared == nil {
		return nil
	}
	shares, of := shared.Shares()
	out := []page.Fact{{Name: "Shards", Value: fmt.Sprintf("%d, held by %s", of, output.Count(len(shares), "replica"))}}
	for _, s := range shares {
		out = append(out, page.Fact{Name: "Shards of " + s.Replica, Value: numbers(s.Shards)})
	}
	return out
}

// numbers returns sorted numbers in words: "0 to 3, 7".
func numbers(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		switch end - i {
		case 0:
			out = append(out, strconv.Itoa(list[i]))
		case 1:
			out = append(out, strconv.Itoa(list[i]), strconv.Itoa(list[end]))
		default:
			out = append(out, fmt.Sprintf("%d to %d", list[i], list[end]))
		}
		i = end + 1
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

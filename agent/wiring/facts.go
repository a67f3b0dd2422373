package wiring

import (
	"fmt"
	"runtime"
	"strconv"

	"fairlead.dev/agent/console/output"
	"fairlead.dev/agent/console/page"
	"fairlead.dev/agent/observability/health"
)

// facts are what the page says of this process.
func (p *Process) facts() []page.Fact {
	out := []page.Fact{
		{Name: "Version", Value: fmt.Sprintf("%s, %s, %s/%s", p.o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)},
		{Name: "Replica", Value: p.replica.leads()},
	}
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

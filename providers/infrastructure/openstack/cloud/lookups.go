package cloud

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// lookupFor is how long is remembered what people name and seldom change:
// images, flavors, zones.
const lookupTTL = 5 * time.Minute

// lookups remembers the answers to questions that are asked for each machine.
type lookups struct {
	mu      *sync.Mutex
	answers map[string]*answer
}

type answer struct {
	mu    sync.Mutex // held while the question is asked
	value any
	until time.Time
}

func newLookups() lookups { return lookups{mu: new(sync.Mutex), answers: make(map[string]*answer)} }

// Lookup returns the answer to question, remembered for some minutes. Errors are
// not remembered, nor is an answer that keep refuses. The same question is asked
// once at a time.
func Lookup[T any](p *Project, question string, ask func() (T, error), keep func(T) bool) (T, error) {
	l := &p.lookups
	l.mu.Lock()
	a := l.answers[question]
	if a == nil {
		a = new(answer)
		l.answers[question] = a
	}
	l.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if v, ok := a.value.(T); ok && time.Now().Before(a.until) {
		return v, nil
	}
	v, err := ask()
	if err == nil && keep(v) {
		a.value, a.until = v, time.Now().Add(lookupTTL)
	}
	return v, err
}

// Extension reports whether Neutron has the extension called alias.
func (p *Project) Extension(ctx context.Context, alias string) (bool, error) {
	all, err := Lookup(p, "extensions", func() ([]string, error) {
		got, err := List(ctx, "extensions of Neutron", p.Network, func(c *gophercloud.ServiceClient) pagination.Pager {
			return extensions.List(c)
		}, extensions.ExtractExtensions)
		var aliases []string
		for _, e := range got {
			aliases = append(aliases, e.Alias)
		}
		return aliases, err
	}, func(got []string) bool { return len(got) > 0 })
	return slices.Contains(all, alias), err
}

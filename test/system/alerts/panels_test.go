package alerts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// panels are the queries of all dashboards, with those that have found something: a valid
// query that never finds anything is useless.
type panels struct {
	mu      sync.Mutex
	waiting map[string]string // place of a query, by the query
	all     int
}

// newPanels returns the queries that one agent can answer.
func newPanels(t *testing.T) *panels {
	t.Helper()
	p := &panels{waiting: make(map[string]string)}
	for file, d := range readDashboards(t) {
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				p.waiting[target.Expr] = fmt.Sprintf("%s: %s", file, panel.Title)
			}
		}
	}
	p.all = len(p.waiting)
	return p
}

// look runs the queries that have found nothing yet, on the fleet called world.
func (p *panels) look(t *testing.T, watch *watch, world string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for expr := range maps.Clone(p.waiting) {
		found, err := watch.query(strings.ReplaceAll(fill(expr), `"well"`, `"`+world+`"`))
		if err != nil {
			t.Error(err)
		}
		if len(found) > 0 {
			delete(p.waiting, expr)
		}
	}
}

// show waits until each query has found something.
func (p *panels) show(t *testing.T, watch *watch) {
	t.Helper()
	eventually(t, "all panels show something", func() error {
		p.look(t, watch, "well")
		var errs []error
		for _, expr := range slices.Sorted(maps.Keys(p.waiting)) {
			errs = append(errs, fmt.Errorf("%s: nothing is found by %s", p.waiting[expr], expr))
		}
		return errors.Join(errs...)
	})
	t.Logf("%d queries of dashboards have found something", p.all)
}

package sdk_test

import (
	"strings"
	"sync"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm/sdk"
)

// TestChartCache: charts come from repositories with an index and from registries, once
// for all who want them, and what is wrong is told in words that help.
func TestChartCache(t *testing.T) {
	d := newRepository(t)
	d.put(t, "note", "1.0.0", "", nil)
	d.put(t, "note", "v1.1.0+build.1", "", nil)
	d.put(t, "parts", "1.0.0", "type: library\n", nil)
	index, oci := d.URL+"/charts", "oci://"+d.host()+"/charts"
	for name, c := range map[string]struct {
		chart  fleet.Chart
		access func(*fleet.ChartAccess)
		kind   fleet.ErrorKind
		want   string
	}{
		"index":            {chart: fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}},
		"version with a v": {chart: fleet.Chart{Repository: index, Name: "note", Version: "v1.0.0"}},
		"registry":         {chart: fleet.Chart{Repository: oci, Name: "note", Version: "1.0.0"}},
		"registry, build":  {chart: fleet.Chart{Repository: oci, Name: "note", Version: "v1.1.0+build.1"}},
		"index, insecure":  {chart: fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, access: func(a *fleet.ChartAccess) { a.CA, a.Insecure = fleet.Secret{}, true }},
		"no version":       {chart: fleet.Chart{Repository: index, Name: "note", Version: "1.0.1"}, kind: "NotFound", want: "the index of the repository has no such version"},
		"no chart":         {chart: fleet.Chart{Repository: index, Name: "notes", Version: "1.0.0"}, kind: "NotFound", want: "the index of the repository has none of that name"},
		"no repository":    {chart: fleet.Chart{Repository: d.URL + "/other", Name: "note", Version: "1.0.0"}, kind: "NotFound", want: "/other/index.yaml answers 404 Not Found"},
		"not in registry":  {chart: fleet.Chart{Repository: oci, Name: "note", Version: "1.0.1"}, kind: "NotFound", want: "not found"},
		"library":          {chart: fleet.Chart{Repository: index, Name: "parts", Version: "1.0.0"}, kind: "Invalid", want: "a chart of type library, which cannot be installed"},
		"nobody, index":    {chart: fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, access: func(a *fleet.ChartAccess) { a.Credentials = fleet.Secret{} }, kind: "Unauthorized", want: "answers 401 Unauthorized"},
		"nobody, registry": {chart: fleet.Chart{Repository: oci, Name: "note", Version: "1.0.0"}, access: func(a *fleet.ChartAccess) { a.Credentials = fleet.Secret{} }, kind: "Unauthorized", want: "basic credential not found"},
		"no authority":     {chart: fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, access: func(a *fleet.ChartAccess) { a.CA = fleet.Secret{} }, kind: "Unavailable", want: "certificate signed by unknown authority"},
		"bad authority":    {chart: fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, access: func(a *fleet.ChartAccess) { a.CA = fleet.NewSecret([]byte("none")) }, kind: "Invalid", want: "there is no certificate in it"},
		"bad credentials":  {chart: fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, access: func(a *fleet.ChartAccess) { a.Credentials = fleet.NewSecret([]byte("hunter2")) }, kind: "Invalid", want: "they are no config.json of Docker"},
		"nobody there":     {chart: fleet.Chart{Repository: "https://127.0.0.1:1", Name: "note", Version: "1.0.0"}, kind: "Unavailable", want: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			a := d.access()
			if c.access != nil {
				c.access(&a)
			}
			chart, err := new(sdk.ChartCache).Chart(t.Context(), c.chart, a)
			if c.kind == "" {
				if err != nil || chart.Metadata.Name != "note" {
					t.Fatalf("got %v, %v", chart, err)
				}
				return
			}
			if err == nil || fleet.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error of kind %s: %v; want %s with %q", fleet.KindOf(err), err, c.kind, c.want)
			}
		})
	}

	var l sdk.ChartCache
	var wg sync.WaitGroup
	before := d.times("note-1.0.0.tgz")
	for range 10 {
		wg.Go(func() {
			if _, err := l.Chart(t.Context(), fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, d.access()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := l.Chart(t.Context(), fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, d.access()); err != nil {
		t.Error(err)
	}
	if n := d.times("note-1.0.0.tgz") - before; n != 1 {
		t.Errorf("eleven who want it are %d downloads", n)
	}
	if _, err := l.Chart(t.Context(), fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, fleet.ChartAccess{CA: d.access().CA}); fleet.KindOf(err) != fleet.Unauthorized {
		t.Errorf("what is kept is given to whom it is not for: %v", err)
	}

	d.mu.Lock()
	d.spoil = true
	d.mu.Unlock()
	_, err := new(sdk.ChartCache).Chart(t.Context(), fleet.Chart{Repository: index, Name: "note", Version: "1.0.0"}, d.access())
	if fleet.KindOf(err) != fleet.Invalid || !strings.Contains(err.Error(), "its digest is") {
		t.Errorf("a chart that is not what the index says: %v", err)
	}
}

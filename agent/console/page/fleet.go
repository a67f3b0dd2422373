package page

import (
	"bytes"
	"cmp"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// How much of a fleet is shown at once.
const (
	pageRows   = 100
	mostSigns  = 2000 // beyond, those as they should be are counted, and have no sign
	mostGroups = 200
)

// A Fleet is the view of all clusters.
type Fleet struct {
	All      int      `json:"clusters"`
	Matching int      `json:"matching"`
	Filter   string   `json:"filter,omitempty"`
	Labels   []string `json:"labelKeys,omitempty"` // that clusters have; they may be grouped by LABEL:KEY
	By       string   `json:"by"`
	Counts   []Count  `json:"counts"`
	Groups   []Group  `json:"groups"`
	Rows     []Row    `json:"rows"`
	From     int      `json:"from"`

	Query          string `json:"-"` // of the address, for the others on the next pages
	Previous, Next string `json:"-"`
	shown          []*cluster
	Seen           bool          `json:"-"` // an agent has written a status
	Source, Branch string        `json:"-"` // where it would be
	RowsHTML       template.HTML `json:"-"`
}

// A Count is how many clusters have a sign, and their place in a bar of 1,000.
type Count struct {
	Sign Sign `json:"sign"`
	N    int  `json:"clusters"`
	X, W int  `json:"-"`
}

// A Group is clusters with something in common.
type Group struct {
	Name  string        `json:"name"`
	N     int           `json:"clusters"`
	Bad   int           `json:"notOK"`
	Quiet int           `json:"-"` // as they should be, and without a sign of their own
	Cells template.HTML `json:"-"`

	clusters []*cluster
}

// Bys returns what clusters may be grouped by.
func (f Fleet) Bys() []string {
	out := fields()
	for _, key := range f.Labels {
		out = append(out, labelPrefix+key)
	}
	return out
}

// fields are what every cluster has a value of.
func fields() []string {
	return []string{"namespace", "version", "phase", "provider", "folder", "reason"}
}

// labelPrefix begins the name of a label among fields.
const labelPrefix = "label:"

// mostLabels bounds the keys of labels that are offered.
const mostLabels = 50

// labelsOf returns the keys of the labels that most of the clusters have, sorted.
func labelsOf(clusters []*cluster) []string {
	counts := make(map[string]int)
	for _, c := range clusters {
		for key := range c.row.Labels {
			counts[key]++
		}
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	keys = keys[:min(len(keys), mostLabels)]
	slices.Sort(keys)
	return keys
}

func fleetView() view {
	return view{name: "fleet", title: "Fleet", build: func(s *state, q query) (any, bool) { return fleetOf(s, q), true }}
}

// fleetOf returns the view of the fleet that q asks for.
func fleetOf(s *state, q query) Fleet {
	f := Fleet{All: len(s.clusters), Filter: q.filter, By: q.by, From: q.from, Seen: s.Status.Owner.Agent != "", Source: q.options.Source, Branch: q.options.Branch, Rows: []Row{}, Groups: []Group{}}
	f.Labels = s.labels
	if !slices.Contains(f.Bys(), f.By) {
		f.By = fields()[0]
	}
	words := strings.Fields(strings.ToLower(q.filter))
	counts, groups := make(map[Sign]int), make(map[string]*Group)
	var found []*cluster
	for _, c := range s.clusters {
		counts[c.row.Sign]++
		if !c.row.matches(words) {
			continue
		}
		found = append(found, c)
		name := c.row.field(f.By)
		g := groups[name]
		if g == nil {
			g = &Group{Name: name}
			groups[name] = g
		}
		g.add(c, len(s.clusters) > mostSigns)
	}
	f.Counts = bar(counts, f.All)
	for _, g := range groups {
		f.Groups = append(f.Groups, *g)
	}
	slices.SortFunc(f.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Bad, a.Bad)*btoi(f.By == "reason"), cmp.Compare(a.Name, b.Name))
	})
	f.Groups = f.Groups[:min(len(f.Groups), mostGroups)]
	slices.SortStableFunc(found, urgent)
	f.Matching = len(found)
	f.From = min(f.From, f.Matching)
	f.shown = found[f.From:min(f.From+pageRows, f.Matching)]
	for _, c := range f.shown {
		f.Rows = append(f.Rows, c.row)
	}
	f.pages(q)
	return f
}

// urgent orders clusters that need a person first.
func urgent(a, b *cluster) int {
	return cmp.Compare(slices.Index(Signs(), a.row.Sign), slices.Index(Signs(), b.row.Sign))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// add adds c to the group; quietly where it is as it should be.
func (g *Group) add(c *cluster, fold bool) {
	g.N++
	if c.row.Sign != OK {
		g.Bad++
	} else if fold {
		g.Quiet++
		return
	}
	g.clusters = append(g.clusters, c)
}

// pages links to the rows before and after.
func (f *Fleet) pages(q query) {
	f.Query = q.address()
	at := func(from int) string {
		v := url.Values{"from": {strconv.Itoa(from)}}.Encode()
		if f.Query != "" {
			v = f.Query + "&" + v
		}
		return "?" + v
	}
	if f.From > 0 {
		f.Previous = at(max(0, f.From-pageRows))
	}
	if f.From+pageRows < f.Matching {
		f.Next = at(f.From + pageRows)
	}
}

// First returns the number of the first row that is shown.
func (f Fleet) First() int { return f.From + 1 }

// Last returns the number of the last row that is shown.
func (f Fleet) Last() int { return f.From + len(f.Rows) }

// bar returns counts in the order of signs, with their places.
func bar(counts map[Sign]int, all int) []Count {
	out := []Count{}
	x := 0
	for _, s := range Signs() {
		if counts[s] == 0 {
			continue
		}
		w := max(counts[s]*1000/max(all, 1), 3)
		out = append(out, Count{Sign: s, N: counts[s], X: x, W: w})
		x += w
	}
	return out
}

// field returns what r has under a name of Bys, or another one that can be filtered by.
func (r Row) field(name string) string {
	namespace, _, _ := strings.Cut(r.Name, "/")
	switch name {
	case "namespace":
		return namespace
	case "version":
		return r.Version
	case "phase":
		return r.Phase
	case "provider":
		return r.Provider
	case "folder":
		return r.Folder
	case "reason":
		return r.Words
	case "state":
		return string(r.Sign)
	}
	if key, ok := strings.CutPrefix(name, labelPrefix); ok {
		return r.Labels[key]
	}
	return ""
}

// matches holds words against r: a part of its name or of what is said of it, or
// FIELD:BEGINNING, of which label:KEY=BEGINNING is one. All have to match.
func (r Row) matches(words []string) bool {
	text := ""
	for _, w := range words {
		name, value, ok := strings.Cut(w, ":")
		if ok && name+":" == labelPrefix {
			if !r.labelled(value) {
				return false
			}
			continue
		}
		if field := strings.ToLower(r.field(name)); ok && (field != "" || isField(name)) {
			if !strings.HasPrefix(field, value) {
				return false
			}
			continue
		}
		if text == "" {
			text = strings.ToLower(r.Name + " " + r.Words)
		}
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// labelled reports whether r has a label whose KEY=VALUE begins so.
func (r Row) labelled(beginning string) bool {
	for key, value := range r.Labels {
		if strings.HasPrefix(strings.ToLower(key+"="+value), beginning) {
			return true
		}
	}
	return false
}

func isField(name string) bool { return name == "state" || slices.Contains(fields(), name) }

// fleetContent returns the elements of f, of clusters that are rendered once.
func (p *Page) fleetContent(f Fleet) ([]byte, error) {
	var rows bytes.Buffer
	for _, c := range f.shown {
		_, row := p.parts(c)
		rows.Write(row)
	}
	f.RowsHTML = template.HTML(rows.String()) //nolint:gosec // a template made it
	for i := range f.Groups {
		var cells bytes.Buffer
		for _, c := range f.Groups[i].clusters {
			cell, _ := p.parts(c)
			cells.Write(cell)
		}
		f.Groups[i].Cells = template.HTML(cells.String()) //nolint:gosec // a template made it
	}
	return p.render("fleet", f)
}

package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/agent/plans/forge"
	"fairlead.dev/fleet"
)

// Options say how a fleet is shown.
type Options struct {
	// Hosts are the host names of the page, in addition to addresses and localhost. Requests
	// for other names are refused, against DNS rebinding.
	Hosts []string
	// Source is the repository of the fleet, as commands name it; without credentials.
	Source string
	// Path is the folder of the fleet in it.
	Path string
	// Branch is the name of the status branch.
	Branch string
	// Forge and StatusForge link to files of the source and of the status branch. Zero:
	// there are no links.
	Forge, StatusForge forge.Links
	// Started identifies this process: a tab that was connected to another process starts
	// again.
	Started time.Time
	// Streams is the largest number of tabs that listen at once; 0: 512.
	Streams int
	Log     *slog.Logger
}

// defaultStreams is how many tabs may listen.
const defaultStreams = 512

// A Page shows one fleet. It is safe for concurrent use.
type Page struct {
	o         Options
	templates *template.Template
	views     []view
	store     *store
	streams   chan struct{} // a place for each
	mux       *http.ServeMux
	ended     chan struct{} // closed by Close
	end       sync.Once

	mu       sync.Mutex
	rendered map[string][]byte // by address, of the state at
	at       int
}

var _ http.Handler = (*Page)(nil)

// New returns a page that knows of no fleet yet.
func New(o Options) (*Page, error) {
	t, err := templates()
	if err != nil {
		return nil, err
	}
	if o.Streams == 0 {
		o.Streams = defaultStreams
	}
	p := &Page{o: o, templates: t, views: views(), store: newStore(), streams: make(chan struct{}, o.Streams), mux: http.NewServeMux(), ended: make(chan struct{})}
	for _, v := range p.views {
		for _, pattern := range v.patterns() {
			p.mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, v) })
		}
	}
	p.mux.HandleFunc("GET /events", p.listen)
	for name, kind := range map[string]string{"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "page.svg": "image/svg+xml"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		p.mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Vary", "Accept-Encoding")
			p.answer(w, r, kind, b, http.StatusOK, nil)
		})
	}
	return p, nil
}

// patterns returns the addresses of v.
func (v view) patterns() []string {
	switch {
	case v.name == "fleet":
		return []string{"/{$}", "/fleet.json"}
	case v.path != "":
		return []string{"/" + v.path + "/{namespace}/{name}"}
	case v.name == "plan":
		return []string{"/pull-requests/{proposal}"}
	}
	return []string{"/" + v.name, "/" + v.name + ".json"}
}

// Show makes n what is shown.
func (p *Page) Show(n News) { p.store.set(n) }

// Close ends all streams, so that the server may end.
func (p *Page) Close() { p.end.Do(func() { close(p.ended) }) }

// ServeHTTP implements http.Handler. Links are relative, so that any prefix may be cut off
// before.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guarded(w.Header())
	if !knownHost(r.Host, p.o.Hosts) {
		http.Error(w, "the page is not served by the name "+fleet.PlainText(r.Host)+": add it with --page-host", http.StatusMisdirectedRequest)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout)) // a recorder has none
	p.mux.ServeHTTP(w, r)
}

// answerTimeout bounds an answer to a browser that reads slowly.
const answerTimeout = 30 * time.Second

// queryOf returns what r asks for.
func (p *Page) queryOf(r *http.Request) query {
	from, err := strconv.Atoi(r.FormValue("from"))
	if err != nil { // what is no number is the beginning
		from = 0
	}
	return query{
		filter: fleet.PlainText(r.FormValue("q")), by: r.FormValue("by"), from: max(from, 0), options: &p.o,
		key: fleet.Key{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}, proposal: strings.TrimSuffix(r.PathValue("proposal"), ".json"),
	}
}

// serve answers with v, as HTML or as JSON.
func (p *Page) serve(w http.ResponseWriter, r *http.Request, v view) {
	s, _ := p.store.now()
	q := p.queryOf(r)
	asJSON := strings.HasSuffix(r.URL.Path, ".json")
	if asJSON && s.byKey[q.key] == nil { // a name may end so
		q.key.Name = strings.TrimSuffix(q.key.Name, ".json")
	} else if v.path != "" {
		asJSON = false
	}
	asJSON = asJSON || strings.HasPrefix(r.Header.Get("Accept"), "application/json")
	data, found := v.build(s, q)
	code := http.StatusOK
	if !found {
		code = http.StatusNotFound
	}
	w.Header().Add("Vary", "Accept, Accept-Encoding")
	if asJSON {
		b, err := json.MarshalIndent(data, "", "  ")
		p.answer(w, r, "application/json", append(b, '\n'), code, err)
		return
	}
	b, err := p.document(s, v, q, data, found)
	p.answer(w, r, "text/html; charset=utf-8", b, code, err)
}

// document returns the whole page of v.
func (p *Page) document(s *state, v view, q query, data any, found bool) ([]byte, error) {
	f := p.frame(s, v, q)
	name := v.name
	if !found {
		name = "missing"
	}
	content, err := p.content(name, data)
	if err != nil {
		return nil, err
	}
	f.Content = template.HTML(content) //nolint:gosec // a template made it
	return p.render("document", f)
}

// answer sends b.
func (p *Page) answer(w http.ResponseWriter, r *http.Request, kind string, b []byte, code int, err error) {
	if err != nil {
		p.o.Log.Error("cannot show a page", "address", r.URL.Path, "error", err)
		http.Error(w, "the page cannot be shown: "+fleet.OneLine(err), http.StatusInternalServerError)
		return
	}
	b = safe(b)
	w.Header().Set("Content-Type", kind)
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(code)
		_, _ = w.Write(b) // the browser is gone
		return
	}
	var z bytes.Buffer
	c, err := gzip.NewWriterLevel(&z, gzip.BestSpeed)
	if err == nil {
		_, err = c.Write(b)
	}
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		p.o.Log.Error("cannot compress a page", "error", err)
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(code)
	_, _ = w.Write(z.Bytes())
}

// A frame is what all pages have.
type frame struct {
	Root, Title, Fleet, View, Query, JSON, Seq string
	Links                                      []link
	Revision                                   fleet.Revision
	RevisionURL                                string
	Refused                                    string // why the newest revision is not followed
	Trouble                                    string
	Owner                                      fleet.Owner
	Signed                                     string // why the owner is not to be believed
	Content                                    template.HTML
}

// A link leads to a view.
type link struct {
	Title, To string
	Here      bool
	Count     int
}

func (p *Page) frame(s *state, v view, q query) frame {
	f := s.Status.Fleet
	out := frame{
		Root: "./", Fleet: fleet.PlainText(string(f.Fleet)), View: v.name, Query: q.address(), JSON: v.name + ".json", Seq: p.number(s.seq),
		Revision: f.Revision, RevisionURL: p.o.Forge.Commit(f.Revision.Hash()), Owner: s.Status.Owner, Trouble: fleet.PlainText(s.Trouble), Title: v.title,
	}
	out.Signed = fleet.PlainText(s.Status.Doubt)
	if !f.Applied.IsZero() && f.Applied != f.Revision {
		out.Refused = "refused: everything stays at " + f.Applied.Short()
	}
	switch {
	case v.name == "plan":
		out.Root, out.Title, out.View, out.JSON = "../", titleOf(s, q), "pull-requests/"+q.proposal, url.PathEscape(q.proposal)+".json"
	case v.path != "":
		out.Root, out.Title, out.View, out.JSON = "../../", q.key.String()+v.of, v.path+"/"+q.key.String(), q.key.Name+".json"
	}
	for _, other := range p.views {
		if other.title == "" {
			continue
		}
		l := link{Title: other.title, To: out.Root + other.name, Here: other.name == v.name}
		switch other.name {
		case "fleet":
			l.To = out.Root
		case "pull-requests":
			l.Count, l.Here = len(s.Plans), l.Here || v.name == "plan"
		case "rollouts":
			l.Count = countAttention(s)
		case "problems":
			l.Count = countProblems(s)
		case "requests":
			l.Count = countOpen(s)
		}
		out.Links = append(out.Links, l)
	}
	return out
}

package page

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// How streams go.
const (
	beat        = 15 * time.Second       // between signs of life
	gather      = 500 * time.Millisecond // for which news are gathered
	sendTimeout = 10 * time.Second       // for a browser to take what is sent
)

// number returns the event id for seq, which is unique for this process.
func (p *Page) number(seq int) string {
	return strconv.FormatInt(p.o.Started.UnixMilli(), 36) + "-" + strconv.Itoa(seq)
}

// sequence is the inverse of number. It reports false for a number of another process.
func (p *Page) sequence(text string) (int, bool) {
	_, digits, _ := strings.Cut(text, "-")
	seq, err := strconv.Atoi(digits)
	return seq, err == nil && p.number(seq) == text
}

// listen tells a tab what changes in its view, until it goes.
func (p *Page) listen(w http.ResponseWriter, r *http.Request) {
	select {
	case p.streams <- struct{}{}:
		defer func() { <-p.streams }()
	default:
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many tabs listen", http.StatusServiceUnavailable)
		return
	}
	v, q, ok := p.viewAt(r)
	if !ok {
		http.Error(w, "there is no such view", http.StatusNotFound)
		return
	}
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = r.FormValue("since")
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy is to pass on what it gets
	control := http.NewResponseController(w)
	send := func(b []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a recorder has none
		_, err := w.Write(b)
		return err == nil && control.Flush() == nil
	}
	seq, known := p.sequence(since)
	if s, _ := p.store.now(); !known || seq > s.seq {
		send([]byte("event: reload\ndata: the server restarted\n\n"))
		return
	}
	ticks := time.NewTicker(beat)
	defer ticks.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-p.ended:
			return
		case <-pause.C:
		}
		s, news := p.store.now()
		if b := p.since(s, v, q, seq); !send(b) {
			return
		}
		seq = s.seq
		select {
		case <-news:
		case <-ticks.C:
		case <-p.ended:
		case <-r.Context().Done():
		}
		pause.Reset(gather)
	}
}

// viewAt returns the view whose changes r asks for.
func (p *Page) viewAt(r *http.Request) (view, query, bool) {
	q, name := p.queryOf(r), r.FormValue("of")
	for _, v := range p.views {
		if rest, ok := strings.CutPrefix(name, v.path+"/"); ok && v.path != "" {
			q.key.Namespace, q.key.Name, _ = strings.Cut(rest, "/")
			name = v.name
		}
	}
	if proposal, plan := strings.CutPrefix(name, "pull-requests/"); plan {
		q.proposal = proposal
		name = "plan"
	}
	for _, v := range p.views {
		if v.name == name {
			return v, q, true
		}
	}
	return view{}, q, false
}

// since returns the events of v after the state seq: a sign of life where nothing is new.
// Tabs that show the same share it.
func (p *Page) since(s *state, v view, q query, seq int) []byte {
	if s.seq == seq {
		return []byte("event: beat\ndata: \n\n")
	}
	return p.share(s, fmt.Sprintf("events %s %s %q %s %d %d", v.name, q.key, q.proposal, q.address(), q.from, seq), func() []byte {
		data, found := v.build(s, q)
		if !found {
			return []byte("event: gone\ndata: \n\n")
		}
		var b bytes.Buffer
		if list, ok := data.(Fleet); ok {
			p.listEvents(&b, s, list, seq)
		} else if html, err := p.content(v.name, data); err != nil {
			p.o.Log.Error("cannot show changes", "view", v.name, "error", err)
		} else {
			fmt.Fprintf(&b, "data: %s\n", html)
		}
		for _, name := range []string{"links", "top"} {
			if html, err := p.render(name, p.frame(s, v, q)); err == nil {
				fmt.Fprintf(&b, "data: %s\n", html)
			}
		}
		fmt.Fprintf(&b, "id: %s\n\n", p.number(s.seq))
		return safe(b.Bytes())
	})
}

// listEvents tells a list of clusters what changed. A browser parses a row only alone, so
// each element has a line. Where clusters came or went the list is asked for again.
func (p *Page) listEvents(b *bytes.Buffer, s *state, list Fleet, seq int) {
	if s.listed > seq {
		b.WriteString("event: list\n")
	}
	if html, err := p.render("summary", list); err == nil {
		fmt.Fprintf(b, "data: %s\n", html)
	}
	for _, c := range s.clusters {
		if c.changed > seq {
			cell, row := p.parts(c)
			fmt.Fprintf(b, "data: %s\ndata: %s\n", cell, row)
		}
	}
}

// parts returns the sign and the row of a cluster, rendered once.
func (p *Page) parts(c *cluster) (cell, row []byte) {
	c.once.Do(func() {
		var err error
		if c.cell, err = p.render("cell", c.row); err == nil {
			c.tab, err = p.render("row", c.row)
		}
		if err != nil {
			p.o.Log.Error("cannot show a cluster", "cluster", c.row.Name, "error", err)
		}
	})
	return c.cell, c.tab
}

// content returns the elements of a view.
func (p *Page) content(name string, data any) ([]byte, error) {
	if list, ok := data.(Fleet); ok {
		return p.fleetContent(list)
	}
	return p.render(name, data)
}

// share returns what of makes for s, once for all that ask by key.
func (p *Page) share(s *state, key string, of func() []byte) []byte {
	p.mu.Lock()
	if p.at != s.seq || len(p.rendered) >= mostShared {
		p.rendered, p.at = map[string][]byte{}, s.seq
	}
	b, ok := p.rendered[key]
	p.mu.Unlock()
	if ok {
		return b
	}
	b = of()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == s.seq {
		p.rendered[key] = b
	}
	return b
}

// mostShared is how many addresses are remembered.
const mostShared = 1000

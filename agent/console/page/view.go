package page

import (
	"bytes"
	"embed"
	"html/template"
	"net/url"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

//go:embed page.css page.js page.svg *.html
var files embed.FS

// A view is one kind of page. It has a file of its own, and a template of its name.
type view struct {
	name  string // of its template; its address, but for the fleet's and those of one cluster
	title string // in the navigation; empty: it is not there
	path  string // of a view of one cluster: what its address begins with
	of    string // of a view of one cluster: what its title ends with
	// build returns what the view shows, which is its JSON as well; false: there is no such
	// thing.
	build func(s *state, q query) (any, bool)
}

// views returns all of them, as the navigation lists them.
func views() []view {
	return []view{fleetView(), clusterView(), treeView(), pastView(), rolloutsView(), pullRequestsView(), planView(), problemsView(), requestsView(), historyView(), agentView()}
}

// A query says what of a view is asked for.
type query struct {
	filter, by string
	from       int // the first row
	key        fleet.Key
	proposal   string // a pull request or a ref, as addressOf has it
	options    *Options
}

// address returns the query part of the address of q.
func (q query) address() string {
	v := url.Values{}
	for name, value := range map[string]string{"q": q.filter, "by": q.by} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v.Encode()
}

// templates returns those of all views.
func templates() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"plain": fleet.PlainText, "lines": fleet.PlainLines, "stamp": stamp, "iso": iso, "short": short, "count": count, "inShort": inShort,
	}).ParseFS(files, "*.html")
}

// render returns template name of data, on one line, so that it fits into one line of a
// stream.
func (p *Page) render(name string, data any) ([]byte, error) {
	var w bytes.Buffer
	if err := p.templates.ExecuteTemplate(&w, name, data); err != nil {
		return nil, err
	}
	return oneLine(w.Bytes()), nil
}

// oneLine returns html without ends of lines, which mean nothing in it.
func oneLine(html []byte) []byte {
	return bytes.TrimSpace(bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, html))
}

// What templates call.

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func stamp(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04Z") }

func short(hash string) string { return hash[:min(7, len(hash))] }

// count returns n with its thousands apart.
func count(n int) string {
	digits := []byte{}
	for i := 0; n > 0 || i == 0; i++ {
		if i > 0 && i%3 == 0 {
			digits = append(digits, ',')
		}
		digits = append(digits, byte('0'+n%10))
		n /= 10
	}
	var out strings.Builder
	for i := len(digits) - 1; i >= 0; i-- {
		out.WriteByte(digits[i])
	}
	return out.String()
}

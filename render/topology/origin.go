package topology

import (
	"fmt"
	"strings"

	"fairlead.dev/fleet"
)

// An Expanded is an object that a class makes. It is in no file; File is the file that it
// was made from.
type Expanded struct {
	Raw     map[string]any
	File    string
	sources []source
}

// A source says where the field at, and everything below it, was written. Of two sources of
// a field, the one with the longer path counts, then the later one.
type source struct {
	at     string // "" is the object itself
	object string // "ClusterClass default/x"
	file   string
	field  string // field of that object
	patch  string // name of the patch that sets it, whose field is then meant
	adds   bool   // the patch adds to a list
}

// from adds a source.
func (e *Expanded) from(at string, o Object, field string) {
	e.sources = append(e.sources, source{at: at, object: o.String(), file: o.File, field: field})
}

// Written translates a problem of the object, as a decoder reports it, to the objects and
// fields that people wrote.
func (e *Expanded) Written(p fleet.Problem) fleet.Problem {
	field := strings.ReplaceAll(p.Field, "[", ".[")
	var best, list *source
	for i := range e.sources {
		s := &e.sources[i]
		at := strings.ReplaceAll(s.at, "[", ".[")
		if at != "" && field != at && !strings.HasPrefix(field, at+".") {
			continue
		}
		if s.adds {
			list = s
			continue
		}
		if best == nil || len(s.at) >= len(best.at) {
			best = s
		}
	}
	if best != nil {
		p.File, p.Object = best.file, best.object
		switch {
		case best.patch != "":
			p.Message = fmt.Sprintf("patch %q sets %s: %s", best.patch, p.Field, p.Message)
			p.Field = best.field
		case best.at == "" && best.field != "" && p.Field != "":
			p.Message = fmt.Sprintf("%s of the %s that it makes: %s", p.Field, e.Raw["kind"], p.Message)
			p.Field = best.field
		default:
			p.Field = best.field + p.Field[len(best.at):]
		}
	}
	if list != nil && (best == nil || best.patch == "") {
		p.Hint = strings.TrimPrefix(fmt.Sprintf("%s; patch %q of %s adds to the list", p.Hint, list.patch, list.object), "; ")
	}
	return p
}

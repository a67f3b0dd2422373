package topology

import (
	"fmt"
	"strings"

	"fairlead.dev/fleet"
)

// An Expanded is an object that a class makes. It exists in no file; File is
// that of what it was made from.
type Expanded struct {
	Raw     map[string]any
	File    string
	sources []source
}

// A source says that the field at, and all below it, was written elsewhere. Of
// two sources of a field, that of the longer path counts, then the later one.
type source struct {
	at     string // "" is the object itself
	object string // "ClusterClass default/x"
	file   string
	field  string // stands for at
	patch  string // name of the patch that sets it; then field is that of the patch
	adds   bool   // the patch adds to a list, which holds more than what it adds
}

// from adds a source.
func (e *Expanded) from(at string, o Object, field string) {
	e.sources = append(e.sources, source{at: at, object: o.String(), file: o.File, field: field})
}

// Written turns a problem with the object, as a decoder finds it, into one with
// what people wrote.
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

package openstacktest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// spec is how a kind of thing behaves that is made, listed, shown, changed and
// deleted in the same way as others.
type spec struct {
	kind     Kind
	service  *service
	one      string // its name in JSON
	label    string // its name in messages
	ending   string // how the message ends that it is not there
	typ      string // what Neutron calls it in the type of an error
	path     string // of the collection, below the version
	defaults Object // what a new one has unless it is given
	required []string
	fixed    []string // cannot be changed
	wide     []string // as defaults, but only the service sets them

	create func(k *call, o Object) error
	update func(k *call, o, change Object) error
	remove func(k *call, o Object) error
	show   func(k *call, o Object) Object
}

// envelope is the name of the collection in JSON.
func (s *spec) envelope() string { return s.one + "s" }

func (s *spec) view(k *call, o Object) Object {
	if s.service.kind == "network" && !k.tags() {
		o = o.without("tags")
	}
	if s.show == nil {
		return o
	}
	return s.show(k, o)
}

func (s *spec) missing(id string) *apiError {
	ending := s.ending
	if ending == "" {
		ending = "could not be found."
	}
	return refuse(http.StatusNotFound, s.typ+"NotFound", "%s %s %s", s.label, id, ending)
}

// visible returns what a listing of a kind shows the caller, in the order of
// the service's listings.
func (k *call) visible(kind Kind) []Object {
	all := k.r.tables[kind].listed(k.now)
	all = slices.DeleteFunc(slices.Clone(all), func(o Object) bool { return !k.sees(o) })
	return all
}

// filter keeps what fits the query. Keys of skip are no filters. An unknown
// attribute is returned.
func (k *call) filter(objects []Object, known func(string) bool, skip ...string) (kept []Object, unknown string) {
	skip = append(skip, "limit", "marker", "sort_key", "sort_dir", "fields", "page_reverse")
	for key := range k.query {
		if !slices.Contains(skip, key) && !known(key) {
			return nil, key
		}
	}
	for _, o := range objects {
		fits := true
		for key, values := range k.query {
			fits = fits && (slices.Contains(skip, key) || slices.ContainsFunc(values, func(v string) bool { return o.fits(key, v) }))
		}
		if fits {
			kept = append(kept, o)
		}
	}
	return kept, ""
}

// fits reports whether the value called key is the one of a query.
func (o Object) fits(key, want string) bool {
	switch key {
	case "tags":
		return containsAll(o.Strings("tags"), strings.Split(want, ","))
	case "tags-any":
		return containsAny(o.Strings("tags"), strings.Split(want, ","))
	case "not-tags":
		return !containsAll(o.Strings("tags"), strings.Split(want, ","))
	case "not-tags-any":
		return !containsAny(o.Strings("tags"), strings.Split(want, ","))
	case "fixed_ips":
		attribute, value, _ := strings.Cut(want, "=")
		return slices.ContainsFunc(o.Objects(key), func(ip Object) bool { return ip.String(attribute) == value })
	}
	switch v := o[key].(type) {
	case nil:
		return want == "" || want == "null" || want == "None"
	case bool:
		b, err := strconv.ParseBool(want)
		return err == nil && b == v
	case []any, []string:
		return slices.Contains(o.Strings(key), want)
	default:
		return fmt.Sprint(v) == want
	}
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}

func containsAny(have, want []string) bool {
	return slices.ContainsFunc(want, func(s string) bool { return slices.Contains(have, s) })
}

// page cuts the page out of objects that the query asks for. next is the query
// of the one after it, "" at the end; ok is false where the marker is not there.
func (k *call) page(objects []Object, key string) (page []Object, next string, ok bool) {
	if marker := k.query.Get("marker"); marker != "" {
		i := slices.IndexFunc(objects, func(o Object) bool { return o.String(key) == marker })
		if i < 0 {
			return nil, "", false
		}
		objects = objects[i+1:]
	}
	limit := k.options.PageSize
	if n, err := strconv.Atoi(k.query.Get("limit")); err == nil && n > 0 {
		limit = min(limit, n)
	}
	if len(objects) < limit {
		return objects, "", true
	}
	objects = objects[:limit] // a full page names a next one, which may be empty
	q := url.Values{}
	for name, v := range k.query {
		q[name] = v
	}
	q.Set("limit", strconv.Itoa(limit))
	q.Set("marker", objects[limit-1].String(key))
	return objects, q.Encode(), true
}

// listing returns the body of a listing, with a link to the next page.
func (k *call) listing(name string, objects []Object, next string) Object {
	out := Object{name: append([]Object{}, objects...)}
	if next != "" {
		out[name+"_links"] = []Object{{"rel": "next", "href": base(k.req) + k.path + "?" + next}}
	}
	return out
}

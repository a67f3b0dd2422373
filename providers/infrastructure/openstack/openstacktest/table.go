package openstacktest

import (
	"slices"
	"time"
)

// A Kind names a kind of thing, as its API does in the plural.
type Kind string

// table holds the things of one kind in one region, in the order of creation.
type table struct {
	kind    Kind
	records []*record
}

// record is a thing, and when it comes into listings and goes out of them.
type record struct {
	Object
	shown time.Time
	gone  time.Time // zero: it is there
}

func (t *table) add(o Object, shown time.Time) {
	t.records = append(t.records, &record{Object: o, shown: shown})
}

// get returns the thing itself, nil where it is not there.
func (t *table) get(id string) Object {
	for _, x := range t.records {
		if x.gone.IsZero() && x.ID() == id {
			return x.Object
		}
	}
	return nil
}

// all returns the things that are there and that match.
func (t *table) all(match func(Object) bool) []Object {
	var out []Object
	for _, x := range t.records {
		if x.gone.IsZero() && match(x.Object) {
			out = append(out, x.Object)
		}
	}
	return out
}

// where returns the things whose text called key is value.
func (t *table) where(key, value string) []Object {
	return t.all(func(o Object) bool { return o.String(key) == value })
}

// listed returns what a listing shows now: things show a while after they were
// made, and for a while after they went.
func (t *table) listed(now time.Time) []Object {
	var out []Object
	for _, x := range t.records {
		if !x.shown.After(now) {
			out = append(out, x.Object)
		}
	}
	return out
}

// remove takes a thing away that listings go on to show for lag.
func (t *table) remove(id string, now time.Time, lag time.Duration) {
	for _, x := range t.records {
		if x.gone.IsZero() && x.ID() == id {
			x.gone = now.Add(lag)
			if !x.shown.After(now) && lag > 0 {
				x.Object = x.clone()
				return
			}
			x.gone = now
		}
	}
	t.forget(now)
}

// forget drops what is out of the listings.
func (t *table) forget(now time.Time) {
	t.records = slices.DeleteFunc(t.records, func(x *record) bool {
		return !x.gone.IsZero() && !x.gone.After(now)
	})
}

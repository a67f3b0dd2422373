package fleet

import "strings"

// An Identity says which thing in the world an object is about, such as a computer by its BMC: no two
// objects of a fleet have one.
type Identity struct {
	Field string // path of the field that says it
	// Value is in one notation. What follows a slash is a part of the thing: "10.0.0.5/1" is a part of
	// "10.0.0.5".
	Value string
}

// SameIdentity reports whether two values of an Identity are of one thing, or one is a part of the
// other. Empty values are of nothing.
func SameIdentity(a, b string) bool {
	return a != "" && b != "" && (a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/"))
}

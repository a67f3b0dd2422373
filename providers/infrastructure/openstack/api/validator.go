package api

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/providers/driver/objects"
)

// A validator collects what is wrong with an object. Its methods pass over what
// is empty and may be.
type validator struct{ objects.Validator }

// Bounds of OpenStack that its API states and ours must keep, so that a request
// which can never be granted is reported before anything is made.
// Source: Compute API reference, "Server tags" and "Create server"; Networking
// API reference, "Tag extension".
const (
	maxServerTag  = 60  // characters of a tag of a server or of a block device
	maxServerTags = 50  // tags of one server
	maxName       = 255 // characters of a name, a value or a tag in Neutron
)

// serverTags checks tags that servers get, among others, and sorts them.
func (v *validator) serverTags(at *field.Path, tags []string) []string {
	if len(tags) > maxServerTags {
		v.Add(field.TooMany(at, len(tags), maxServerTags))
	}
	for i, t := range tags {
		v.Text(at.Index(i), t, maxServerTag)
		if strings.Contains(t, "/") {
			v.Invalid(at.Index(i), t, `must not have a "/": Nova takes no such tag for a server`)
		}
	}
	return v.tags(at, tags)
}

// tags checks tags of anything and sorts them.
func (v *validator) tags(at *field.Path, tags []string) []string {
	for i, t := range tags {
		v.Required(at.Index(i), t, "a tag is not empty")
		v.Text(at.Index(i), t, maxName)
		if strings.Contains(t, ",") {
			v.Invalid(at.Index(i), t, "must not have a comma")
		}
	}
	return objects.Set(v, at, tags)
}

// Package objects is what infrastructure providers do with the objects that people
// write for them: Validator checks one when it is decoded, Read gives its spec back
// when something is made of it, Companion finds one that it names, and Secrets finds
// the credentials that it names.
//
//	var v objects.Validator
//	v.Required(field.NewPath("spec", "server"), s.Server, "the address of the server")
//	return &s, v.Errs
package objects

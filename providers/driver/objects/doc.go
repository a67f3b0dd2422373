// Package objects helps infrastructure providers with the objects in Git: Validator checks an
// object when it is decoded, Read returns its spec later, Companion finds an object that it
// names, and Secrets finds the credentials that it names.
//
//	var v objects.Validator
//	v.Required(field.NewPath("spec", "server"), s.Server, "the address of the server")
//	return &s, v.Errs
package objects

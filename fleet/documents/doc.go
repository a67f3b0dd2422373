// Package documents parses all YAML and JSON that comes from others:
// what people, forges, hosts, registries and chart repositories can write. What goes
// through it is bounded before anything is built of it: bytes, documents, nodes, depth,
// and the bytes that it has where each alias is written out, keys included. No other package
// imports a YAML parser; test/rules/arrows sees to it.
//
// There are two readings. Parse is strict, and for files of a fleet: it refuses what two
// YAML parsers could read in two ways, and what it returns is plain, without aliases,
// merge keys, tags, repeated keys and numbers that JSON cannot hold. Unmarshal, ToJSON
// and their likes read as Kubernetes does, where yes, no, on and off are booleans, and
// are for all that Kubernetes' own programs would read, too.
//
// The error of what is refused is a *Refusal.
package documents

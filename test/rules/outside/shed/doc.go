// Package shed is the provider that docs/contributing/providers.md walks through. A shed is a folder,
// and a machine in it is a file: it has what a provider has to think of, and nothing else.
//
//	<folder>/clusters/<fleet>~<namespace>~<cluster>             what machines of a cluster share
//	<folder>/machines/<fleet>~<namespace>~<cluster>~<machine>   a machine
//
// Clusters of several fleets may share a shed.
package shed

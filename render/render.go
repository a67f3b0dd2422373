// Package render turns the content of a revision into fleet definitions. It
// finds fleet.yaml and the overlays, builds each overlay whose inputs changed,
// substitutes variables and has the objects decoded.
package render

import (
	"context"

	"fairlead.dev/fleet"
	"fairlead.dev/render/topology"
	"fairlead.dev/sources"
)

// A Renderer builds one fleet from one tree. The same tree always gives the
// same fleet: a Renderer reads nothing but tree, and what the tree pins.
type Renderer interface {
	// Render returns the fleet. What is wrong with single overlays is in its
	// Problems; the error is for a tree that cannot be read at all or a
	// fleet.yaml that is refused, and then nothing is known of any cluster.
	Render(ctx context.Context, rev fleet.Revision, tree sources.Tree) (fleet.Fleet, error)
}

// An Object is one rendered object, as a decoder gets it.
type Object struct {
	File string // the file it came from, best known
	YAML []byte // one document
	// Former is the object with lists in the order in which earlier versions rendered them;
	// nil: it is the same. Machines may have template hashes of it.
	Former []byte
}

// A Decoder turns the objects of one overlay into clusters. Problems name file,
// object and field; a cluster with a problem is not returned.
type Decoder interface {
	// Decode takes ClusterClasses that the overlay does not hold from libraries.
	Decode(overlay string, objects []Object, libraries ...topology.Library) ([]fleet.Cluster, []fleet.Problem)

	// Library reads a folder that holds classes and no cluster. A class with a
	// problem is in the library, and refuses its clusters.
	Library(folder string, objects []Object) (topology.Library, []fleet.Problem)
}

// A WarningDecoder is a Decoder that also warns of objects that change no cluster.
type WarningDecoder interface {
	Decoder

	// DecodeAndWarn is Decode. The warnings hold nothing back.
	DecodeAndWarn(overlay string, objects []Object, libraries ...topology.Library) (clusters []fleet.Cluster, problems, warnings []fleet.Problem)
}

package status

import (
	"bytes"
	"fmt"

	"fairlead.dev/fleet"
	"fairlead.dev/fleet/documents"
)

// A fileKind is a kind of file on a status branch, by the kind that is in the file. A file is written
// within the limits that it is read with: no agent writes what the next one cannot read.
type fileKind string

// The kinds of files. fileKinds lists them.
const (
	ownerKind         fileKind = "Owner"
	incarnationKind   fileKind = "Incarnation"
	movedKind         fileKind = "Moved"
	arrivedKind       fileKind = "Arrived"
	signpostKind      fileKind = "Signpost"
	fleetKind         fileKind = "FleetStatus"
	clusterKind       fileKind = "ClusterReport" // and objects of Cluster API after it
	hostKind          fileKind = "BareMetalHost"
	requestKind       fileKind = "Request"
	scaleKind         fileKind = "Scale"
	approvalKind      fileKind = "Approval"
	planKind          fileKind = "Plan"
	notificationsKind fileKind = "Notifications"
)

// fileKinds returns all kinds of files.
func fileKinds() []fileKind {
	return []fileKind{
		ownerKind, incarnationKind, movedKind, arrivedKind, signpostKind, fleetKind, clusterKind, hostKind,
		requestKind, scaleKind, approvalKind, planKind, notificationsKind,
	}
}

// meta returns the first fields of a file of that kind.
func (k fileKind) meta() typeMeta {
	if k == hostKind {
		return typeMeta{APIVersion: "metal3.io/v1alpha1", Kind: string(k)}
	}
	return typeMeta{APIVersion: apiVersion, Kind: string(k)}
}

// limits bound one document of a file, which may be hostile. They are far above the report on a
// cluster of ten thousand machines, of which several conditions each are observed. A mistake in a
// base may be three problems of each of ten thousand clusters, which are half a million nodes.
func (k fileKind) limits() documents.Limits {
	l := documents.Limits{Bytes: 16 << 20, Documents: 10, Nodes: 300_000, Depth: 50, Expanded: 16 << 20}
	switch k {
	case fleetKind, planKind, clusterKind:
		l.Nodes = 590_000
	case requestKind, approvalKind, hostKind: // people write them, or they are read with each poll
		l = documents.Limits{Bytes: 256 << 10, Documents: 2, Nodes: 20_000, Depth: 50, Expanded: 256 << 10}
	}
	return l
}

// strict reports whether a file with an unknown field is refused, as one that gives an order.
func (k fileKind) strict() bool {
	return k == ownerKind || k == requestKind || k == scaleKind || k == approvalKind
}

// encode returns the file of that kind with docs, the file of what. The error is of kind Exhausted if
// it could not be read.
func (k fileKind) encode(what string, docs ...any) ([]byte, error) {
	b, err := encodeDocs(what, docs...)
	if err != nil {
		return nil, err
	}
	for doc := range bytes.SplitSeq(b, []byte("\n---\n")) {
		if err := documents.Check(doc, k.limits()); err != nil {
			return nil, fleet.Errorf(fleet.Exhausted, "write the status of "+what, "%w", err)
		}
	}
	return b, nil
}

// A typed is a document that says its kind.
type typed interface{ typed() typeMeta }

func (m typeMeta) typed() typeMeta { return m }

// decode reads a document of that kind.
func (k fileKind) decode(b []byte, into typed) error {
	read := documents.Unmarshal
	if k.strict() {
		read = documents.UnmarshalStrict
	}
	if err := read(b, into, k.limits()); err != nil {
		return err
	}
	if into.typed() != k.meta() {
		return fmt.Errorf("it is not an %s %s", k.meta().APIVersion, k)
	}
	return nil
}

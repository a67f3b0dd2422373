// Package decode turns the objects of one overlay into clusters: Cluster API's
// v1beta1 and v1beta2 in, fleet.Cluster out, normalised to v1beta2, defaulted
// and validated by the rules of Cluster API's own webhooks.
//
// Decoding is strict. A field that is unknown, of the wrong type, set twice or not honoured
// yet is a problem that names file, object and field. So is a reference to something
// outside of the overlay. Nothing is silently ignored, except fields that ask for nothing:
// status, and what API servers write into metadata. docs/reference/coverage.md, made from the same
// tables, says which fields of each kind are honoured.
//
// A problem holds back the clusters that its object belongs to, and no others. An object
// belongs to a cluster that refers to it, directly or through others, or that it names
// itself in spec.clusterName or the label cluster.x-k8s.io/cluster-name. Where no cluster
// can be found for a broken object, all clusters of the overlay are held back: what looks
// like a removed pool may have a misspelt name.
//
// Decoding is pure: the same objects give the same clusters and problems, in
// the same order.
package decode

//go:generate go test -run "TestCoverage|TestEachHonouredFieldCounts|TestBoundsTable" -update .

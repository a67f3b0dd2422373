// Package image makes Glance import images from a URL, for Images of the OpenStack Resource Controller,
// and deletes them when no cluster needs them.
//
// # Identity
//
// An image carries tags from the call that creates it: of the fleet, of its definition, and of each
// cluster that uses it. Clusters of a fleet in one project with equal definitions share one image. An
// image without a tag of the fleet is never adopted, changed or deleted.
//
// # Life cycle of an image
//
// It is created, and then Glance is requested to download its content ("web-download"). A later agent
// finds both. After a failed import the image is queued, and the import is requested again after some
// minutes. An image is deleted when the last cluster stops using it, unless a cluster that used it keeps
// it, and never while servers of others boot from it.
package image

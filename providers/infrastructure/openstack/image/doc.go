// Package image has Glance make images from what a URL gives, for Images of the
// OpenStack Resource Controller, and removes them when nobody wants them any more.
//
// # Identity
//
// An image carries tags from the call that makes it: of the fleet, of all that it is
// made with, and of each cluster that uses it. Clusters of a fleet in one project
// that want the same share one image. What carries no tag of the fleet is never
// adopted, changed or deleted.
//
// # The way of an image
//
// It is made, and then Glance is asked to download its content ("web-download").
// Both are found again by whoever comes next. An import that failed leaves the image
// queued, and is asked for again after some minutes. An image goes when the last
// cluster that uses it lets go of it, unless a cluster that used it wishes that it
// stays, and never while servers of others boot from it.
package image

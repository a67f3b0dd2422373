// Package driver has what all infrastructure providers do alike: one thing at a time for a machine,
// what a process remembers, whether a machine is there already, orphans, clusters, prerequisites and
// adoption. A provider keeps what it alone knows: its requests, what they mean, and the next step of a
// machine.
//
// The packages below it have what some providers share: addresses of pools, claims, endpoints,
// listings, steps, requests.
package driver

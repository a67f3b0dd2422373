// Package sites tests clusters with workers of two providers: the in-memory cloud has the
// control plane, and OpenStack, hosts or an Ironic have more workers.
package sites

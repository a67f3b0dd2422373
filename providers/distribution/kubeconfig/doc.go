// Package kubeconfig issues kubeconfigs of administrators and describes those that are
// there. What it says of one holds nothing that is secret.
//
//	data, err := kubeconfig.Issue(cluster, endpoint, authority.Bundle, authority, now)
package kubeconfig

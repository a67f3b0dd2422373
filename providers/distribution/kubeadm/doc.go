// Package kubeadm makes machines boot into a cluster with kubeadm, the way
// Cluster API's kubeadm bootstrap provider does: a cloud-config with the
// cluster's certificates, the user's files and commands, and a kubeadm
// configuration of the version that the machine's Kubernetes reads.
//
// Everything but new CA certificates is a function of its arguments: the same
// request gives the same bytes, so a repeated create is the same request, and
// an agent that lost its disk asks for nothing new.
//
// The cloud-config is a Jinja template, as upstream's is: people use
// {{ ds.meta_data.local_hostname }} and the like in files, commands and node
// names. Strings with such expressions are written as literal blocks, which
// leave quotes inside them unchanged. Everything else survives the reading of
// the cloud-config byte for byte.
//
// With format ignition the same becomes an Ignition config for Flatcar and
// Fedora CoreOS: files, users, disks and mounts are Ignition's, and
// kubeadm.service runs /etc/kubeadm.sh, the commands with kubeadm among them,
// once. Ignition renders no templates, so commands that change /etc/kubeadm.yml
// take their place. What Ignition cannot express is refused.
package kubeadm

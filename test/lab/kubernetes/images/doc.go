// Package images makes what machines of the Kubernetes lab are made of, from
// Debian packages and Go modules alone: a root filesystem with systemd, sshd,
// cloud-init, containerd and kubeadm, and a containerd whose store has all images
// of the Kubernetes versions of the lab.
//
//	set, err := images.Build(ctx, os.Stderr, images.Versions()...)   // make lab-images
//	set, err := images.Current()                                     // what was built
//
// Everything is kept by its version below one folder, $FAIRLEAD_LAB or
// fairlead/lab in the user's cache directory, programs beside those of
// fairlead.dev/test/lab/kube/binaries. What is there already is not built again; a
// build that was broken off goes on where it stopped.
package images

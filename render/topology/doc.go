// Package topology expands a Cluster that names a ClusterClass into the objects
// that the class makes for it: the Cluster with its references, the
// KubeadmControlPlane, the MachineDeployments, the MachineHealthChecks, their
// templates and the infrastructure cluster.
//
// Expansion is pure. The same class and the same Cluster give the same objects, byte for
// byte, independent of the order of objects, the computer and the time: templates have no
// functions that read a clock, the environment, the network or a random source. Where
// Cluster API puts random characters into a name, there is a hash of what the object is
// for.
//
// The result is not checked against its kinds here. It goes through the same decoder as
// objects that people write. Each object knows where its fields come from, so that messages
// name what people wrote.
//
// The author of a class may be hostile, so its work is bounded: templates, patches and CEL
// rules share one budget for each expansion.
package topology

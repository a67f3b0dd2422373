// Package topology expands a Cluster that names a ClusterClass into the objects
// that the class makes for it: the Cluster with its references, the
// KubeadmControlPlane, the MachineDeployments, the MachineHealthChecks, their
// templates and the infrastructure cluster.
//
// Expansion is pure. The same class and the same Cluster give the same objects,
// byte for byte, whatever the order in which objects were written and whatever
// the machine and the time: functions of templates that read a clock, the
// environment, the network or a random source are not there. Where Cluster API
// puts random characters into a name, a hash of who the object is for stands
// instead.
//
// What comes out is not checked against the kinds it is of. It goes through the
// same decoder as objects that people write, and each object knows where its
// fields came from, so that messages name what was written.
//
// A class is somebody's program, so its work is bounded: templates, patches and
// CEL rules spend from one budget for each expansion.
package topology

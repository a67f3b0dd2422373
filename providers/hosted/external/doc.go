// Package external is about control planes that somebody else keeps: another team, another
// tool, a cloud. Git says where such a plane serves and which Secret leads into it. Nothing
// of it is made, changed or deleted here; machines are made that join it.
//
//	apiVersion: fairlead.dev/v1alpha1
//	kind: ExternalControlPlane
//	metadata: {namespace: prod, name: eu-1}
//	spec:
//	  controlPlaneEndpoint: {host: eu-1.planes.example.com, port: 6443}
package external

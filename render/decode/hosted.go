package decode

import (
	"fairlead.dev/fleet"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// hosted returns the hosted control plane that root refers to; nil where root refers to
// something else. c already has the endpoint that Git names.
func (b *builder) hosted(root *object, c *fleet.Cluster) *fleet.HostedControlPlane {
	cluster, _ := root.value.(*clusterv1.Cluster)
	ref := cluster.Spec.ControlPlaneRef
	o := b.set.get(ref.APIGroup, ref.Kind, root.namespace, ref.Name)
	if o == nil || len(o.problems) > 0 {
		return nil
	}
	in, ok := o.value.(*fleet.HostedManifest)
	if !ok {
		return nil
	}
	b.controlPlaneKind = o.kind
	spec, err := canonicalJSON(in.Spec)
	if err != nil {
		b.addf(o, "spec", "", "%s", err)
	}
	for _, s := range in.Secrets {
		b.givenValue(o, s)
	}
	out := &fleet.HostedControlPlane{
		Object:  fleet.Object{GVK: o.gvk, Namespace: o.namespace, Name: o.name, File: o.file, Spec: spec},
		Version: in.Version, Endpoint: in.Endpoint,
	}
	named := c.NamedEndpoint() // named in another object than o
	switch {
	case in.External && named.IsZero() && in.Endpoint.IsZero():
		b.addf(o, "spec.controlPlaneEndpoint", "", "is missing: name the host where machines reach the API server, here or in spec.controlPlaneEndpoint of the Cluster")
	case !named.IsZero() && !in.Endpoint.IsZero() && named != in.Endpoint:
		b.addf(o, "spec.controlPlaneEndpoint", "name it in one place", "is %s:%d, and the Cluster or its infrastructure says %s:%d", in.Endpoint.Host, in.Endpoint.Port, named.Host, named.Port)
	}
	return out
}

package workload

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"fairlead.dev/fleet"
)

// partial asks for the metadata of objects and nothing else of them: of a release of
// Helm, the rest is all of its manifests.
const partial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// releases returns the releases of Helm that are ours.
func (n *conn) releases(ctx context.Context) ([]fleet.ReleaseState, error) {
	o := metav1.ListOptions{ResourceVersion: cached, LabelSelector: "owner=helm,status!=superseded," + fleet.ReleaseProxyLabel}
	var list metav1.PartialObjectMetadataList
	err := ref{resource: "secrets"}.request(n.rest.Get()).SetHeader("Accept", partial).
		VersionedParams(&o, scheme.ParameterCodec).Do(ctx).Into(&list)
	if err != nil {
		return nil, err
	}
	var out []fleet.ReleaseState
	for i := range list.Items {
		out = append(out, fleet.ReleaseRevision(list.Items[i].Namespace, list.Items[i].Labels))
	}
	return fleet.NewestRevisions(out), nil
}

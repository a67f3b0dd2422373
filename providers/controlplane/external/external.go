package external

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
)

// A ControlPlane is the providers.HostedControlPlane of planes that somebody else keeps.
type ControlPlane struct{}

var _ providers.HostedControlPlane = ControlPlane{}

// Observe implements providers.HostedControlPlane. It is ready where there is a kubeconfig
// that can be used; whether its API server answers, and what version that is of, shows in
// the cluster.
func (ControlPlane) Observe(ctx context.Context, c *fleet.Cluster, stored providers.SecretReader) (providers.HostedSeen, error) {
	out := providers.HostedSeen{State: fleet.HostedState{External: true, Endpoint: c.NamedEndpoint()}}
	op := "look at the control plane of " + c.Key.String()
	var spec Spec
	if err := json.Unmarshal(c.Hosted.Object.Spec, &spec); err != nil {
		return out, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	kubeconfig, from, err := kubeconfigOf(ctx, c, spec.KubeconfigRef, stored)
	switch {
	case err != nil:
		return out, err
	case kubeconfig.IsZero():
		out.State.Message = fmt.Sprintf("its kubeconfig is not there: add Secret %s to Git, encrypted, or to where the agent keeps secrets", from)
		return out, nil
	}
	config, authority, err := plain(kubeconfig)
	if err != nil {
		out.State.Message = fmt.Sprintf("the kubeconfig in Secret %s cannot be used: %v", from, err)
		return out, nil
	}
	ca, err := authorityOf(ctx, c, authority, stored)
	switch {
	case err != nil:
		return out, err
	case ca.IsZero():
		out.State.Message = fmt.Sprintf("its authority is not known: the kubeconfig in Secret %s has no certificate-authority-data; add Secret %s-%s with %s", from, c.Key.Name, fleet.ClusterCA, fleet.TLSCertKey)
		return out, nil
	}
	out.State.Ready = true
	out.Secrets = map[fleet.SecretName]fleet.SecretData{
		fleet.Kubeconfig: {fleet.KubeconfigKey: config},
		fleet.ClusterCA:  {fleet.TLSCertKey: ca},
	}
	return out, nil
}

// kubeconfigOf returns the kubeconfig of c, and the name of its Secret: the one that Git
// names, else <cluster>-kubeconfig in Git or in the store. Zero: it is not there.
func kubeconfigOf(ctx context.Context, c *fleet.Cluster, ref *SecretRef, stored providers.SecretReader) (k fleet.Secret, name string, err error) {
	if ref != nil {
		return c.Secrets[ref.Name][ref.Key], c.Key.Namespace + "/" + ref.Name, nil
	}
	name = c.Key.Name + "-" + string(fleet.Kubeconfig)
	d, ok := c.Secrets[name]
	if !ok {
		if d, err = stored.Get(ctx, c.Key, fleet.Kubeconfig); fleet.KindOf(err) == fleet.NotFound {
			err = nil
		}
	}
	return d[fleet.KubeconfigKey], c.Key.Namespace + "/" + name, err
}

// authorityOf returns the certificate of the authority of c: that of <cluster>-ca in Git,
// else that of the kubeconfig, else that of the store.
func authorityOf(ctx context.Context, c *fleet.Cluster, kubeconfig []byte, stored providers.SecretReader) (fleet.Secret, error) {
	if ca := c.Secrets[c.Key.Name+"-"+string(fleet.ClusterCA)][fleet.TLSCertKey]; !ca.IsZero() {
		return ca, nil
	}
	if len(kubeconfig) > 0 {
		return fleet.NewSecret(kubeconfig), nil
	}
	d, err := stored.Get(ctx, c.Key, fleet.ClusterCA)
	if fleet.KindOf(err) == fleet.NotFound {
		err = nil
	}
	return d[fleet.TLSCertKey], err
}

// Ensure implements providers.HostedControlPlane: there is nothing to do.
func (ControlPlane) Ensure(context.Context, fleet.OperationID, *fleet.Cluster) error { return nil }

// Delete implements providers.HostedControlPlane: it stays.
func (ControlPlane) Delete(context.Context, fleet.OperationID, *fleet.Cluster) error { return nil }

// Settle implements providers.HostedControlPlane: nothing is changed that would have to
// show.
func (ControlPlane) Settle() time.Duration { return 0 }

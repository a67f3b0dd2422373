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
type ControlPlane struct {
	given func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)
}

var _ providers.HostedControlPlane = ControlPlane{}

// New returns a ControlPlane. given returns a Secret that people gave the agent, or an error
// of kind NotFound; nil: there are none.
func New(given func(ctx context.Context, k fleet.Key) (fleet.SecretData, error)) ControlPlane {
	return ControlPlane{given}
}

// Observe implements providers.HostedControlPlane. It is ready where there is a kubeconfig
// that can be used; whether its API server answers, and what version that is of, shows in
// the cluster.
func (p ControlPlane) Observe(ctx context.Context, c *fleet.Cluster, stored providers.SecretReader) (providers.HostedObservation, error) {
	out := providers.HostedObservation{State: fleet.HostedState{External: true, Endpoint: c.NamedEndpoint()}}
	op := "look at the control plane of " + c.Key.String()
	var spec Spec
	if err := json.Unmarshal(c.Hosted.Object.Spec, &spec); err != nil {
		return out, fleet.Errorf(fleet.Invalid, op, "%w", err)
	}
	s := secrets{c, p.given, stored}
	kubeconfig, from, err := s.kubeconfig(ctx, spec.KubeconfigRef)
	switch {
	case err != nil:
		return out, err
	case kubeconfig.IsZero():
		out.State.Message = fmt.Sprintf("its kubeconfig is not there: add Secret %s to Git, encrypted, or to where the agent keeps secrets", from)
		return out, nil
	}
	config, embedded, err := plain(kubeconfig)
	if err != nil {
		out.State.Message = fmt.Sprintf("the kubeconfig in Secret %s cannot be used: %v", from, err)
		return out, nil
	}
	ca, err := s.authority(ctx, embedded)
	switch {
	case err != nil:
		return out, err
	case ca.IsZero():
		out.State.Message = fmt.Sprintf("its CA is not known: the kubeconfig in Secret %s has no certificate-authority-data; add Secret %s-%s with %s", from, c.Key.Name, fleet.ClusterCA, fleet.TLSCertKey)
		return out, nil
	}
	out.State.Ready = true
	out.Secrets = make(map[fleet.SecretName]fleet.SecretData)
	if out.Secrets[fleet.Kubeconfig], err = s.kept(ctx, fleet.Kubeconfig, fleet.KubeconfigKey, kubeconfig, config); err != nil {
		return out, err
	}
	out.Secrets[fleet.ClusterCA], err = s.kept(ctx, fleet.ClusterCA, fleet.TLSCertKey, ca, ca)
	return out, err
}

// Ensure implements providers.HostedControlPlane: there is nothing to do.
func (ControlPlane) Ensure(context.Context, fleet.OperationID, *fleet.Cluster) error { return nil }

// Delete implements providers.HostedControlPlane: it stays.
func (ControlPlane) Delete(context.Context, fleet.OperationID, *fleet.Cluster) error { return nil }

// Settle implements providers.HostedControlPlane: nothing is changed that would have to
// show.
func (ControlPlane) Settle() time.Duration { return 0 }

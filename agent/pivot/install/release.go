package install

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/helm"
)

func (h *Home) state(ctx context.Context) (helm.State, error) {
	s, err := h.helm.State(ctx, h.o.Release.Namespace, h.o.Release.Name)
	return s, failed("look at the agent's release", err)
}

// ours says whose release s is where it is not this fleet's: a label names the
// fleet, and the values name the repository where people installed the agent.
func (h *Home) ours(s helm.State) error {
	if !s.Exists || h.o.Fleet == "" {
		return nil
	}
	label, source := s.Labels[fleet.TagFleet], sourceOf(s.Values)
	whose := ""
	switch {
	case label == string(h.o.Fleet):
	case label != "":
		whose = "is the agent of the fleet " + label
	case source == "":
		whose = "is not an agent of Fairlead"
	case source != h.o.Source:
		whose = "is the agent of " + source
	}
	if whose == "" {
		return nil
	}
	return fleet.Errorf(fleet.Invalid, "install the agent",
		"the Helm release %s in namespace %s %s, and this is the fleet %s: name another one with --release or --namespace, or with spec.home.release or spec.home.namespace in fleet.yaml",
		h.o.Release.Name, h.o.Release.Namespace, whose, h.o.Fleet)
}

// sourceOf returns the repository that the values of an agent's chart name.
func sourceOf(values map[string]any) string {
	source, _ := values["source"].(map[string]any)
	url, _ := source["url"].(string)
	return url
}

// Installed implements pivot.Home. An agent of another fleet is none.
func (h *Home) Installed(ctx context.Context) (bool, error) {
	s, err := h.state(ctx)
	if err != nil || !s.Exists || h.ours(s) != nil {
		return false, err
	}
	if len(h.o.Release.Chart) == 0 { // of an old home: any will do
		return true, nil
	}
	want, err := h.o.Release.Digest()
	return s.Deployed && s.Digest == want, err
}

// mounted returns what the agent mounts, by the names of its Secrets.
func (h *Home) mounted() map[string]fleet.SecretData {
	name := h.o.Release.Name
	return map[string]fleet.SecretData{GitSecret(name): h.o.Credentials, AgeSecret(name): h.o.Identities}
}

// Uninstall implements pivot.Home. The namespace stays: who made it, and what
// else is in it, nobody knows. So does the agent of another fleet.
func (h *Home) Uninstall(ctx context.Context) error {
	s, err := h.state(ctx)
	if err != nil || h.ours(s) != nil {
		return err
	}
	if err := h.helm.Remove(ctx, h.o.Release.Namespace, h.o.Release.Name); err != nil {
		return failed("remove the agent", err)
	}
	for name := range h.mounted() {
		r, err := h.resource(h.secret(name, nil))
		if err != nil {
			return err
		}
		if err := r.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return failed(fmt.Sprintf("remove Secret %s", name), err)
		}
	}
	return nil
}

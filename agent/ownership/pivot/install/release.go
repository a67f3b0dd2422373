package install

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/workload/helm"
)

func (h *Home) state(ctx context.Context) (helm.State, error) {
	s, err := h.helm.State(ctx, h.o.Release.Namespace, h.o.Release.Name)
	return s, classify("look at the agent's release", err)
}

// checkOwner returns an error where the release s belongs to something else than this
// fleet. A label names the fleet. Where people installed the agent, the values name its
// repository.
func (h *Home) checkOwner(s helm.State) error {
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

// sourceOf returns the repository that the values of the chart name.
func sourceOf(values map[string]any) string {
	source, _ := values["source"].(map[string]any)
	url, _ := source["url"].(string)
	return url
}

// Installed implements pivot.Home. The agent of another fleet does not count.
func (h *Home) Installed(ctx context.Context) (bool, error) {
	s, err := h.state(ctx)
	if err != nil || !s.Exists || h.checkOwner(s) != nil {
		return false, err
	}
	if len(h.o.Release.Chart) == 0 { // an old home may have any version
		return true, nil
	}
	want, err := h.o.Release.Digest()
	return s.Deployed && s.Digest == want, err
}

// mounted returns the Secrets that the agent mounts, by name.
func (h *Home) mounted() map[string]fleet.SecretData {
	name := h.o.Release.Name
	return map[string]fleet.SecretData{GitSecret(name): h.o.Credentials, AgeSecret(name): h.o.Identities}
}

// Uninstall implements pivot.Home. The namespace stays, since others may use it. The agent
// of another fleet stays too.
func (h *Home) Uninstall(ctx context.Context) error {
	s, err := h.state(ctx)
	if err != nil || h.checkOwner(s) != nil {
		return err
	}
	if err := h.helm.Remove(ctx, h.o.Release.Namespace, h.o.Release.Name); err != nil {
		return classify("remove the agent", err)
	}
	for name := range h.mounted() {
		r, err := h.resource(h.secret(name, nil))
		if err != nil {
			return err
		}
		if err := r.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return classify(fmt.Sprintf("remove Secret %s", name), err)
		}
	}
	return nil
}

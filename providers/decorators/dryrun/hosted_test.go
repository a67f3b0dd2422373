package dryrun_test

import (
	"context"
	"testing"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/decorators/dryrun"
)

// A hosted is a control plane of tests that counts its changes.
type hosted struct {
	providers.HostedControlPlane
	changes int
}

func (h *hosted) Ensure(context.Context, fleet.OperationID, *fleet.Cluster) error {
	h.changes++
	return nil
}

func (h *hosted) Delete(context.Context, fleet.OperationID, *fleet.Cluster) error {
	h.changes++
	return nil
}

// A withTokens is a hosted that makes tokens.
type withTokens struct{ hosted }

func (withTokens) Token(context.Context, *fleet.Cluster, fleet.Secret) (providers.Token, error) {
	return providers.Token{Value: fleet.NewSecret([]byte("token"))}, nil
}

// TestControlPlanes: no change goes through, and tokens do.
func TestControlPlanes(t *testing.T) {
	one, two := new(hosted), new(withTokens)
	all := dryrun.ControlPlanes(providers.HostedControlPlanes{"one": one, "two": two})
	c := new(fleet.Cluster)
	for kind, p := range all {
		for _, err := range []error{p.Ensure(t.Context(), "op", c), p.Delete(t.Context(), "op", c)} {
			if fleet.KindOf(err) != fleet.Invalid {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
	if n := one.changes + two.changes; n > 0 {
		t.Errorf("%d changes went through", n)
	}
	if providers.TokensOf(all["one"], c) != nil {
		t.Error("one has tokens now")
	}
	tokens := providers.TokensOf(all["two"], c)
	if tokens == nil {
		t.Fatal("the other has none")
	}
	if got, err := tokens(t.Context(), fleet.Secret{}); err != nil || string(got.Value.Reveal()) != "token" {
		t.Errorf("the token is %v, %v", got, err)
	}
}

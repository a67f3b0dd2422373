package wiring

import (
	"context"
	"strings"
	"testing"

	"fairlead.dev/providers"
	"fairlead.dev/providers/all"
	"fairlead.dev/providers/infrastructure/inmemory"
)

// builtIn is what fairlead is built with.
func builtIn() Built {
	return Built{Providers: all.Factories(), Distributions: all.Distributions, Kinds: all.Kinds(), ControlPlanes: all.ControlPlanes, Helm: all.Helm}
}

// A program has the providers that it was built with, and no others.
func TestBuilt(t *testing.T) {
	own := Built{Providers: []providers.Factory{{Name: "shed"}}}
	w, err := OpenRuntime(t.Context(), Settings{Built: own, Secrets: t.TempDir(), Log: quietLog()}, ReadWrite, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Infrastructure("openstack"); err == nil || !strings.Contains(err.Error(), `there are ["shed"]`) {
		t.Errorf("%v, want that it is not built in", err)
	}
	own.Providers = append(own.Providers, own.Providers...)
	if _, err := OpenRuntime(t.Context(), Settings{Built: own, Secrets: t.TempDir(), Log: quietLog()}, ReadWrite, nil); err == nil || !strings.Contains(err.Error(), "two infrastructure providers") {
		t.Errorf("%v, want that two have one name", err)
	}
}

// A hosted control plane on the cloud of a provider gets that provider, which is opened once.
func TestControlPlaneOfAProvider(t *testing.T) {
	opened := 0
	var given providers.Options
	own := Built{
		Providers: []providers.Factory{{Name: "shed", New: func(ctx context.Context, o providers.Options) (providers.Infrastructure, error) {
			opened++
			return inmemory.Factory().New(ctx, o)
		}}},
		ControlPlanes: func(o providers.Options) providers.HostedControlPlanes {
			given = o
			return nil
		},
	}
	w, err := OpenRuntime(t.Context(), Settings{Built: own, Secrets: t.TempDir(), Log: quietLog()}, ReadWrite, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.controlPlanes()
	for range 2 {
		if _, err := w.Infrastructure("shed"); err != nil {
			t.Fatal(err)
		}
		if p, err := given.Opened("shed"); err != nil || p == nil {
			t.Fatal(p, err)
		}
	}
	if opened != 1 {
		t.Errorf("it was opened %d times", opened)
	}
}

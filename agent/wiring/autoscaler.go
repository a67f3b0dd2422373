package wiring

import (
	"context"
	"log/slog"

	"github.com/oklog/run"
	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/agent"
	"fairlead.dev/agent/inputs/autoscaler"
	"fairlead.dev/agent/observability/server"
	"fairlead.dev/fleet"
)

// run runs a, and answers autoscalers as long as it does: of several replicas the
// one that leads.
func (s Autoscaler) run(ctx context.Context, a *agent.Agent, built Built, log *slog.Logger) error {
	if s.Address == "" {
		return a.Run(ctx)
	}
	answers, err := autoscaler.New(a, s.Files, built.registered, log)
	if err != nil {
		return err
	}
	l, err := server.Listen(ctx, "autoscaler-listen", s.Address)
	if err != nil {
		return err
	}
	log.Info("serving autoscalers", "address", l.Addr().String())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	g.Add(func() error { return a.Run(ctx) }, func(error) { cancel() })
	g.Add(func() error { return answers.Serve(ctx, l) }, func(error) { cancel() })
	return g.Run()
}

// registered returns labels and taints with which the kubelets of a pool register.
func (b Built) registered(c *fleet.Cluster, p fleet.Pool) (map[string]string, []corev1.Taint) {
	d, err := b.distributions(nil).Of(c)
	if err != nil {
		return nil, nil // the reconciler of its machines says why none is made
	}
	return d.Registered(p)
}

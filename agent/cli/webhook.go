package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"

	"fairlead.dev/agent"
	"fairlead.dev/agent/assembly"
	"fairlead.dev/agent/webhook"
)

// webhookFlags say where an agent hears of pushes, and by which secrets.
type webhookFlags struct {
	listen string
	files  []string
	folder string
}

func (f *webhookFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "webhook-listen", "", "address to hear of pushes on, such as :9292, under /hook/KIND; empty for none")
	fs.StringArrayVar(&f.files, "webhook-secret-file", nil, "secrets of a kind of webhook, KIND=FILE with one a line: github, gitlab, gitea, bitbucket or generic; may be repeated")
	fs.StringVar(&f.folder, "webhook-secret-dir", "", "folder of such files, each called as its kind: a mounted Kubernetes Secret")
}

// handler returns what hears of pushes for r, or nil where that is not asked for.
func (f *webhookFlags) handler(s assembly.Settings, r *replica, m *agent.Metrics, log *slog.Logger) (http.Handler, error) {
	if f.listen == "" {
		if len(f.files) > 0 || f.folder != "" {
			return nil, &usageError{errors.New("secrets of webhooks are given, and no address to hear them on: add --webhook-listen :9292")}
		}
		return nil, nil
	}
	secrets, err := webhook.NewSecrets(f.files, f.folder)
	if err != nil {
		return nil, &usageError{fmt.Errorf("--webhook-secret-file, --webhook-secret-dir: %w", err)}
	}
	o := webhook.Options{
		Target:  webhook.Target{Repository: s.Source, Ref: s.Ref, StatusRepository: s.StatusRepository, Own: r.Writes, Wrote: r.Wrote},
		Secrets: secrets, Trigger: r.Poll, Observe: m.Webhooks(), Log: log,
	}
	if r.flags.elect {
		o.Leader = r.Leader
	}
	return webhook.New(o), nil
}

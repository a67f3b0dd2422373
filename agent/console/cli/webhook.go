package cli

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"fairlead.dev/agent/inputs/webhook"
	"fairlead.dev/agent/secrets/certs"
	"fairlead.dev/agent/wiring"
)

// webhookFlags say where an agent receives webhooks, and with which secrets.
type webhookFlags struct {
	listen string
	files  []string
	folder string
	certs  certs.Files
}

func (f *webhookFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.listen, "webhook-listen", "", "address of the webhook endpoint /hook/KIND, such as :9292; empty disables it")
	fs.StringArrayVar(&f.files, "webhook-secret-file", nil, "secrets of a kind of webhook, KIND=FILE with one per line: github, gitlab, gitea, bitbucket or generic; may be repeated")
	fs.StringVar(&f.certs.Certificate, "webhook-tls-cert", "", "server certificate of --webhook-listen (PEM). Without it: plain HTTP, for use behind an Ingress")
	fs.StringVar(&f.certs.Key, "webhook-tls-key", "", "private key of that certificate (PEM)")
	fs.StringVar(&f.folder, "webhook-secret-dir", "", "folder of such files, named by kind, such as a mounted Secret")
	needs(cmd, "webhook-listen", "webhook-secret-file", "webhook-secret-dir", "webhook-tls-cert", "webhook-tls-key")
}

// webhooks returns the configuration of the webhook server.
func (f *webhookFlags) webhooks(log *slog.Logger) (wiring.Webhooks, error) {
	if f.listen == "" {
		return wiring.Webhooks{}, nil
	}
	secrets, err := webhook.NewSecrets(f.files, f.folder)
	if err != nil {
		return wiring.Webhooks{}, &usageError{fmt.Errorf("--webhook-secret-file, --webhook-secret-dir: %w", err)}
	}
	if (f.certs.Certificate == "") != (f.certs.Key == "") {
		return wiring.Webhooks{}, &usageError{errors.New("--webhook-tls-cert and --webhook-tls-key must be set together")}
	}
	if kinds := secrets.Plain(); f.certs.Certificate == "" && len(kinds) > 0 && !loopback(f.listen) {
		log.Warn("webhook secrets are sent in plain text over HTTP: terminate TLS in front, set --webhook-tls-cert, or use a signing token (whsec_…)", "kinds", kinds, "address", f.listen)
	}
	return wiring.Webhooks{Address: f.listen, Secrets: secrets, Certificates: f.certs}, nil
}

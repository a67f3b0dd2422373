package secrets_test

import (
	"fairlead.dev/agent/secrets"
	"fairlead.dev/reconcile"
)

var (
	_ reconcile.SecretStore = (*secrets.File)(nil)
	_ reconcile.SecretStore = (*secrets.Memory)(nil)
	_ reconcile.SecretStore = (*secrets.Kubernetes)(nil)
)

package sites_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/driver/cloudconfig/userdata"
	"fairlead.dev/providers/infrastructure/hosts"
	"fairlead.dev/providers/infrastructure/hosts/api"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
)

const onHosts = `
---
apiVersion: fairlead.dev/v1alpha1
kind: HostCluster
metadata: {name: eu-1, namespace: prod}
spec: {}
---
apiVersion: fairlead.dev/v1alpha1
kind: HostMachineTemplate
metadata: {name: hosts, namespace: prod}
spec: {template: {spec: {poolName: rack}}}
---
apiVersion: fairlead.dev/v1alpha1
kind: HostPool
metadata: {name: rack, namespace: prod}
spec:
  ssh:
    user: root
    identityRef: {name: ssh}
    knownHosts: |
KNOWN
  hosts:
HOSTS
---
apiVersion: v1
kind: Secret
metadata: {name: ssh, namespace: prod}
stringData:
  ssh-privatekey: |
KEY`

// TestHosts: workers on hosts beside a control plane elsewhere, over real SSH. When
// they leave Git, the secret store has what leads to them.
func TestHosts(t *testing.T) {
	rack := hoststest.New(t)
	var known, list []string
	for i := range 5 {
		h := rack.Host(fmt.Sprintf("h%d", i))
		known = append(known, "      "+strings.TrimSpace(h.KnownHosts()))
		list = append(list, fmt.Sprintf("  - {name: h%d, address: 127.0.0.1, ssh: {port: %d}}", i, h.Port))
	}
	key := "    " + strings.ReplaceAll(strings.TrimSpace(string(rack.PrivateKey)), "\n", "\n    ")
	p := hosts.New(hosts.Options{
		Log: slog.New(slog.DiscardHandler), Tick: 50 * time.Millisecond, Settle: 2 * time.Second,
		Secret: func(context.Context, fleet.Key) (fleet.SecretData, error) {
			return fleet.SecretData{"ssh-privatekey": fleet.NewSecret(rack.PrivateKey)}, nil
		},
	})
	t.Cleanup(p.Close)
	w := newWorld(t, guest{
		name: api.ProviderName, kinds: api.Kinds(), provider: p, nodeID: userdata.NodeID,
		manifests: strings.NewReplacer("KNOWN", strings.Join(known, "\n"), "HOSTS", strings.Join(list, "\n"), "KEY", key).Replace(onHosts),
		template:  "{apiGroup: fairlead.dev, kind: HostMachineTemplate, name: hosts}",
	})
	defer w.close()
	w.live(100 * time.Millisecond)
}

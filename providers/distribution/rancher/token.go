package rancher

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"fairlead.dev/fleet"
	"fairlead.dev/providers"
	"fairlead.dev/providers/distribution/jointoken"
	"fairlead.dev/providers/distribution/pki"
	"fairlead.dev/providers/workload"
)

// Admit implements providers.Distribution. Servers show the server token, which has no end.
func (d Distribution) Admit(ctx context.Context, a providers.Access, in providers.BootstrapInput, ttl time.Duration) error {
	if in.Join != fleet.JoinWorker {
		return nil
	}
	t, err := tokenOf(in)
	if err != nil {
		return err
	}
	// Source: k3s, pkg/kubeadm: the group of the tokens that it makes itself.
	groups := "system:bootstrappers:" + d.program.Name + ":default-node-token"
	return d.clusters.Call(ctx, a, "store bootstrap token "+t.ID, func(ctx context.Context, n *workload.Conn) error {
		return jointoken.Ensure(ctx, n, t, groups, ttl)
	})
}

// tokenOf returns the bootstrap token of the worker of in.
func tokenOf(in providers.BootstrapInput) (jointoken.Token, error) {
	authority, err := pki.Load(in.Secrets[fleet.ClusterCA])
	if err != nil {
		return jointoken.Token{}, fleet.Errorf(fleet.Unknown, "make the bootstrap token of machine "+string(in.Machine), "cluster CA: %w", err)
	}
	return jointoken.Of(authority, in.Cluster.Key, in.Machine)
}

// joinToken returns what the machine of in shows to the cluster that it joins, or makes:
// it pins the authority of the cluster, and says who the machine is.
func joinToken(in providers.BootstrapInput) (string, error) {
	file := authorityFile(in.Secrets[fleet.ClusterCA])
	if len(file) == 0 {
		return "", fmt.Errorf("%w: cluster CA is missing", errIncomplete)
	}
	if in.Join == fleet.JoinWorker {
		t, err := tokenOf(in)
		if err != nil {
			return "", err
		}
		return "K10" + authorityHash(file) + "::" + t.ID + "." + string(t.Secret.Reveal()), nil
	}
	token := in.Secrets[fleet.ServerToken][fleet.TokenKey]
	if token.IsZero() {
		return "", fmt.Errorf("%w: the server token is missing", errIncomplete)
	}
	if in.Join == fleet.JoinInit {
		return string(token.Reveal()), nil // there is no server yet whose CA it could know
	}
	return "K10" + authorityHash(file) + "::server:" + string(token.Reveal()), nil
}

// authorityFile is the content of the file that servers read the authority d from, and
// tell others: with an end of line.
func authorityFile(d fleet.SecretData) []byte {
	content := bytes.TrimSpace(d[fleet.TLSCertKey].Reveal())
	if len(content) == 0 {
		return nil
	}
	return append(bytes.Clone(content), '\n')
}

// authorityHash is how tokens pin an authority: by the bytes of its file, where that is one
// certificate.
// Source: k3s, pkg/clientaccess, hashCA.
func authorityHash(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

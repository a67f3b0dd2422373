package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"fairlead.dev/fleet"
)

// config returns how to log in to e, as long as ctx lasts. Its errors are of kind
// Unauthorized.
func (d *Dialer) config(ctx context.Context, e *Endpoint) (*ssh.ClientConfig, error) {
	op := "log in to " + e.String()
	known, err := knownHosts(e.KnownHosts)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	auth, err := d.auth(ctx, e)
	if err != nil {
		return nil, fleet.Errorf(fleet.Unauthorized, op, "%w", err)
	}
	return &ssh.ClientConfig{
		User: e.User, Auth: auth, Timeout: d.Dial,
		HostKeyCallback:   known.HostKeyCallback(),
		HostKeyAlgorithms: known.HostKeyAlgorithms(e.hostPort()),
	}, nil
}

func (d *Dialer) auth(ctx context.Context, e *Endpoint) ([]ssh.AuthMethod, error) {
	var out []ssh.AuthMethod
	if !e.Key.IsZero() {
		signer, err := parseKey(e)
		if err != nil {
			return nil, err
		}
		out = append(out, ssh.PublicKeys(signer))
	}
	if e.Agent {
		if d.Agent == "" {
			return nil, errors.New("agent is true, and there is no SSH agent (start one and set SSH_AUTH_SOCK or --hosts-agent-socket, or use identityRef)")
		}
		out = append(out, ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return d.signers(ctx) }))
	}
	if !e.Password.IsZero() {
		password := string(e.Password.Reveal())
		out = append(out, ssh.Password(password), ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
			answers := make([]string, len(questions))
			for i := range answers {
				answers[i] = password
			}
			return answers, nil
		}))
	}
	if len(out) == 0 {
		return nil, errors.New("there is no key and no password")
	}
	return out, nil
}

// signers asks the SSH agent for its keys, which sign in the agent until ctx ends.
func (d *Dialer) signers(ctx context.Context) ([]ssh.Signer, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", d.Agent)
	if err != nil {
		return nil, fmt.Errorf("the SSH agent does not answer: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return agent.NewClient(conn).Signers()
}

func parseKey(e *Endpoint) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(e.Key.Reveal())
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted {
		if e.Passphrase.IsZero() {
			return nil, errors.New("the private key is encrypted, and the Secret has no key passphrase")
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(e.Key.Reveal(), e.Passphrase.Reveal())
	}
	if err != nil {
		return nil, fmt.Errorf("the private key cannot be read: %w", err)
	}
	return signer, nil
}

// knownHosts parses the content of a known_hosts file. The library reads files
// only, so it gets one for a moment; what is in it is public.
func knownHosts(content []byte) (*knownhosts.HostKeyDB, error) {
	if len(content) == 0 {
		return nil, errors.New("no known_hosts are given, so that anybody could pose as it (add them to knownHosts of the HostPool, or as known_hosts to the Secret)")
	}
	f, err := os.CreateTemp("", "known_hosts-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	db, err := knownhosts.NewDB(f.Name())
	if err != nil {
		return nil, fmt.Errorf("known_hosts cannot be read: %w", err)
	}
	return db, nil
}

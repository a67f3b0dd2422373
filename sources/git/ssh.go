package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

type sshRemote struct {
	address string
	path    string
	config  ssh.ClientConfig
	hint    string // for an address that may lack its port
	agent   string // socket of the ssh-agent whose keys are offered; empty: none
	limit   int64

	multiACK bool // the server requires multi_ack
}

func newSSHRemote(ep *transport.Endpoint, auth Auth, o Options) (remote, error) {
	switch {
	case !o.Proxy.IsZero():
		return nil, errors.New("a proxy does not work over ssh: use https")
	case !auth.App.IsZero():
		return nil, errors.New("a GitHub App does not work over ssh: use https")
	case len(auth.Certificate) > 0:
		return nil, errors.New("a client certificate does not work over ssh: use https")
	}
	port := ep.Port
	if port == 0 {
		port = 22
	}
	r := &sshRemote{
		address: cmp.Or(o.Address, net.JoinHostPort(strings.Trim(ep.Host, "[]"), strconv.Itoa(port))),
		path:    ep.Path,
		limit:   o.Budget.Received,
		hint:    portHint(o.URL, ep),

		multiACK: isAzure(ep.Host),
	}
	if len(o.KnownHosts) == 0 {
		return nil, fmt.Errorf("ssh needs known_hosts, the server's public key: %s", getKey(r.address))
	}
	hosts, err := knownHosts(o.KnownHosts)
	if err != nil {
		return nil, err
	}
	r.config.HostKeyCallback = hosts.HostKeyCallback()
	r.config.HostKeyAlgorithms = hosts.HostKeyAlgorithms(r.address)
	r.config.User = ep.User
	if auth.Username != "" {
		r.config.User = auth.Username
	}
	if r.config.User == "" {
		r.config.User = "git"
	}
	switch {
	case !auth.Key.IsZero():
		signer, err := parseKey(auth)
		if err != nil {
			return nil, err
		}
		r.config.Auth = []ssh.AuthMethod{ssh.PublicKeys(signer)}
	case auth.Agent != "":
		r.agent = auth.Agent
	case !auth.Password.IsZero():
		r.config.Auth = []ssh.AuthMethod{ssh.Password(string(auth.Password.Reveal()))}
	default:
		return nil, errors.New("ssh needs a private key")
	}
	return r, nil
}

// hinted returns err with a hint, if there is one.
func hinted(err error, hint string) error {
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, hint)
}

// getKey says how to get the public key of the server at address.
func getKey(address string) string {
	host, port, _ := net.SplitHostPort(address)
	if port != "22" {
		host = "-p " + port + " " + host
	}
	return "get it with ssh-keyscan " + host + " and compare it with what its operators publish"
}

// portHint says how an address has a port, if the path of ep begins with a number, as in
// git@host:2222/fleet.git, which has none.
func portHint(raw string, ep *transport.Endpoint) string {
	port, path, _ := strings.Cut(strings.TrimPrefix(ep.Path, "/"), "/")
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || path == "" || strings.Contains(raw, "://") {
		return ""
	}
	return fmt.Sprintf("%s is a folder there: with a port the address is ssh://%s@%s:%s/%s", port, cmp.Or(ep.User, "git"), ep.Host, port, path)
}

func parseKey(auth Auth) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(auth.Key.Reveal())
	if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); encrypted {
		if auth.Passphrase.IsZero() {
			return nil, errors.New("the private key is encrypted and there is no passphrase")
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(auth.Key.Reveal(), auth.Passphrase.Reveal())
	}
	if err != nil {
		return nil, fmt.Errorf("the private key cannot be read: %w", err)
	}
	return signer, nil
}

// knownHosts parses the content of a known_hosts file. The library reads files only, so the
// content is in a temporary file for a moment.
func knownHosts(content []byte) (*knownhosts.HostKeyDB, error) {
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

func (r *sshRemote) open(ctx context.Context, service string) (session, error) {
	s, err := r.dial(ctx, service, "")
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (r *sshRemote) list(ctx context.Context, prefixes []string) (listing, error) {
	s, err := r.dial(ctx, uploadPack, protocol2)
	if err != nil {
		return listing{}, err
	}
	return s.list(prefixes)
}

// dial begins a conversation that asks for a version of the protocol.
func (r *sshRemote) dial(ctx context.Context, service, protocol string) (*stream, error) {
	config := r.config
	if r.agent != "" {
		held, err := new(net.Dialer).DialContext(ctx, "unix", r.agent)
		if err != nil {
			return nil, fmt.Errorf("the ssh-agent cannot be asked: %w", err)
		}
		defer held.Close() // it signs in the handshake alone
		config.Auth = []ssh.AuthMethod{ssh.PublicKeysCallback(agent.NewClient(held).Signers)}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return nil, hinted(err, r.hint)
	}
	// Closing the connection ends everything below, the handshake too.
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	stop := sync.OnceFunc(func() { unhook(); conn.Close() })
	c, chans, reqs, err := ssh.NewClientConn(conn, r.address, &config)
	if err != nil {
		stop()
		if knownhosts.IsHostUnknown(err) {
			err = hinted(err, getKey(r.address))
		}
		return nil, errors.Join(err, context.Cause(ctx))
	}
	client := ssh.NewClient(c, chans, reqs)
	s, err := r.start(client, service, protocol)
	if err != nil {
		stop()
		return nil, errors.Join(err, context.Cause(ctx))
	}
	s.stop = stop
	return s, nil
}

func (r *sshRemote) start(client *ssh.Client, service, protocol string) (*stream, error) {
	se, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	if protocol != "" {
		// Many servers refuse variables. The answer shows the version, so the reply is not
		// awaited.
		if _, err := se.SendRequest("env", false, ssh.Marshal(struct{ Name, Value string }{"GIT_PROTOCOL", protocol})); err != nil {
			return nil, err
		}
	}
	said := &words{}
	se.Stderr = said
	in, err := se.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := se.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := se.Start(service + " " + quote(r.path)); err != nil {
		return nil, err
	}
	return &stream{
		in: in, out: bounded(out, r.limit), stderr: said, empty: service == receivePack, multiACK: r.multiACK,
		wait: sync.OnceValue(se.Wait),
	}, nil
}

// quote quotes s for a shell on the other side, the way git itself does.
func quote(s string) string {
	s = strings.ReplaceAll(s, "'", `'\''`)
	return "'" + strings.ReplaceAll(s, "!", `'\!'`) + "'"
}

// Package remote runs shell scripts on hosts over SSH. It keeps one connection per
// host, goes through a bastion where there is one, and trusts no server whose key
// it was not told.
package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/fleet"
)

// An Endpoint is an SSH server with the credentials for it.
type Endpoint struct {
	Title   string // for messages: "host rack1-a"
	Address string
	Port    int32
	User    string
	Sudo    bool // run scripts with sudo

	Key, Passphrase fleet.Secret // a private key, and what opens it
	Password        fleet.Secret
	Agent           bool   // use the keys of the SSH agent
	KnownHosts      []byte // as in a known_hosts file

	Via *Endpoint // a bastion
}

// id identifies everything that a connection depends on.
func (e *Endpoint) id() string {
	h := sha256.New()
	for at := e; at != nil; at = at.Via {
		fmt.Fprintf(h, "%q %d %q %v %q %q %q %q\n", at.Address, at.Port, at.User, at.Agent,
			at.Key.Reveal(), at.Passphrase.Reveal(), at.Password.Reveal(), at.KnownHosts)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (e *Endpoint) hostPort() string {
	return net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port)))
}

func (e *Endpoint) String() string { return fmt.Sprintf("%s (%s)", e.Title, e.hostPort()) }

// A Dialer keeps connections. It is safe for concurrent use; scripts on one host
// run one after the other.
type Dialer struct {
	Dial   time.Duration // how long it may take to connect; default 10 s
	Agent  string        // socket of an SSH agent; empty: there is none
	mu     sync.Mutex
	links  map[string]*link // by id of the endpoint
	closed bool

	gateways map[string]*gateway // by id of the bastion
}

// idle is how long an unused connection is kept.
const idle = 10 * time.Minute

// NewDialer returns a dialer that uses the SSH agent at socket, if not empty.
func NewDialer(socket string) *Dialer {
	return &Dialer{Dial: 10 * time.Second, Agent: socket, links: make(map[string]*link), gateways: make(map[string]*gateway)}
}

// A link is the connection to one endpoint.
type link struct {
	busy   chan struct{} // holds one token while it is not in use
	client *ssh.Client
	used   time.Time
}

func (l *link) drop() {
	if l.client != nil {
		_ = l.client.Close()
		l.client = nil
	}
}

// link returns the link of e, and closes links that were unused for long.
func (d *Dialer) link(e *Endpoint) *link {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.forget(func(l *link) bool { return now.Sub(l.used) > idle })
	id := e.id()
	l, ok := d.links[id]
	if !ok {
		l = &link{busy: make(chan struct{}, 1)}
		l.busy <- struct{}{}
		d.links[id] = l
	}
	l.used = now
	return l
}

// forget closes unused links for which old returns true.
func (d *Dialer) forget(old func(*link) bool) {
	for id, l := range d.links {
		if !old(l) {
			continue
		}
		select {
		case <-l.busy:
			l.drop()
			delete(d.links, id)
		default:
		}
	}
}

// Close closes every connection; those in use, when their script ends.
func (d *Dialer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.forget(func(*link) bool { return true })
}

// release gives l back.
func (d *Dialer) release(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		l.drop()
	}
	l.busy <- struct{}{}
}

// Run runs script, of POSIX shell, as root on the host and returns what it wrote to
// standard output. A script that did not arrive as a whole does nothing at all.
//
// The error is of kind Unavailable or Unauthorized where nothing can have run, of
// kind Unanswered where the script was sent and no end was seen, and an
// *ExitError where it failed.
func (d *Dialer) Run(ctx context.Context, e *Endpoint, script string) ([]byte, error) {
	l := d.link(e)
	select {
	case <-l.busy:
		defer d.release(l)
	case <-ctx.Done():
		return nil, fleet.Errorf(fleet.Unavailable, "reach "+e.String(), "another command did not come to its end: %w", context.Cause(ctx))
	}
	session, err := d.session(ctx, l, e)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	// Closing the connection is what ends a session that hangs. The link may have
	// another one, or none, by the time that ctx ends.
	client := l.client
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	stdout := &output{most: mostOutput, full: func() { _ = client.Close() }}
	stderr := &tail{most: mostErrors}
	session.Stdout, session.Stderr = stdout, stderr
	session.Stdin = strings.NewReader(whole(script))
	shell := "exec sh -s"
	if e.Sudo {
		shell = "exec sudo -n sh -s"
	}
	err = session.Run(shell)
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok && exit.Signal() == "" {
		return nil, exited(e, exit.ExitStatus(), string(stderr.kept))
	}
	if err != nil {
		l.drop()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if stdout.over {
			err = errTooMuch
		}
		return nil, fleet.Errorf(fleet.Unanswered, "run a command on "+e.String(), "the connection broke before its end: %w", err)
	}
	return stdout.kept, nil
}

// whole makes script a function that is called in the last line: a shell that gets
// a part of it finds no end of the function and runs nothing.
func whole(script string) string {
	return "main() {\n" + script + "\n}\nmain </dev/null\n"
}

// session opens a session, over a new connection where the old one is dead.
func (d *Dialer) session(ctx context.Context, l *link, e *Endpoint) (*ssh.Session, error) {
	if client := l.client; client != nil {
		stop := context.AfterFunc(ctx, func() { _ = client.Close() })
		s, err := client.NewSession()
		stop()
		if err == nil {
			return s, nil
		}
		l.drop() // nothing was asked over it yet
	}
	ctx, cancel := context.WithTimeout(ctx, d.Dial)
	defer cancel()
	client, err := d.connect(ctx, e)
	if err != nil {
		return nil, classify(e, err)
	}
	s, err := client.NewSession()
	if err != nil {
		_ = client.Close()
		return nil, classify(e, err)
	}
	l.client = client
	return s, nil
}

// connect logs in to e. The connection through a bastion holds the one to that, which
// others share.
func (d *Dialer) connect(ctx context.Context, e *Endpoint) (*ssh.Client, error) {
	config, err := d.config(ctx, e)
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	if e.Via == nil {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", e.hostPort())
	} else {
		conn, err = d.through(ctx, e)
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	c, chans, reqs, err := ssh.NewClientConn(conn, e.hostPort(), config)
	if err != nil {
		_ = conn.Close()
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		return nil, err
	}
	return ssh.NewClient(c, chans, reqs), nil
}

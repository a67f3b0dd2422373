package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"fairlead.dev/fleet"
	"fairlead.dev/providers/infrastructure/hosts/hoststest"
	"fairlead.dev/providers/infrastructure/hosts/remote"
	"fairlead.dev/test/run/needs"
)

func endpoint(w *hoststest.World, h *hoststest.Host) *remote.Endpoint {
	return &remote.Endpoint{
		Title: "host " + h.Name, Address: "127.0.0.1", Port: int32(h.Port), User: "root",
		Key: fleet.NewSecret(w.PrivateKey), KnownHosts: []byte(h.KnownHosts()),
	}
}

// serveAgent runs an SSH agent with a private key and returns its socket.
func serveAgent(t *testing.T, private []byte) string {
	t.Helper()
	key, err := ssh.ParseRawPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(ring, c) }()
		}
	}()
	return socket
}

// newDialer returns a dialer that waits for a busy machine: every connection of a test
// is an sshd that has to be started.
func newDialer(socket string) *remote.Dialer {
	d := remote.NewDialer(socket)
	d.Dial = time.Minute
	return d
}

// TestLogin: each way to log in, and what is said where it does not work.
func TestLogin(t *testing.T) {
	w := hoststest.New(t)
	h, bastion := w.Host("h0"), w.Bastion("bastion")
	off := w.Bastion("off")
	off.Off()
	locked, public := hoststest.NewKey(t, "open sesame")
	stranger, _ := hoststest.NewKey(t, "")
	h.Write("/root/.ssh/authorized_keys", w.PublicKey+"\n"+public+"\n")
	h.Exec(`useradd --create-home deploy && echo 'deploy:pass word' | chpasswd -c SHA512 && mkdir -p /etc/sudoers.d && echo 'deploy ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/deploy`)
	h.Exec(`useradd --create-home mere && echo 'mere:pass word' | chpasswd -c SHA512`)
	socket := serveAgent(t, w.PrivateKey)
	for name, c := range map[string]struct {
		edit   func(e *remote.Endpoint)
		socket string
		kind   fleet.ErrorKind
		words  []string
	}{
		"Key": {edit: func(*remote.Endpoint) {}},
		"EncryptedKey": {edit: func(e *remote.Endpoint) {
			e.Key, e.Passphrase = fleet.NewSecret(locked), fleet.NewSecret([]byte("open sesame"))
		}},
		"NoPassphrase": {edit: func(e *remote.Endpoint) { e.Key = fleet.NewSecret(locked) }, kind: fleet.Unauthorized, words: []string{"the Secret has no key passphrase"}},
		"WrongKey":     {edit: func(e *remote.Endpoint) { e.Key = fleet.NewSecret(stranger) }, kind: fleet.Unauthorized, words: []string{"user root is not let in", "host h0"}},
		"NoKey":        {edit: func(e *remote.Endpoint) { e.Key = fleet.Secret{} }, kind: fleet.Unauthorized, words: []string{"no key and no password"}},
		"Agent":        {edit: func(e *remote.Endpoint) { e.Key, e.Agent = fleet.Secret{}, true }, socket: socket},
		"NoAgent":      {edit: func(e *remote.Endpoint) { e.Key, e.Agent = fleet.Secret{}, true }, kind: fleet.Unauthorized, words: []string{"--hosts-agent-socket"}},
		"Password": {edit: func(e *remote.Endpoint) {
			e.Key, e.Password, e.User, e.Sudo = fleet.Secret{}, fleet.NewSecret([]byte("pass word")), "deploy", true
		}},
		"NoSudo": {edit: func(e *remote.Endpoint) {
			e.Key, e.Password, e.User, e.Sudo = fleet.Secret{}, fleet.NewSecret([]byte("pass word")), "mere", true
		}, kind: fleet.Unauthorized, words: []string{"mere ALL=(ALL) NOPASSWD: ALL"}},
		"Bastion": {edit: func(e *remote.Endpoint) { e.Via = endpoint(w, bastion) }},
		"BastionOfAnotherKey": {edit: func(e *remote.Endpoint) {
			e.Via = endpoint(w, bastion)
			e.Via.KnownHosts = []byte(strings.ReplaceAll(h.KnownHosts(), fmt.Sprint(h.Port), fmt.Sprint(bastion.Port)))
		}, kind: fleet.Unauthorized, words: []string{"host bastion (", "known_hosts"}},
		"BastionThatIsOff": {edit: func(e *remote.Endpoint) {
			e.Via = endpoint(w, off)
		}, kind: fleet.Unavailable, words: []string{"host off ("}},
	} {
		t.Run(name, func(t *testing.T) {
			e := endpoint(w, h)
			c.edit(e)
			if e.Sudo {
				needs.Program(t, "sudo", "apt-get install sudo")
			}
			d := newDialer(c.socket)
			defer d.Close()
			out, err := d.Run(t.Context(), e, "id -u; cat")
			if c.kind == "" {
				if err != nil || string(out) != "0\n" {
					t.Errorf("Run = %q, %v, want root's id", out, err)
				}
				return
			}
			if fleet.KindOf(err) != c.kind {
				t.Errorf("Run = %v (kind %s), want kind %s", err, fleet.KindOf(err), c.kind)
			}
			for _, word := range c.words {
				if !strings.Contains(fmt.Sprint(err), word) {
					t.Errorf("Run = %v, want it to say %q", err, word)
				}
			}
		})
	}
}

// TestRun: what a script says comes back, one that fails tells why, one that hangs ends
// with its time, and a connection that died is made anew.
func TestRun(t *testing.T) {
	w := hoststest.New(t)
	h := w.Host("h0")
	e, d := endpoint(w, h), newDialer("")
	defer d.Close()
	_, err := d.Run(t.Context(), e, "echo 'it is broken' >&2; exit 3")
	exit, ok := errors.AsType[*remote.ExitError](err)
	if !ok || exit.Status != 3 || exit.Said != "it is broken" {
		t.Errorf("Run of a script that fails = %v, want its status and words", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err = d.Run(ctx, e, "sleep 2"); fleet.KindOf(err) != fleet.Unanswered {
		t.Errorf("Run of a script that hangs = %v (kind %s), want kind Unanswered", err, fleet.KindOf(err))
	}
	if _, err := d.Run(t.Context(), e, "true"); err != nil {
		t.Errorf("Run after one that hung = %v", err)
	}
	h.Set(hoststest.Fault{}) // breaks the connection
	if out, err := d.Run(t.Context(), e, "echo again"); err != nil || string(out) != "again\n" {
		t.Errorf("Run over a connection that died = %q, %v", out, err)
	}
	h.Set(hoststest.Fault{CutAt: 50000}) // SSH hands over 32 KiB at a time
	if _, err := d.Run(t.Context(), e, "touch /opt/part\n"+strings.Repeat("true # and so on\n", 4000)); fleet.KindOf(err) != fleet.Unanswered {
		t.Errorf("Run of a script that arrived in part = %v (kind %s), want kind Unanswered", err, fleet.KindOf(err))
	}
	for strings.Contains(h.Exec("ps axo args"), "sh -s\n") {
		time.Sleep(20 * time.Millisecond)
	}
	if out := h.Exec("ls /opt"); out != "" {
		t.Errorf("a part of a script was run: %s", out)
	}
	h.Set(hoststest.Fault{})
	h.Off()
	if _, err := d.Run(t.Context(), e, "true"); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("Run on a host that is off = %v (kind %s), want kind Unavailable", err, fleet.KindOf(err))
	}
	h.On()
	h.Set(hoststest.Fault{Hang: true})
	d.Dial = 300 * time.Millisecond
	if _, err := d.Run(t.Context(), e, "true"); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("Run on a host that hangs = %v (kind %s), want kind Unavailable", err, fleet.KindOf(err))
	}
}

// TestOneConnectionPerBastion: the hosts behind a bastion share the connection to it,
// which may die, and is closed with the last of theirs.
func TestOneConnectionPerBastion(t *testing.T) {
	w := hoststest.New(t)
	bastion := w.Bastion("bastion")
	var list []*remote.Endpoint
	for i := range 4 {
		e := endpoint(w, w.Host(fmt.Sprintf("h%d", i)))
		e.Via = endpoint(w, bastion)
		list = append(list, e)
	}
	d := newDialer("")
	defer d.Close()
	all := func(when string) {
		t.Helper()
		var wg sync.WaitGroup
		for _, e := range list {
			wg.Go(func() {
				if out, err := d.Run(t.Context(), e, "echo here"); err != nil || string(out) != "here\n" {
					t.Errorf("%s: Run on %s = %q, %v", when, e, out, err)
				}
			})
		}
		wg.Wait()
	}
	all("at first")
	if n := bastion.Connections(); n != 1 {
		t.Errorf("connections to the bastion = %d, want one for all", n)
	}
	bastion.Set(hoststest.Fault{}) // breaks the connection
	all("after it broke")
	if n := bastion.Connections(); n != 2 {
		t.Errorf("connections to the bastion = %d, want one more", n)
	}
	off := *list[0]
	off.Port, off.Title = 1, "host off"
	if _, err := d.Run(t.Context(), &off, "true"); fleet.KindOf(err) != fleet.Unavailable {
		t.Errorf("Run on a host behind it that is off = %v (kind %s), want kind Unavailable", err, fleet.KindOf(err))
	}
	all("after a host that is off")
	if n := bastion.Connections(); n != 2 {
		t.Errorf("connections to the bastion = %d, want none for a host that is off", n)
	}
}

// TestOutputIsBounded: a host that writes without end is cut off, and of its errors the
// end is kept.
func TestOutputIsBounded(t *testing.T) {
	w := hoststest.New(t)
	h := w.Host("h0")
	e, d := endpoint(w, h), newDialer("")
	defer d.Close()
	if _, err := d.Run(t.Context(), e, "yes | head -c 5000000"); fleet.KindOf(err) != fleet.Unanswered || !strings.Contains(err.Error(), "more than a megabyte") {
		t.Errorf("Run of what writes without end = %v (kind %s), want kind Unanswered", err, fleet.KindOf(err))
	}
	_, err := d.Run(t.Context(), e, "yes | head -c 300000 >&2; echo 'the end' >&2; exit 1")
	if exit, ok := errors.AsType[*remote.ExitError](err); !ok || !strings.HasSuffix(exit.Said, "the end") {
		t.Errorf("Run of what complains at length = %v, want the end of it", err)
	}
}

// TestEndsWhileItFails: the time of a script may end while its connection breaks.
func TestEndsWhileItFails(t *testing.T) {
	w := hoststest.New(t)
	h := w.Host("h0")
	e, d := endpoint(w, h), newDialer("")
	defer d.Close()
	for range 20 {
		if _, err := d.Run(t.Context(), e, "true"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = d.Run(ctx, e, "sleep 5") })
		wg.Go(func() { h.Set(hoststest.Fault{}) })
		wg.Go(cancel)
		wg.Wait()
	}
}

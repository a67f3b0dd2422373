package sops

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	yaml "go.yaml.in/yaml/v3"

	"fairlead.dev/fleet/documents"
)

// Limits of one run of the program, and waits after failures.
const (
	programTime   = 20 * time.Second
	programMemory = 512 << 20 // memory of each of its processes, in bytes
	programsMost  = 4         // runs at the same time
	programWords  = 8 << 10   // bytes kept of its standard error
	retryAfter    = time.Minute
	hangsMost     = 3 // hangs in a row after which nothing is run until retryAfter
	keptMost      = 512
	keptBytes     = 16 << 20
)

// A program runs sops for files whose data key needs the client of a key service. It is
// safe for concurrent use.
type program struct {
	name    string // as for exec.LookPath
	environ func() []string
	timeout time.Duration
	memory  uint64
	slots   chan struct{}
	now     func() time.Time

	mu    sync.Mutex
	known map[[sha256.Size]byte]outcome // by a hash of the input
	bytes int                           // size of known
	hangs int                           // hangs since the last answer
	until time.Time                     // no run before that time
	again time.Time                     // when a failure may be tried again; zero: there was none
}

// unanswered is a refusal that may pass.
type unanswered struct{ *documents.Refusal }

// Unwrap gives the refusal.
func (u *unanswered) Unwrap() error { return u.Refusal }

func newProgram(name string) *program {
	return &program{
		name: name, environ: os.Environ, timeout: programTime, memory: programMemory, slots: make(chan struct{}, programsMost), now: time.Now,
		known: make(map[[sha256.Size]byte]outcome),
	}
}

// due reports whether a file that could not be decrypted may be tried again.
func (p *program) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.again.IsZero() && !p.now().Before(p.again)
}

// decrypt returns the documents docs, with the metadata m, as sops decrypts them. The error
// is a *documents.Refusal, or that of ctx.
func (p *program) decrypt(ctx context.Context, m *metadata, docs []*yaml.Node) ([]*yaml.Node, error) {
	path, err := exec.LookPath(p.name)
	if err != nil {
		return nil, &documents.Refusal{
			Message: "the file is encrypted for " + m.whom() + ", which needs the program sops, and there is no program " + p.name + " here",
			Hint:    "install sops 3.9 or newer (https://getsops.io) where this runs" + m.tools() + ", or name it with --sops-program; or add an age recipient: sops rotate --in-place --add-age RECIPIENT",
		}
	}
	if err := p.mayBeAsked(m); err != nil {
		return nil, err
	}
	in, err := m.file(docs)
	if err != nil {
		return nil, &documents.Refusal{Message: "the encrypted file cannot be given to sops", Hint: damagedHint}
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	id := sha256.Sum256(in)
	o, ok := p.remembered(id, m)
	if !ok {
		o = p.run(ctx, path, in, m)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p.remember(id, o)
	}
	if o.err != nil {
		return nil, &unanswered{o.err}
	}
	f, err := documents.Parse(o.plain, documents.DefaultLimits())
	if err != nil || len(f.Documents) != len(docs) {
		return nil, strange() // the error may quote decrypted values
	}
	return f.Documents, nil
}

func strange() *documents.Refusal {
	return &documents.Refusal{Message: "what the program sops printed is not the file decrypted", Hint: "see that the program that --sops-program names is sops 3.9 or newer"}
}

// mayBeAsked refuses a file that would make sops send the token of a Vault to a server that
// only the file names.
func (p *program) mayBeAsked(m *metadata) error {
	ours := strings.TrimRight(p.variable("VAULT_ADDR"), "/")
	for _, k := range m.HCVault {
		address, _ := k["vault_address"].(string)
		if strings.TrimRight(address, "/") == ours && ours != "" {
			continue
		}
		return &documents.Refusal{
			Message: fmt.Sprintf("the file is encrypted with the Vault %q, and the environment variable VAULT_ADDR does not name that one: its token is sent nowhere else", address),
			Hint:    "set VAULT_ADDR to the address that files name, or encrypt the file with the Vault that it names",
		}
	}
	return nil
}

func (p *program) variable(name string) string {
	for _, v := range p.environ() {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// environment returns the environment of the program for a file with metadata m: what any
// program needs, and what the clients of the services in m read.
func (p *program) environment(m *metadata) []string {
	names := []string{"PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"}
	var prefixes []string
	for _, s := range m.services() {
		if len(s.keys) > 0 {
			names, prefixes = append(names, s.variables...), append(prefixes, s.prefixes...)
		}
	}
	out := []string{"LC_ALL=C"}
	for _, v := range p.environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(names, name) || slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			out = append(out, v)
		}
	}
	return out
}

// errTooMuch ends a run that prints too much.
var errTooMuch = errors.New("it prints too much")

// run lets the program decrypt in. Its standard error, which may quote anything, is only
// mapped to one of a few fixed messages.
func (p *program) run(caller context.Context, path string, in []byte, m *metadata) outcome {
	ctx, cancel := context.WithTimeout(caller, p.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "decrypt", "--input-type", "yaml", "--output-type", "yaml", "/dev/stdin") //nolint:gosec // who starts Fairlead names it
	cmd.Env, cmd.Dir = p.environment(m), "/"
	cmd.Stdin = bytes.NewReader(in)
	out, said := &atMost{most: documents.DefaultLimits().Bytes, over: cancel}, &atMost{most: programWords}
	cmd.Stdout, cmd.Stderr = out, said
	cmd.WaitDelay = time.Second
	apart(cmd)
	err := cmd.Start()
	if err == nil {
		limit(cmd.Process.Pid, p.memory)
		err = cmd.Wait()
	}
	if err == nil && !out.full {
		return outcome{plain: out.buf.Bytes()}
	}
	refuse := func(why, hint string) outcome {
		return outcome{until: p.now().Add(retryAfter), err: &documents.Refusal{
			Message: "the program sops cannot decrypt the file, which is encrypted for " + m.whom() + ": " + why, Hint: hint,
		}}
	}
	const byHand = "see whether `sops decrypt FILE` works where this runs, with the same environment; it is tried again by itself"
	switch {
	case out.full:
		return refuse(errTooMuch.Error(), "see that the program that --sops-program names is sops 3.9 or newer")
	case ctx.Err() != nil:
		o := refuse(fmt.Sprintf("it did not end within %s", p.timeout), byHand)
		if caller.Err() == nil { // it was not cancelled
			p.hung(o.until)
		}
		return o
	}
	return refuse(reason(cmd.ProcessState, said.buf.String()), byHand)
}

// reason says why the program failed, without content of the file, of a key or of an
// answer. Source: sops, cmd/sops/codes/codes.go.
func reason(state *os.ProcessState, said string) string {
	if state == nil {
		return "it cannot be started"
	}
	code := state.ExitCode()
	if code == 51 {
		return "the file was changed after it was encrypted: its authentication code does not fit"
	}
	why := fmt.Sprintf("it ended with exit code %d", code)
	if code < 0 {
		why = "it was killed, by the kernel perhaps for its memory"
	}
	if code == 128 {
		why = "it did not get the key of the file"
	}
	said = strings.ToLower(said)
	for _, s := range []struct{ words, means string }{
		{"no secret key", "the private key is not there"},
		{"executable file not found", "a program that it needs, such as gpg, is not installed"},
		{"permission denied", "permission is denied"},
		{"permissiondenied", "permission is denied"},
		{"accessdenied", "permission is denied"},
		{"forbidden", "permission is denied"},
		{"unauthorized", "the credentials are refused"},
		{"expired", "the credentials have expired"},
		{"missing client token", "there are no credentials"},
		{"credentials", "there are no credentials that fit"},
		{"connection refused", "the connection is refused"},
		{"no such host", "the name of the service is not found"},
		{"certificate", "the certificate of the service is not trusted"},
		{"timeout", "the service does not answer"},
		{"deadline exceeded", "the service does not answer"},
		{"out of memory", "it needs more memory than it may take"},
		{"cannot allocate memory", "it needs more memory than it may take"},
	} {
		if strings.Contains(said, s.words) {
			return why + ": " + s.means
		}
	}
	return why
}

var _ io.Writer = (*atMost)(nil)

// whom names the recipients in m, except those of age.
func (m *metadata) whom() string {
	var names []string
	for _, s := range m.services() {
		for _, k := range s.keys {
			name := s.name
			for _, field := range s.ids {
				if id, ok := k[field].(string); ok {
					name += " " + id
				}
			}
			names = append(names, name)
		}
	}
	const most = 5
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
	}
	return cmp.Or(list(names), "no one")
}

// tools says what sops itself needs for m.
func (m *metadata) tools() string {
	if len(m.PGP) > 0 {
		return ", and gpg"
	}
	return ""
}

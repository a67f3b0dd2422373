package remote

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"fairlead.dev/fleet"
)

// An ExitError says that a script failed. Its effects until then remain.
type ExitError struct {
	Host   string
	Status int
	Said   string // the end of its standard error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("on %s a command ended with status %d", e.Host, e.Status)
	}
	return fmt.Sprintf("on %s: %s", e.Host, e.Said)
}

// mostSaid is how much of standard error is kept.
const mostSaid = 600

func exited(e *Endpoint, status int, said string) error {
	said = strings.TrimSpace(said)
	if e.Sudo && refusedBySudo(said) {
		return fleet.Errorf(fleet.Unauthorized, "become root on "+e.String(), "%s (let user %s use sudo without a password, in a file of /etc/sudoers.d: %s ALL=(ALL) NOPASSWD: ALL)", said, e.User, e.User)
	}
	return &ExitError{Host: e.Title, Status: status, Said: said[max(0, len(said)-mostSaid):]}
}

// refusedBySudo reports whether it is sudo that said no, and not the script it ran.
func refusedBySudo(said string) bool {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "sudo: ") && !strings.Contains(line, "unable to resolve host") || strings.Contains(line, "sudo: not found") || strings.Contains(line, "sudo: command not found") {
			return true
		}
	}
	return false
}

// classify turns an error of connecting to e into one with a kind. Nothing was run.
func classify(e *Endpoint, err error) error {
	if _, ok := errors.AsType[*fleet.Error](err); ok {
		return err
	}
	op := "log in to " + e.String()
	if key, ok := errors.AsType[*xknownhosts.KeyError](err); ok {
		if len(key.Want) == 0 {
			return fleet.Errorf(fleet.Unauthorized, op, "its key is not in known_hosts (compare it with what the host says itself, ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub, and add it)")
		}
		return fleet.Errorf(fleet.Unauthorized, op, "its key is another one than known_hosts says, so it may be another host that poses as it (if it was reinstalled, compare its key and correct known_hosts)")
	}
	if _, ok := errors.AsType[*xknownhosts.RevokedError](err); ok {
		return fleet.Errorf(fleet.Unauthorized, op, "known_hosts says that its key is revoked")
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return fleet.Errorf(fleet.Unavailable, "reach "+e.String(), "%w", err)
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "unable to authenticate"):
		return fleet.Errorf(fleet.Unauthorized, op, "user %s is not let in: %w", e.User, err)
	case strings.Contains(text, "no common algorithm for host key"):
		return fleet.Errorf(fleet.Unauthorized, op, "it has no key of a kind that known_hosts has for it: %w", err)
	}
	if o, ok := errors.AsType[*ssh.OpenChannelError](err); ok && o.Reason == ssh.Prohibited {
		return fleet.Errorf(fleet.Unauthorized, op, "the way there is forbidden: %w", err)
	}
	return fleet.Errorf(fleet.Unavailable, "reach "+e.String(), "%w", err)
}

package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/crypto/ssh"

	"fairlead.dev/fleet"
)

// personalTimeout bounds how long a credential helper may take.
const personalTimeout = 30 * time.Second

// Personal sets the credentials of o to those that the program git would use for its URL on
// this computer: for https, and for http on this computer, what credential helpers know; for
// ssh what OpenSSH would use, ~/.ssh/config included. It asks no question. Where nothing is
// known, or the URL has a password, o stays unchanged. It has the form of Options.Refresh.
func Personal(o *Options) error {
	ep, err := parseURL(o.URL)
	if err != nil {
		return err
	}
	switch {
	case ep.Password != "":
	case ep.Protocol == "https", ep.Protocol == "http" && isLoopback(ep.Host):
		ctx, cancel := context.WithTimeout(context.Background(), personalTimeout)
		defer cancel()
		o.Auth.Username, o.Auth.Password = filled(ctx, ep)
	case ep.Protocol == "ssh":
		return personalSSH(o, ep)
	}
	return nil
}

// filled returns the user and the password that the credential helpers of Git know for ep.
// The terminal and programs that ask are left out. Source: git-credential(1).
func filled(ctx context.Context, ep *transport.Endpoint) (string, fleet.Secret) {
	host := ep.Host
	if ep.Port != 0 && ep.Port != defaultPort(ep.Protocol) {
		host = net.JoinHostPort(strings.Trim(ep.Host, "[]"), strconv.Itoa(ep.Port))
	}
	question := "protocol=" + ep.Protocol + "\nhost=" + host + "\npath=" + strings.TrimPrefix(ep.Path, "/") + "\n"
	if ep.User != "" {
		question += "username=" + ep.User + "\n"
	}
	if strings.ContainsAny(host+ep.Path+ep.User, "\r\n\x00") {
		return "", fleet.Secret{} // a line of its own would ask for another host's
	}
	cmd := exec.CommandContext(ctx, "git", "credential", "fill")
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=")
	cmd.Stdin = strings.NewReader(question + "\n")
	out, err := cmd.Output()
	if err != nil {
		return "", fleet.Secret{} // no helper knows one, or there is no git
	}
	var user string
	var password fleet.Secret
	for line := range bytes.Lines(out) {
		key, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte("="))
		switch string(key) {
		case "username":
			user = string(value)
		case "password":
			password = fleet.NewSecret(value)
		}
	}
	return user, password
}

// personalSSH sets what OpenSSH would use for ep: by what the program ssh says of the host, which
// may be one of ~/.ssh/config, or without that program by its defaults.
func personalSSH(o *Options, ep *transport.Endpoint) error {
	home, err := os.UserHomeDir()
	if err != nil {
		home = string(filepath.Separator)
	}
	c := sshConfig(home, ep)
	for _, key := range []string{"proxyjump", "proxycommand"} {
		if way := c.first(key); way != "" && way != "none" {
			return fleet.Errorf(fleet.Invalid, "use the repository URL", "~/.ssh/config reaches %s through another host (%s %s), which is not supported: use https", ep.Host, key, way)
		}
	}
	if host := c.first("hostname"); host != "" {
		o.Address = net.JoinHostPort(host, cmp.Or(c.first("port"), "22"))
	}
	if me, err := user.Current(); ep.User == "" && (err != nil || c.first("user") != me.Username) { // without one ssh names its user
		o.Auth.Username = c.first("user")
	}
	known := append(strings.Fields(c.first("userknownhostsfile")), filepath.Join(home, ".ssh", "known_hosts"), "/etc/ssh/ssh_known_hosts")
	slices.Sort(known)
	for _, name := range slices.Compact(known) {
		if b, err := os.ReadFile(name); err == nil { //nolint:gosec // the user's own files
			o.KnownHosts = append(append(o.KnownHosts, b...), '\n')
		}
	}
	if o.Auth.Agent = os.Getenv("SSH_AUTH_SOCK"); o.Auth.Agent != "" && c.first("identitiesonly") != "yes" {
		return nil
	}
	keys := c["identityfile"]
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		keys = append(keys, filepath.Join(home, ".ssh", name))
	}
	for _, name := range keys {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, rest)
		}
		b, err := os.ReadFile(name) //nolint:gosec // the user's own files
		if err != nil {
			continue
		}
		_, err = ssh.ParsePrivateKey(b)
		if _, encrypted := errors.AsType[*ssh.PassphraseMissingError](err); !encrypted || o.Auth.Agent == "" { // the ssh-agent may have it
			o.Auth.Key = fleet.NewSecret(b)
		}
		return nil
	}
	return nil
}

// An sshSettings is what OpenSSH uses for a host, by the names of ssh_config(5) in lower case.
type sshSettings map[string][]string

func (c sshSettings) first(key string) string {
	if values := c[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// sshConfig asks the program ssh what it uses for ep; empty: it is not there. It makes no
// connection. Source: ssh(1), -G.
func sshConfig(home string, ep *transport.Endpoint) sshSettings {
	ctx, cancel := context.WithTimeout(context.Background(), personalTimeout)
	defer cancel()
	args := []string{"-G"}
	if me, err := user.Current(); err == nil && me.HomeDir != home { // ssh does not look at HOME
		if _, err := os.Stat(filepath.Join(home, ".ssh", "config")); err == nil {
			args = append(args, "-F", filepath.Join(home, ".ssh", "config"))
		}
	}
	if ep.Port != 0 && ep.Port != defaultPort(ep.Protocol) {
		args = append(args, "-p", strconv.Itoa(ep.Port))
	}
	if ep.User != "" {
		args = append(args, "-l", ep.User)
	}
	out, err := exec.CommandContext(ctx, "ssh", append(args, "--", strings.Trim(ep.Host, "[]"))...).Output() //nolint:gosec // the host is no flag
	c := make(sshSettings)
	if err != nil {
		return c
	}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		c[key] = append(c[key], value)
	}
	return c
}

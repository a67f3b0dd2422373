package git

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"fairlead.dev/fleet"
)

// personalTimeout bounds how long a credential helper may take.
const personalTimeout = 30 * time.Second

// Personal sets the credentials of o to those that the program git would use for its URL on
// this computer: for https, and for http on this computer, what credential helpers know; for
// ssh the agent of SSH_AUTH_SOCK, or else the first key in ~/.ssh with one of OpenSSH's default
// names, and the hosts of known_hosts. It asks no question. Where nothing is known, or the URL
// has a password, o stays as it is. It has the form of Options.Refresh.
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
		personalSSH(o)
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

// personalSSH sets what OpenSSH would use.
func personalSSH(o *Options) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = string(filepath.Separator)
	}
	for _, name := range []string{filepath.Join(home, ".ssh", "known_hosts"), "/etc/ssh/ssh_known_hosts"} {
		if b, err := os.ReadFile(name); err == nil {
			o.KnownHosts = append(append(o.KnownHosts, b...), '\n')
		}
	}
	if o.Auth.Agent = os.Getenv("SSH_AUTH_SOCK"); o.Auth.Agent != "" {
		return
	}
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		if b, err := os.ReadFile(filepath.Join(home, ".ssh", name)); err == nil {
			o.Auth.Key = fleet.NewSecret(b)
			return
		}
	}
}

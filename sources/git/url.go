package git

import (
	"net"
	"path"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"fairlead.dev/fleet"
)

// NormaliseURL returns the one spelling of a repository's address, for keys and for people:
// "https://git.example.com/team/fleet". It has no credentials, no default port and no
// ".git" at the end. It is not for connecting.
func NormaliseURL(raw string) (string, error) {
	ep, err := parseURL(raw)
	if err != nil {
		return "", err
	}
	return normal(ep), nil
}

func normal(ep *transport.Endpoint) string {
	host := strings.ToLower(ep.Host)
	if ep.Port != 0 && ep.Port != defaultPort(ep.Protocol) {
		host += ":" + strconv.Itoa(ep.Port)
	}
	if user, _, _ := strings.Cut(ep.User, ":"); ep.Protocol == "ssh" && user != "" { // user:password@host:path
		host = user + "@" + host
	}
	p := path.Clean("/" + ep.Path)
	return ep.Protocol + "://" + host + strings.TrimSuffix(p, ".git")
}

func defaultPort(scheme string) int {
	return map[string]int{"http": 80, "https": 443, "ssh": 22}[scheme]
}

// parseURL parses an address. Its errors do not contain it, since it may have a password.
func parseURL(raw string) (*transport.Endpoint, error) {
	const op = "use the repository URL"
	if strings.TrimSpace(raw) == "" {
		return nil, fleet.Errorf(fleet.Invalid, op, "it is empty")
	}
	ep, err := transport.NewEndpoint(strings.TrimSpace(raw))
	if err != nil {
		return nil, fleet.Errorf(fleet.Invalid, op, "it is not a URL")
	}
	ep.Protocol = strings.ToLower(ep.Protocol)
	if p := strings.TrimRight(ep.Path, "/"); p != "" { // as Git does
		ep.Path = p
	}
	switch ep.Protocol {
	case "http", "https", "ssh":
		if ep.Host == "" || strings.HasPrefix(ep.Host, "-") {
			return nil, fleet.Errorf(fleet.Invalid, op, "it has no host")
		}
		if ep.Protocol != "ssh" && strings.ContainsAny(ep.Path, "?#") {
			return nil, fleet.Errorf(fleet.Invalid, op, "it has a query or a fragment, which the address of a repository has not: remove it, and give a token in a file (--token-file)")
		}
	case "file":
		if ep.Host != "" {
			return nil, fleet.Errorf(fleet.Invalid, op, "a file URL has three slashes: file:///path/to/repository")
		}
	default:
		return nil, fleet.Errorf(fleet.Invalid, op, "scheme %q is not supported: use https, ssh or file", ep.Protocol)
	}
	if strings.Trim(ep.Path, "/") == "" {
		return nil, fleet.Errorf(fleet.Invalid, op, "it has no path")
	}
	return ep, nil
}

// isLoopback reports whether host can only be this machine.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

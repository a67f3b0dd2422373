package oci

import (
	"net"
	"regexp"
	"strings"

	"fairlead.dev/fleet"
)

// A reference is a parsed address.
type reference struct{ host, repository string }

// Sources: OCI distribution-spec, "Pulling manifests", for names of repositories and tags.
var (
	repositoryName = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagName        = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
	digestName     = regexp.MustCompile(`^sha256:[a-f0-9]{64}$`)
	hostName       = regexp.MustCompile(`^([a-zA-Z0-9.-]+|\[[a-fA-F0-9:.]+\])(:[0-9]{1,5})?$`)
)

// IsURL reports whether source is the URL of a repository of a registry.
func IsURL(source string) bool { return strings.HasPrefix(source, Scheme) }

// NormaliseURL returns the one spelling of a repository's address, for keys and for people.
// Its error does not contain an address with a password.
func NormaliseURL(raw string) (string, error) {
	r, err := parseURL(raw)
	if err != nil {
		return "", err
	}
	return r.String(), nil
}

// String returns the URL.
func (r reference) String() string { return Scheme + r.host + "/" + r.repository }

func parseURL(raw string) (reference, error) {
	const op = "use the URL of the registry"
	rest, ok := strings.CutPrefix(strings.TrimSpace(raw), Scheme)
	if !ok {
		return reference{}, fleet.Errorf(fleet.Invalid, op, "it does not begin with %s", Scheme)
	}
	host, repository, _ := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	if strings.Contains(host, "@") {
		return reference{}, fleet.Errorf(fleet.Invalid, op, "it has a user in it: give credentials with --credentials, --docker-config or --username")
	}
	if before, digest, ok := strings.Cut(repository, "@"); ok {
		return reference{}, fleet.Errorf(fleet.Invalid, op, "it has a digest in it: write %s%s/%s, and --ref %s", Scheme, host, before, digest)
	}
	if before, tag, ok := strings.Cut(repository, ":"); ok {
		return reference{}, fleet.Errorf(fleet.Invalid, op, "it has a tag in it: write %s%s/%s, and --ref %s", Scheme, host, before, tag)
	}
	if !hostName.MatchString(host) || !repositoryName.MatchString(repository) {
		return reference{}, fleet.Errorf(fleet.Invalid, op, "%q is not of the form oci://HOST/REPOSITORY, with a repository in lower case", raw)
	}
	return reference{strings.ToLower(host), repository}, nil
}

// isLoopback reports whether host, which may have a port, is this computer.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

package page

import (
	"bytes"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// policy lets a browser load what the page itself serves, and nothing else; scripts make
// elements of text by one policy of Trusted Types alone.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types fairlead"

// guarded sets what all answers have.
func guarded(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		h.Set(name, value)
	}
}

// knownHost reports whether host, of a request, is an address, localhost, or one of names.
// A page elsewhere can have a name of its own lead here, and read what is answered; it
// cannot have an address for its name.
func knownHost(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "localhost" {
		return true
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, host) })
}

// safe returns b without characters that turn what is read, or are none.
func safe(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		return unicode.ReplacementChar
	}, b)
}

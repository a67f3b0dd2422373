package cli

import "net/url"

// redacted returns a source without the password that a URL may hold.
func redacted(source string) string {
	u, err := url.Parse(source)
	if err != nil || u.User == nil {
		return source
	}
	return u.Redacted()
}

package git

import (
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
)

// limitedTransport bounds the bytes of each answer, and recognises answers that do not come
// from Git.
type limitedTransport struct {
	base  http.RoundTripper
	limit int64
}

// maxPage is how many bytes are read of an answer without content.
const maxPage = 64 << 10

// RoundTrip implements http.RoundTripper.
func (t limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body := res.Body
	page := isHTML(res.Header)
	switch {
	case page && res.StatusCode < 300:
		defer body.Close()
		return nil, &pageError{titleOf(body)}
	case page:
		defer body.Close()
		res.Body = io.NopCloser(strings.NewReader(titleOf(body)))
	case res.StatusCode >= 300:
		res.Body = readCloser{io.LimitReader(body, maxPage), body} // an error message
	default:
		limit := t.limit
		if strings.HasSuffix(req.URL.Path, "/info/refs") {
			limit = min(limit, maxListed)
		}
		res.Body = readCloser{bounded(body, limit), body}
		if strings.HasSuffix(req.URL.Path, "/"+uploadPack) {
			res.Body = readCloser{newPrelude(res.Body), body}
		}
	}
	return res, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// A pageError says that a web page came instead of Git's answer.
type pageError struct{ title string }

func (e *pageError) Error() string {
	if e.title == "" {
		return "the answer is a web page and not Git's: something between answers, or the URL is not that of the repository"
	}
	return fmt.Sprintf("the answer is a web page and not Git's, with the title %q: something between answers, or the URL is not that of the repository", e.title)
}

func isHTML(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/xhtml+xml")
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)

// titleOf returns the title of a web page, on one line of at most 200 letters.
func titleOf(page io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(page, maxPage)) // a part of the page is enough
	m := title.FindSubmatch(b)
	if m == nil {
		return ""
	}
	words := []rune(strings.Join(strings.Fields(html.UnescapeString(strings.ToValidUTF8(string(m[1]), "?"))), " "))
	return string(words[:min(len(words), 200)])
}

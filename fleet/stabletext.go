package fleet

import "regexp"

// unstable is what texts of errors hold that differs each time, though what
// happened is the same, and what stands in its place.
//
//nolint:gochecknoglobals // constants that Go cannot write as such
var unstable = []struct {
	what *regexp.Regexp
	is   string
}{
	// The own end of a connection, as package net names it: its port is another each time.
	{regexp.MustCompile(`(?:\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}->`), ""},
	// A closed connection is noticed when it is made, read or written, by chance.
	{regexp.MustCompile(`\b(?:dial|read|write) (tcp\d?|unix) (\S+): (?:connect|read|write): (?:connection reset by peer|broken pipe)`), "${1} ${2}: connection reset by peer"},
	// What a request to OpenStack is called: "(Request-ID: req-…)" and the like.
	{regexp.MustCompile(`(?i)[ ,;.]*[([]?(?:with |the )?\brequest[- _]?ids?\b[ :=]*\[?` + requestID + `[\])]*`), ""},
	{regexp.MustCompile(`(?i)\[?\b` + requestID + `(?: ` + requestID + `)*\]?`), "req-…"},
	// Numbers of frames and streams of HTTP/2.
	{regexp.MustCompile(`\b(LastStreamID=|stream ID )\d+`), "${1}…"},
	// The time of day, as package x509 tells it.
	{regexp.MustCompile(`\bcurrent time \d{4}-\d\d-\d\dT\S+ is `), "the time is "},
	// Addresses in memory.
	{regexp.MustCompile(`\b0xc[0-9a-f]{9}\b`), "0x…"},
	// How long to wait before another try.
	{regexp.MustCompile(`(?i)\b((?:retry|try again) (?:in|after)) \d+(?:\.\d+)? ?(?:ms|s|m|h|milliseconds?|seconds?|minutes?)\b`), "${1} a while"},
}

// requestID matches what services of OpenStack call a request.
const requestID = `req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

// StableText returns the text of an error without what differs each time that the
// same happens: ephemeral ports, ids of requests, the time of day. Reports hold
// such texts alone, so that a fault that lasts makes one commit; logs have the
// whole text. What it returns may be shown: see PlainLines.
func StableText(text string) string {
	for _, u := range unstable {
		text = u.what.ReplaceAllString(text, u.is)
	}
	return PlainLines(text)
}

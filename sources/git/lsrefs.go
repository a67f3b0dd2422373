package git

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"fairlead.dev/sources/tags"
)

// Version 2 of the protocol is used for listing refs only. A server that speaks it lists
// the refs that were asked for; any other server answers in version 0. Source: git,
// gitprotocol-v2(5).

// protocol2 asks a server for version 2, in GIT_PROTOCOL and Git-Protocol.
const protocol2 = "version=2"

// A listing is a server's list of refs.
type listing struct {
	*packp.AdvRefs
	part bool // the refs that were asked for, rather than all
}

// A version2Error says that a server offers version 2 and does not speak it.
type version2Error struct{ err error }

func (e *version2Error) Error() string { return e.err.Error() }
func (e *version2Error) Unwrap() error { return e.err }

// listed reads the answer to a request for refs. Where the server speaks version 2, ask
// sends the request for the refs that begin with prefixes, and returns the answer.
func listed(r io.Reader, prefixes []string, ask func(request []byte) (io.ReadCloser, error)) (listing, error) {
	buf := bufio.NewReader(bounded(r, maxListed))
	if !offers2(buf) {
		ar, err := advertised(buf)
		return listing{AdvRefs: ar}, err
	}
	sha1, err := capabilities2(buf)
	if err != nil {
		return listing{}, err
	}
	answer, err := ask(lsRefs(prefixes, sha1))
	if err != nil {
		return listing{}, &version2Error{err}
	}
	defer answer.Close()
	ar, err := parseRefs(bufio.NewReader(bounded(answer, maxListed)))
	if err != nil {
		return listing{}, &version2Error{err}
	}
	if len(prefixes) == 0 && ar.IsEmpty() {
		return listing{}, transport.ErrEmptyRemoteRepository
	}
	return listing{ar, len(prefixes) > 0}, nil
}

// advertised reads a list of refs in version 0.
func advertised(r io.Reader) (*packp.AdvRefs, error) {
	ar := packp.NewAdvRefs()
	err := ar.Decode(r)
	if errors.Is(err, packp.ErrEmptyAdvRefs) || err == nil && ar.IsEmpty() {
		return nil, transport.ErrEmptyRemoteRepository
	}
	if err != nil {
		return nil, err
	}
	transport.FilterUnsupportedCapabilities(ar.Capabilities)
	return ar, nil
}

// offers2 reports whether an answer is in version 2. It consumes what some servers send
// before it, and nothing of any other answer.
func offers2(r *bufio.Reader) bool {
	const service, offer = "001e# service=git-upload-pack\n0000", "000eversion 2\n"
	switch head, _ := r.Peek(4); string(head) { // a whole list may have four bytes
	case offer[:4]:
		head, _ = r.Peek(len(offer))
		return string(head) == offer
	case service[:4]:
		if head, _ = r.Peek(len(service) + len(offer)); string(head) == service+offer {
			_, _ = r.Discard(len(service))
			return true
		}
	}
	return false
}

// capabilities2 reads the server's capabilities. It reports whether the server wants to
// know the object format.
func capabilities2(r io.Reader) (sha1 bool, err error) {
	lines := pktline.NewScanner(r)
	can := false
	for lines.Scan() {
		line := string(bytes.TrimSuffix(lines.Bytes(), []byte("\n")))
		name, value, _ := strings.Cut(line, "=")
		switch {
		case len(lines.Bytes()) == 0 && !can:
			return false, &version2Error{errors.New("the server speaks version 2 of the protocol, and lists no refs in it")}
		case len(lines.Bytes()) == 0:
			return sha1, nil
		case name == "ls-refs":
			can = true
		case name == string(capability.ObjectFormat) && value != "sha1":
			return false, errSHA256
		case name == string(capability.ObjectFormat):
			sha1 = true
		}
	}
	return false, &version2Error{cutOff(lines.Err())}
}

// lsRefs returns the request for the refs whose full names begin with one of prefixes;
// without prefixes, for all.
func lsRefs(prefixes []string, sha1 bool) []byte {
	var b bytes.Buffer
	e := pktline.NewEncoder(&b) // writing to b cannot fail
	_ = e.EncodeString("command=ls-refs\n")
	if sha1 {
		_ = e.EncodeString("object-format=sha1\n")
	}
	b.WriteString("0001")
	_ = e.EncodeString("peel\n", "symrefs\n")
	for _, p := range prefixes {
		_ = e.EncodeString("ref-prefix " + p + "\n")
	}
	_ = e.Flush()
	return b.Bytes()
}

// parseRefs reads the answer to lsRefs into the form of version 0.
func parseRefs(r io.Reader) (*packp.AdvRefs, error) {
	ar := packp.NewAdvRefs()
	lines := pktline.NewScanner(r)
	for lines.Scan() {
		line := bytes.TrimSuffix(lines.Bytes(), []byte("\n"))
		if len(lines.Bytes()) == 0 {
			return ar, nil
		}
		if err := addRef(ar, string(line)); err != nil {
			return nil, err
		}
	}
	return nil, cutOff(lines.Err())
}

// addRef adds a line of an answer: "<hash> <name> [symref-target:<name>] [peeled:<hash>]".
func addRef(ar *packp.AdvRefs, line string) error {
	fields := strings.Split(line, " ")
	if len(fields) < 2 || !isHash(fields[0]) || fields[1] == "" {
		return fmt.Errorf("the list of refs has a line that is none: %.100q", line)
	}
	hash, name := plumbing.NewHash(fields[0]), fields[1]
	if name == "HEAD" {
		ar.Head = &hash
	} else {
		ar.References[name] = hash
	}
	for _, attribute := range fields[2:] {
		key, value, _ := strings.Cut(attribute, ":")
		switch {
		case key == "peeled" && !isHash(value):
			return fmt.Errorf("the list of refs has a line that is none: %.100q", line)
		case key == "peeled":
			ar.Peeled[name] = plumbing.NewHash(value)
		case key == "symref-target" && name == "HEAD" && value != "":
			if err := ar.Capabilities.Set(capability.SymRef, name+":"+value); err != nil {
				return fmt.Errorf("the list of refs has a line that is none: %.100q: %w", line, err)
			}
		}
	}
	return nil
}

func cutOff(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// prefixesOf returns the prefixes of the refs that find considers for name.
func prefixesOf(name string) []string {
	switch {
	case name == "" || name == "HEAD":
		return []string{"HEAD"}
	case tags.IsPattern(name):
		return []string{tagPrefix + tags.Prefix(strings.TrimPrefix(name, tagPrefix))}
	}
	return []string{name, "refs/heads/" + name, "refs/tags/" + name, "refs/" + name}
}

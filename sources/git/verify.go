package git

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"fairlead.dev/fleet"
	"fairlead.dev/sources"
)

// tip returns the object that the server serves the commit h under.
func (r *Repository) tip(h plumbing.Hash) plumbing.Hash {
	if t, ok := r.tags[h]; ok {
		return t.hash
	}
	return h
}

// verified returns why the commit h must not be followed.
func (r *Repository) verified(h plumbing.Hash) error {
	if r.verify == nil || r.proved[h] {
		return nil
	}
	if t, ok := r.tags[h]; ok {
		return r.verifiedTag(t, h)
	}
	raw, ok := r.clone.store.get(h)
	if !ok {
		return fmt.Errorf("commit %s: %w", h, errMissing)
	}
	return r.verifiedCommit(h, raw.data)
}

func (r *Repository) verifiedCommit(h plumbing.Hash, raw []byte) error {
	content, signature, err := signed(raw)
	return r.signedBy("the commit", h, content, signature, err)
}

// verifiedTag returns why the tag t of the commit h must not be followed. The name of a tag
// is signed with it: a tag that was signed under another name does not count.
func (r *Repository) verifiedTag(t tag, h plumbing.Hash) error {
	raw, ok := r.clone.store.get(t.hash)
	if !ok {
		return fmt.Errorf("tag %s: %w", t.name, errMissing)
	}
	if raw.kind != plumbing.TagObject {
		return r.signedBy("the tag "+t.name, h, nil, "", errors.New("it is a lightweight tag, which cannot be signed: create it with git tag -s"))
	}
	content, signature := signedTag(raw.data)
	header, _, _ := bytes.Cut(content, []byte("\n\n"))
	var err error
	for _, want := range []string{"object " + h.String(), "type commit", "tag " + t.name} {
		if n := slices.IndexFunc(bytes.Split(header, []byte("\n")), func(line []byte) bool { return string(line) == want }); n < 0 {
			err = fmt.Errorf("what was signed does not say %q", want)
		}
	}
	return r.signedBy("the tag "+t.name, t.hash, content, signature, err)
}

// signedBy returns why what, called h, must not be followed: it is broken, or no trusted
// key signed it.
func (r *Repository) signedBy(what string, h plumbing.Hash, content []byte, signature string, broken error) error {
	op, who, err := "verify "+h.String(), "", broken
	if err == nil {
		who, err = r.verify(content, signature)
	}
	switch kind := fleet.KindOf(err); {
	case err == nil:
	case kind == fleet.Unknown:
		return fleet.Errorf(fleet.Invalid, op, "%s is not followed: %w: %w", what, sources.ErrUntrusted, err)
	default:
		return fleet.Errorf(kind, op, "%w", err)
	}
	r.log.Debug("verified", "object", h.String(), "signer", who)
	return nil
}

// signedTag splits a tag into the signed content, byte for byte, and the signature. Source:
// git, gpg-interface.c, parse_signed_buffer: the last signature counts.
func signedTag(raw []byte) (content []byte, signature string) {
	at := len(raw)
	for _, begin := range []string{"\n-----BEGIN SSH SIGNATURE-----", "\n-----BEGIN PGP SIGNATURE-----"} {
		if i := bytes.LastIndex(raw, []byte(begin)); i >= 0 && (at == len(raw) || i+1 > at) {
			at = i + 1
		}
	}
	return raw[:at], string(raw[at:])
}

// signed splits a commit into the signed content, byte for byte, and the signature. Source:
// git, commit.c, parse_signed_commit. EncodeWithoutSignature of go-git returns the same
// content, and refuses no second signature: the header would be read twice.
func signed(commit []byte) (content []byte, signature string, err error) {
	header, body, ok := bytes.Cut(commit, []byte("\n\n"))
	if !ok {
		return nil, "", errors.New("the commit has no end of its header")
	}
	var kept, sig [][]byte
	field := ""
	for line := range bytes.SplitSeq(header, []byte("\n")) {
		if continued := bytes.HasPrefix(line, []byte(" ")); !continued {
			name, _, _ := bytes.Cut(line, []byte(" "))
			field = string(name)
			if field == "gpgsig" && sig != nil {
				return nil, "", fmt.Errorf("the commit has two signatures")
			}
			line = bytes.TrimPrefix(line, []byte("gpgsig "))
		} else if field == "gpgsig" {
			line = line[1:]
		}
		switch field {
		case "gpgsig":
			sig = append(sig, line)
		case "gpgsig-sha256": // of the same commit by its other name
		default:
			kept = append(kept, line)
		}
	}
	content = bytes.Join(append(kept, nil), []byte("\n"))
	content = append(append(content, '\n'), body...)
	return content, string(bytes.Join(sig, []byte("\n"))), nil
}

package git

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"fairlead.dev/fleet"
)

// verified reports why the commit h must not be followed, if that is so.
func (r *Repository) verified(h plumbing.Hash) error {
	if r.verify == nil {
		return nil
	}
	commit, err := r.clone.store.commitOf(h)
	if err != nil {
		return err
	}
	raw, _ := r.clone.store.get(commit.Hash)
	op, who := "verify "+commit.Hash.String(), ""
	content, signature, err := signed(raw.data)
	if err == nil {
		who, err = r.verify(content, signature)
	}
	switch kind := fleet.KindOf(err); {
	case err == nil:
	case kind == fleet.Unknown:
		return fleet.Errorf(fleet.Invalid, op, "the commit is not followed: %w", err)
	default:
		return fleet.Errorf(kind, op, "%w", err)
	}
	r.log.Debug("verified", "commit", commit.Hash.String(), "signer", who)
	return nil
}

// signed takes a commit apart: what was signed, byte for byte, and the signature.
// Source: git, commit.c, parse_signed_commit.
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

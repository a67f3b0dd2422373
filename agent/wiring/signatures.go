package wiring

import (
	"errors"
	"fmt"

	"fairlead.dev/agent/secrets/credentials"
	"fairlead.dev/sources/git"
	"fairlead.dev/sources/status"
)

// StatusKeys are how what counts on a status branch is signed, and with which keys.
type StatusKeys struct {
	Sign   func(content []byte) (string, error) // nil: this process signs nothing
	Verify status.Verify                        // nil: no signatures are required
	People status.People                        // whose key signed; nil: no signatures are required
}

// StatusKeys returns them. Who asks for signatures has to make ones that count.
func (s Settings) StatusKeys() (StatusKeys, error) {
	sign, err := s.Signer()
	if err != nil {
		return StatusKeys{}, err
	}
	verify, err := s.Verifier()
	if err != nil || verify == nil {
		return StatusKeys{Sign: sign}, err
	}
	if sign == nil {
		return StatusKeys{}, errors.New("there are request keys and no signing key: with --request-keys an agent signs what it says of the owner of the fleet and of numbers of machines, so name its key with --signing-key")
	}
	probe := []byte("fairlead-probe\n")
	signed, err := sign(probe)
	if err == nil {
		_, err = verify(probe, signed)
	}
	if err != nil {
		return StatusKeys{}, fmt.Errorf("the signing key is none of the request keys, so that other agents of the fleet would not believe this one: add its public half to --request-keys: %w", err)
	}
	return StatusKeys{Sign: sign, Verify: verify, People: credentials.GitPeople(s.RequestKeys)}, nil
}

// Verifier returns what says whose requests, numbers of machines and owners count; nil
// where there are no request keys.
func (s Settings) Verifier() (status.Verify, error) {
	v, err := credentials.GitVerifier(s.RequestKeys)
	return v, err
}

// Signer returns what signs with the signing key; nil where there is none.
func (s Settings) Signer() (func(content []byte) (string, error), error) {
	if s.SigningKey == "" {
		return nil, nil
	}
	return credentials.Signer(s.SigningKey)
}

// author returns who writes branches.
func (s Settings) author() (git.BranchOptions, error) {
	o := s.Author
	if s.SigningKey == "" || o.Sign != nil {
		return o, nil
	}
	var err error
	o.Sign, err = credentials.Signer(s.SigningKey)
	return o, err
}
